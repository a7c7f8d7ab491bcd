//! `backup` and `restore`: what comes back, what must not come back, and what is refused.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use chancery_testkit::postgres::TestDatabase;
use serde_json::{Value, json};

use crate::ordering::*;
use crate::support::*;

/// Takes the database away, as a careless hand does; keys, settings, and what SQLite keeps beside it stay.
fn lose_database(folder: &Path) {
    fs::remove_file(folder.join("chancery.db")).unwrap();
    fs::write(folder.join("chancery.db-wal"), "a log of another database").unwrap();
}

/// The numbers of all lists of all CAs, as they are served.
fn list_numbers(dev: &Dev, place: &Path, work: &Path) -> Vec<(String, u128)> {
    let http = text(&dev.json["http_url"]);
    let mut numbers = Vec::new();
    for ca in json_in(place, &["ca", "list"]).as_array().unwrap() {
        let id = text(&ca["id"]);
        let name = if ca["kind"] == "root" { "root" } else { "0" };
        let path = format!("/crl/{id}/{name}.crl");
        let file = work.join("list.crl");
        assert_eq!(curl(&["-o", file.to_str().unwrap(), &format!("{http}{path}")]).status, 200, "{path}");
        let said = openssl(work, &["crl", "-inform", "DER", "-in", "list.crl", "-noout", "-crlnumber"]);
        let number = said.trim().strip_prefix("crlNumber=0x").unwrap_or_else(|| panic!("{said}")).to_owned();
        numbers.push((path, u128::from_str_radix(&number, 16).unwrap()));
    }
    numbers
}

fn restore(folder: &Path, args: &[&str]) -> Outcome {
    outcome(chancery().arg("restore").args(args).arg("--data-dir").arg(folder))
}

#[test]
fn what_was_backed_up_is_served_again_and_numbers_only_grow() {
    let (place, work) = (folder(), folder());
    let (place, work) = (place.path(), work.path());
    let copy = work.join("copy.db");
    let from = ["--from", copy.to_str().unwrap()];
    let mut dev = Dev::start_with(place, &["--skip-validation"]);
    let kept = certificate(&dev, work, "kept.test");
    json_in(place, &["backup", "--to", copy.to_str().unwrap()]);
    let lost = certificate(&dev, work, "lost.test");
    let last = post(&dev, "/v1/account", &json!({"customer_email": "last@example.com"}));
    // A revocation that the copy knows nothing of has moved the numbers on.
    post(&dev, &format!("/v1/certificates/{}/revocation", kept.order), &json!({}));
    std::thread::sleep(std::time::Duration::from_secs(3));
    let before = list_numbers(&dev, place, work);
    assert!(restore(place, &[&from[..], &["--replace"]].concat()).line(2).contains("another service runs"));
    dev.process.stop();

    assert!(restore(place, &from).line(2).contains("--replace"));
    lose_database(place);
    let done = restore(place, &from);
    assert_eq!(done.code, 0, "{done:?}");
    for said in ["Revocations:", "chancery recover", "doctor", " ago"] {
        assert!(done.stdout.contains(said), "{said}: {done:?}");
    }
    assert!(!place.join("chancery.db.restoring").exists());

    assert!(!place.join("chancery.db-wal").exists(), "the log of the lost database would be taken for this one's");
    let mut dev = Dev::start_with(place, &["--skip-validation"]);
    let path = |ordered: &Ordered| format!("/v1/certificate/{}", ordered.certificate);
    assert_eq!(dev.curl(&path(&kept), &[]).body, kept.chain);
    assert_eq!(dev.curl(&path(&lost), &[]).status, 404);
    for ((list, before), (same, after)) in before.iter().zip(list_numbers(&dev, place, work)) {
        // More than the clock alone would make of it.
        assert!(*list == same && after > before + 3_600_000, "{list}: {before}, then {after}");
    }
    let next = post(&dev, "/v1/account", &json!({"customer_email": "next@example.com"}));
    let number = |account: &Value| account["id"].as_i64().unwrap();
    assert!(number(&last) < number(&next), "a number was given twice");
    let again = certificate(&dev, work, "again.test");
    assert!(again.chain.contains("BEGIN CERTIFICATE"));
    let trail = json_in(place, &["audit", "--action", "database.restore"]);
    assert_eq!(trail.as_array().unwrap().len(), 1, "{trail}");
    dev.process.stop();

    // What is there is moved aside, and stays a database.
    let replaced = json_in(place, &[&["restore"], &from[..], &["--replace"]].concat());
    let aside = format!("sqlite://{}", text(&replaced["replaced"]));
    assert!(Path::new(aside.strip_prefix("sqlite://").unwrap()).exists());
    assert!(replaced["age_seconds"].as_u64().unwrap() < 3600, "{replaced}");
}

#[test]
fn numbers_grow_also_where_an_older_copy_takes_the_place_of_a_younger_one() {
    let (place, work) = (folder(), folder());
    let (place, work) = (place.path(), work.path());
    let at = |name: &str| work.join(name).to_str().unwrap().to_owned();
    let mut dev = Dev::start_with(place, &["--skip-validation"]);
    certificate(&dev, work, "kept.test");
    json_in(place, &["backup", "--to", &at("older.db")]);
    dev.process.stop();
    let back = |from: &str| assert_eq!(restore(place, &["--from", &at(from), "--replace"]).code, 0);
    back("older.db");
    json_in(place, &["backup", "--to", &at("younger.db")]);
    back("younger.db");
    let mut dev = Dev::start_with(place, &["--skip-validation"]);
    let before = list_numbers(&dev, place, work);
    dev.process.stop();
    back("older.db");
    let mut dev = Dev::start_with(place, &["--skip-validation"]);
    for ((list, before), (same, after)) in before.iter().zip(list_numbers(&dev, place, work)) {
        assert!(*list == same && after > *before, "{list}: {before}, then {after}");
    }
    dev.process.stop();
    // What cannot be read tells nothing, and keeps nobody from putting a copy in its place.
    fs::write(place.join("chancery.db"), "no database").unwrap();
    back("older.db");
}

/// What the responder says of the first certificate of a chain.
fn ocsp(dev: &Dev, work: &Path, chain: &str) -> String {
    let issuer = &chain[chain.find("-----END").unwrap() + "-----END CERTIFICATE-----\n".len()..];
    fs::write(work.join("leaf.pem"), chain).unwrap();
    fs::write(work.join("issuer.pem"), issuer).unwrap();
    let url = format!("{}/ocsp", text(&dev.json["http_url"]));
    let ask = ["ocsp", "-issuer", "issuer.pem", "-cert", "leaf.pem", "-url", &url, "-noverify", "-no_nonce"];
    openssl(work, &ask)
}

/// The address of the list that a certificate names.
fn list_of(work: &Path, chain: &str) -> String {
    fs::write(work.join("leaf.pem"), chain).unwrap();
    let said = openssl(work, &["x509", "-in", "leaf.pem", "-noout", "-ext", "crlDistributionPoints"]);
    said.split("URI:").nth(1).unwrap_or_else(|| panic!("{said}")).trim().to_owned()
}

#[test]
fn what_a_backup_has_lost_is_brought_back_from_what_others_kept() {
    let (place, work) = (folder(), folder());
    let (place, work) = (place.path(), work.path());
    let at = |name: &str| work.join(name).to_str().unwrap().to_owned();
    let mut dev = Dev::start_with(place, &["--skip-validation"]);
    let forgotten = certificate(&dev, work, "forgotten.test");
    json_in(place, &["backup", "--to", &at("copy.db")]);
    let lost = certificate(&dev, work, "lost.test");
    let gone = certificate(&dev, work, "gone.test");
    for ordered in [&forgotten, &gone] {
        let path = format!("/v1/certificates/{}/revocation", ordered.order);
        post(&dev, &path, &json!({"reason": "cessationOfOperation"}));
    }
    // The lists as a cache has them. Where both are on one list, it may tell of one before it tells of the other.
    let mut files = vec![at("lost.pem")];
    let of_both = [("one.crl", &forgotten), ("two.crl", &gone)];
    let keep = |(name, ordered): &(&str, &Ordered)| {
        assert_eq!(curl(&["-o", &at(name), &list_of(work, &ordered.chain)]).status, 200);
        let serial = openssl(work, &["x509", "-in", "leaf.pem", "-noout", "-serial"]);
        let told = openssl(work, &["crl", "-inform", "DER", "-noout", "-text", "-in", name]);
        told.contains(serial.trim().trim_start_matches("serial="))
    };
    dev.process.until("the lists", |_| of_both.iter().all(keep).then_some(()));
    // Both as they are now: the first may have been kept before the second was made.
    assert!(of_both.iter().all(keep));
    files.extend(of_both.map(|(name, _)| at(name)));
    let before = ocsp(&dev, work, &forgotten.chain);
    assert!(before.contains(": revoked") && before.contains("cessationOfOperation"), "{before}");
    fs::write(at("lost.pem"), &lost.chain).unwrap();
    dev.process.stop();
    lose_database(place);
    assert_eq!(restore(place, &["--from", &at("copy.db")]).code, 0);

    // Two files may be one list.
    let lists = if fs::read(at("one.crl")).unwrap() == fs::read(at("two.crl")).unwrap() { 1 } else { 2 };
    let arguments: Vec<_> = ["recover"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let done = json_in(place, &arguments);
    let told =
        |member: &str| done["lists"].as_array().unwrap().iter().map(|list| list[member].as_u64().unwrap()).sum::<u64>();
    assert_eq!((&done["recovered"], &done["problems"]), (&json!(1), &json!([])), "{done}");
    assert_eq!(done["known"], 1, "the CA above it: {done}");
    assert_eq!([&done["lists"][0]["file"], &done["lists"][1]["file"]], [&files[1], &files[2]], "{done}");
    assert_eq!((told("revoked"), told("recovered"), told("already")), (1, 1, if lists == 1 { 2 } else { 0 }), "{done}");

    let dev = Dev::start_with(place, &["--skip-validation"]);
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(ocsp(&dev, work, &forgotten.chain).lines().nth(3), before.lines().nth(3), "with the time of before");
    let said = ocsp(&dev, work, &forgotten.chain);
    assert!(said.contains(": revoked") && said.contains("cessationOfOperation"), "{said}");
    assert!(ocsp(&dev, work, &gone.chain).contains(": revoked"));
    assert!(ocsp(&dev, work, &lost.chain).contains(": good"));
    // What was lost is still for its owner to revoke, and for the operator.
    let refused = outcome(chancery().args(["revoke", "--file", &at("one.crl"), "--data-dir"]).arg(place));
    assert!(refused.code == 1 && refused.stdout.contains("chancery recover"), "{refused:?}");
    let revoked = outcome(chancery().args(["revoke", "--file", &at("lost.pem"), "--data-dir"]).arg(place));
    assert!(revoked.code == 0 && revoked.stdout.contains("1 revoked"), "{revoked:?}");
    assert!(revoked.stdout.contains("is that of a CA; use chancery ca revoke-issuer"), "{revoked:?}");
    std::thread::sleep(std::time::Duration::from_secs(4));
    let said = ocsp(&dev, work, &lost.chain);
    assert!(said.contains(": revoked"), "{said}");
    let serial = openssl(work, &["x509", "-in", "lost.pem", "-noout", "-serial"]);
    let again = json_in(place, &["revoke", "--serial", serial.trim().trim_start_matches("serial=")]);
    assert_eq!(
        (&again["already"], &again["recovered"], &again["reason"]),
        (&json!(true), &json!(true), &json!("unspecified")),
        "{again}"
    );
    assert!(again["revoked_at"].is_string(), "{again}");
}

#[test]
fn what_is_not_ours_is_told_and_keeps_nothing_else_from_coming_back() {
    let (place, work) = (folder(), folder());
    let (place, work) = (place.path(), work.path());
    drop(Dev::start_with(place, &["--skip-validation"]));
    openssl(
        work,
        &[
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            "k.pem",
            "-out",
            "other.pem",
            "-subj",
            "/CN=Other",
        ],
    );
    let other = work.join("other.pem");
    let own = json_in(place, &["ca", "list"]);
    let chain =
        outcome(chancery().args(["ca", "show", &text(&own[0]["name"]), "--pem", "--data-dir"]).arg(place)).stdout;
    let both = work.join("both.pem");
    fs::write(
        &both,
        format!(
            "{}{chain}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            fs::read_to_string(&other).unwrap()
        ),
    )
    .unwrap();
    let said = outcome(chancery().args(["recover"]).arg(&both).arg("--data-dir").arg(place));
    assert_eq!(said.code, 1, "{said:?}");
    for line in [
        "0 unknown before",
        "1 known",
        ", 1: ",
        "(CN=Other): no CA of this installation has signed it",
        ", 3: cannot be read",
    ] {
        assert!(said.stdout.contains(line), "{line}: {said:?}");
    }
    assert!(said.line(1).contains("2 were not taken"));
    let missing = outcome(chancery().args(["recover", "nowhere.pem", "--data-dir"]).arg(place));
    assert!(missing.line(2).contains("cannot read nowhere.pem"), "{missing:?}");
}

#[test]
fn a_backup_that_cannot_be_trusted_is_refused_and_nothing_is_left() {
    let configured = Configured::initialised("");
    let folder = configured.folder.path().to_owned();
    let copy = folder.join("copy.db");
    let from = copy.to_str().unwrap();
    assert_eq!(configured.run(&["backup", "--to", from]).code, 0);
    let database = folder.join("chancery.db");
    assert!(database.exists(), "the default place");
    lose_database(&folder);
    let refused = |said: &str, code: i32| {
        let outcome = configured.run(&["restore", "--from", from]);
        assert!(outcome.line(code).contains(said), "{said}: {outcome:?}");
        assert!(!database.exists() && !folder.join("chancery.db.restoring").exists());
    };
    assert!(configured.run(&["restore", "--from", "/nowhere.db"]).line(2).contains("there is no backup"));
    assert!(configured.run(&["restore"]).line(2).contains("--from"));

    let good = fs::read(&copy).unwrap();
    let mut torn = good.clone();
    let middle = torn.len() / 2;
    torn[middle..middle + 8192].fill(0x5a);
    fs::write(&copy, &torn).unwrap();
    refused("damaged", 1);
    fs::write(&copy, "not a database, and long enough to be told apart from one".repeat(100)).unwrap();
    refused("not a database", 1);
    fs::write(&copy, &good).unwrap();

    let raw = |sql: &str| rusqlite::Connection::open(&copy).unwrap().execute_batch(sql).unwrap();
    raw("INSERT INTO schema_migrations (version, name) VALUES (9999, 'later')");
    refused("schema version 9999", 2);
    fs::write(&copy, &good).unwrap();
    raw("UPDATE epochs SET value = 4102444800000 WHERE name = 'backup'");
    refused("set the clock", 2);
    fs::write(&copy, &good).unwrap();

    let (kek, away) = (folder.join("kek.json"), folder.join("away.json"));
    fs::rename(&kek, &away).unwrap();
    refused("bring them from where they are kept", 2);
    fs::copy(Configured::initialised("").folder.path().join("kek.json"), &kek).unwrap();
    refused("do not open", 2);
    fs::rename(&away, &kek).unwrap();
    let done = configured.run(&["restore", "--from", from, "--json"]).json();
    assert_eq!(done["authorities"], 4, "{done}");
}

#[test]
fn what_is_no_backup_of_ours_replaces_nothing() {
    let configured = Configured::initialised("");
    let folder = configured.folder.path();
    let (database, copy) = (folder.join("chancery.db"), folder.join("copy.db"));
    let names = || {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        // Where SQLite notes who reads, and the lock: no part of the database.
        names.filter(|name| !name.ends_with("-shm") && !name.ends_with(".lock")).collect::<BTreeSet<_>>()
    };
    let raw = |file: &Path, sql: &str| rusqlite::Connection::open(file).unwrap().execute_batch(sql).unwrap();
    let refused = |said: &str| {
        let (kept, there) = (fs::read(&database).unwrap(), names());
        let outcome = configured.run(&["restore", "--from", copy.to_str().unwrap(), "--replace"]);
        let line = outcome.line(1);
        assert!(line.contains(&format!("{} is no backup of this service", copy.display())), "{line}");
        assert!(line.contains(said), "{line}");
        assert!(fs::read(&database).unwrap() == kept, "the database was changed");
        assert_eq!(names(), there, "something was moved or left behind");
    };
    fs::write(&copy, "").unwrap();
    refused("none of our tables");
    raw(&copy, "CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('bread')");
    refused("none of our tables");
    fs::remove_file(&copy).unwrap();
    let url = format!("sqlite://{}", copy.display());
    assert_eq!(configured.run(&["migrate", "--database-url", &url]).code, 0);
    refused("no certificate authority");

    // The same of a file that other tools have put in place.
    for sql in ["", "CREATE TABLE recipes (name TEXT)"] {
        for part in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(folder.join(format!("chancery.db{part}")));
        }
        fs::write(&database, "").unwrap();
        raw(&database, sql);
        let before = fs::read(&database).unwrap();
        let outcome = configured.run(&["restore", "--in-place"]);
        assert!(outcome.line(1).contains("none of our tables"), "{outcome:?}");
        assert!(fs::read(&database).unwrap() == before, "it was made a database of ours");
    }
}

#[test]
fn a_link_to_the_database_stays_one() {
    let configured = Configured::initialised("");
    let folder = configured.folder.path();
    let (link, copy) = (folder.join("chancery.db"), folder.join("copy.db"));
    assert_eq!(configured.run(&["backup", "--to", copy.to_str().unwrap()]).code, 0);
    let elsewhere = folder.join("disk");
    fs::create_dir(&elsewhere).unwrap();
    for part in ["", "-wal", "-shm"] {
        // The last to close the file may have folded the log into it, or not.
        let name = format!("chancery.db{part}");
        let _ = fs::rename(folder.join(&name), elsewhere.join(&name));
    }
    std::os::unix::fs::symlink(elsewhere.join("chancery.db"), &link).unwrap();
    let done = configured.run(&["restore", "--from", copy.to_str().unwrap(), "--replace", "--json"]).json();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{done}");
    let aside = text(&done["replaced"]);
    assert!(Path::new(&aside).starts_with(fs::canonicalize(&elsewhere).unwrap()), "{aside}");
    assert_eq!(configured.run(&["ca", "list", "--json"]).json().as_array().unwrap().len(), 4);
}

/// A link whose file is gone leads to where the file is put back.
#[test]
fn a_link_to_a_database_that_is_lost_stays_one() {
    let configured = Configured::initialised("");
    let folder = configured.folder.path();
    let (link, copy) = (folder.join("chancery.db"), folder.join("copy.db"));
    assert_eq!(configured.run(&["backup", "--to", copy.to_str().unwrap()]).code, 0);
    lose_database(folder);
    fs::create_dir(folder.join("disk")).unwrap();
    std::os::unix::fs::symlink("disk/real.db", &link).unwrap();
    let done = configured.run(&["restore", "--from", copy.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let mode = fs::metadata(folder.join("disk/real.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(configured.run(&["ca", "list", "--json"]).json().as_array().unwrap().len(), 4);
}

/// A copy of the files of a database, log and all, is one also where it is named by a link to the first of them.
#[test]
fn a_link_to_a_copy_brings_its_log_along() {
    let configured = Configured::initialised("");
    let folder = configured.folder.path();
    let (database, copy, link) = (folder.join("chancery.db"), folder.join("copy.db"), folder.join("latest.db"));
    assert_eq!(configured.run(&["reseller", "create", "--code", "ACME2", "--name", "in the file"]).code, 0);
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    connection.execute("UPDATE resellers SET name = 'in the log'", []).unwrap();
    for part in ["", "-wal"] {
        fs::copy(folder.join(format!("chancery.db{part}")), folder.join(format!("copy.db{part}"))).unwrap();
    }
    drop(connection);
    assert!(fs::metadata(folder.join("copy.db-wal")).unwrap().len() > 0);
    std::os::unix::fs::symlink(&copy, &link).unwrap();
    let done = configured.run(&["restore", "--from", link.to_str().unwrap(), "--replace"]);
    assert_eq!(done.code, 0, "{done:?}");
    let resellers = configured.run(&["reseller", "list", "--json"]).json();
    assert_eq!(resellers[0]["name"], "in the log");
}

/// Whatever a database is called, one service has it, and nobody replaces it meanwhile.
#[test]
fn a_link_does_not_lead_around_the_lock() {
    let configured = Configured::initialised("");
    let folder = configured.folder.path();
    let copy = folder.join("copy.db");
    assert_eq!(configured.run(&["backup", "--to", copy.to_str().unwrap()]).code, 0);
    let other = Configured::new(&format!("keys.kek_file = '{}'", folder.join("kek.json").display()));
    std::os::unix::fs::symlink(folder.join("chancery.db"), other.folder.path().join("chancery.db")).unwrap();
    let _serving = configured.serve();
    assert!(other.run(&["serve"]).line(2).contains("another service runs"));
    let replaced = other.run(&["restore", "--from", copy.to_str().unwrap(), "--replace"]);
    assert!(replaced.line(2).contains("another service runs"), "{replaced:?}");
}

/// One that was lost is not taken for one that is still to be made.
#[test]
fn a_service_whose_database_is_gone_makes_none() {
    let configured = Configured::initialised("");
    let folder = configured.folder.path();
    lose_database(folder);
    for args in [&["serve"][..], &["restore", "--in-place"], &["backup", "--to", "copy.db"]] {
        let said = configured.run(args);
        let line = said.line(2);
        assert!(line.contains("there is no database at") && line.contains("restore"), "{said:?}");
        assert!(!folder.join("chancery.db").exists());
    }
}

#[test]
fn a_clock_that_was_ahead_once_does_not_keep_a_database_from_being_restored() {
    let configured = Configured::initialised("");
    // It makes its lists, and they are from the future.
    drop(configured.serve());
    let database = rusqlite::Connection::open(configured.folder.path().join("chancery.db")).unwrap();
    assert!(database.execute("UPDATE crls SET this_update = 4102444800000", []).unwrap() > 0);
    drop(database);
    let refused = configured.run(&["restore", "--in-place"]);
    assert!(refused.line(2).contains("--trust-clock"), "{refused:?}");
    let done = configured.run(&["restore", "--in-place", "--trust-clock"]);
    assert_eq!(done.code, 0, "{done:?}");
    let _serving = configured.serve();
}

/// Before an upgrade is when a backup is needed most.
#[test]
fn a_database_of_an_earlier_release_is_backed_up_as_it_is() {
    let configured = Configured::initialised("");
    let (database, copy) = (configured.folder.path().join("chancery.db"), configured.folder.path().join("copy.db"));
    let schema = |file: &Path| -> i64 {
        let connection = rusqlite::Connection::open(file).unwrap();
        connection.query_row("SELECT MAX(version) FROM schema_migrations", [], |row| row.get(0)).unwrap()
    };
    let newest = schema(&database);
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.execute("DELETE FROM schema_migrations WHERE version = ?1", [newest]).unwrap();
    drop(connection);
    let done = configured.run(&["backup", "--to", copy.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!((schema(&copy), schema(&database)), (newest - 1, newest - 1), "nothing was brought up to date");
}

#[test]
fn a_backup_makes_no_folders_and_minds_no_leftovers() {
    let configured = Configured::initialised("");
    let folder = configured.folder.path();
    let named = format!("{}/new/", folder.display());
    assert!(configured.run(&["backup", "--to", &named]).line(2).contains("names a folder"));
    assert!(!folder.join("new").exists());
    // As one leaves it that was killed.
    let partial = folder.join("copy.db.partial");
    fs::create_dir(&partial).unwrap();
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(partial.join("backup.db"), "half").unwrap();
    let copy = folder.join("copy.db");
    let done = configured.run(&["backup", "--to", copy.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(!partial.exists());
}

#[test]
fn every_database_that_is_replaced_is_kept_under_a_name_of_its_own() {
    let configured = Configured::initialised("");
    let folder = configured.folder.path();
    let (database, copy) = (folder.join("chancery.db"), folder.join("copy.db"));
    let from = copy.to_str().unwrap();
    assert_eq!(configured.run(&["backup", "--to", from]).code, 0);
    let replace = || {
        let before = fs::read(&database).unwrap();
        let done = configured.run(&["restore", "--from", from, "--replace", "--json"]).json();
        (text(&done["replaced"]), before)
    };
    // At once, as by somebody who repeats a command: most likely within a second.
    let replaced = [replace(), replace(), replace()];
    for (aside, before) in &replaced {
        assert!(fs::read(aside).unwrap() == *before, "{aside} is not what was replaced");
    }
}

#[test]
fn a_database_that_postgresql_put_back_is_made_fit_in_place() {
    let Some(database) = TestDatabase::create() else { return };
    let configured = Configured::initialised(&format!("database.url = '{}'", database.url()));
    let from = configured.run(&["restore", "--from", "copy.db"]);
    assert!(from.line(2).contains("there is no backup") || from.line(2).contains("pg_restore"), "{from:?}");
    let serving = configured.serve();
    assert!(configured.run(&["restore", "--in-place"]).line(2).contains("stop every node"));
    drop(serving);
    let mut done = configured.run(&["restore", "--in-place", "--json"]);
    for _ in 0..50 {
        // The server notices only after a moment that the process is gone.
        if done.code == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        done = configured.run(&["restore", "--in-place", "--json"]);
    }
    let done = done.json();
    assert!(done["copy_of"].is_string() && done["revocation_lists"].as_u64().unwrap() > 0, "{done}");
    let serving = configured.serve();
    assert_eq!(get(&serving.admin, "/readyz").status, 200);
}
