//! `init`, `migrate`, `check-config`, `backup`, `kek`.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;

use chancery_testkit::postgres::TestDatabase;
use serde_json::{Value, json};

use crate::support::*;

#[test]
fn init_makes_what_is_not_there_and_leaves_what_is() {
    let configured = Configured::new("");
    let made = configured.run(&["init", "--organization", "Example", "--country", "DE", "--json"]).json();
    let names: Vec<_> = made.as_array().unwrap().iter().map(|ca| &ca["name"]).collect();
    let issuing = ["Example Issuing CA E1", "Example Issuing CA E2", "Example Issuing CA R1"];
    assert_eq!(names, [["Example Root CA 1"].as_slice(), &issuing].concat());
    let keys: Vec<_> = made.as_array().unwrap().iter().map(|ca| &ca["key_type"]).collect();
    assert_eq!(keys, ["ec-p384", "ec-p256", "ec-p384", "rsa-3072"]);
    assert_eq!(made[0]["subject"], "CN=Example Root CA 1,O=Example,C=DE");
    for ca in &made.as_array().unwrap()[1..] {
        assert_eq!((&ca["parent"], &ca["state"]), (&made[0]["id"], &json!("active")));
    }
    assert_eq!(configured.run(&["init", "--json"]).json(), made);
    // As what runs before each upgrade does.
    let again = configured.run(&["init", "--organization", "Example", "--country", "DE", "--json"]).json();
    assert_eq!(again, made);
    assert_eq!(configured.run(&["ca", "list", "--json"]).json(), made);
}

#[test]
fn init_ignores_no_name_that_it_is_told() {
    let configured = Configured::new("");
    let names = ["--organization", "Ex, Inc.", "--root-name", "Top", "--issuing-name", "Below"];
    assert_eq!(configured.run(&[&["init"], &names[..]].concat()).code, 0);
    assert_eq!(configured.run(&[&["init"], &names[..]].concat()).code, 0);
    let made = configured.run(&["ca", "list", "--json"]).json();
    for flag in ["--organization", "--country", "--root-name", "--issuing-name"] {
        let value = if flag == "--country" { "DE" } else { "Other" };
        let refused = configured.run(&["init", flag, value]);
        let line = refused.line(1);
        assert!(line.contains("there are CAs already; nothing was made") && line.contains(flag), "{line}");
    }
    assert_eq!(configured.run(&["ca", "list", "--json"]).json(), made);
}

#[test]
fn init_makes_the_keyring_where_a_link_leads() {
    let configured = Configured::new("");
    let folder = configured.folder.path();
    let (link, elsewhere) = (folder.join("kek.json"), folder.join("elsewhere"));
    std::os::unix::fs::symlink(elsewhere.join("keys.json"), &link).unwrap();
    let refused = configured.run(&["init"]);
    assert!(refused.line(2).contains("kek.json is a link to nothing"), "{refused:?}");
    assert!(!folder.join("chancery.db").exists(), "a database without keys was left");
    fs::create_dir(&elsewhere).unwrap();
    assert_eq!(configured.run(&["init"]).code, 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && elsewhere.join("keys.json").is_file());
    assert_eq!(configured.run(&["kek", "rotate"]).code, 0);
}

#[test]
fn init_makes_no_second_keyring_beside_a_database_that_has_secrets() {
    let configured = Configured::initialised("");
    let kek = configured.folder.path().join("kek.json");
    let kept = configured.folder.path().join("elsewhere.json");
    std::fs::rename(&kek, &kept).unwrap();
    let refused = configured.run(&["init"]);
    assert!(refused.line(2).contains("key-encryption keys are not at"), "{refused:?}");
    assert!(!kek.exists());
    std::fs::rename(&kept, &kek).unwrap();
    assert_eq!(configured.run(&["init"]).code, 0);
}

#[test]
fn init_refuses_names_that_cannot_stand_in_a_certificate() {
    let configured = Configured::new("");
    assert!(configured.run(&["init", "--country", "Germany"]).line(2).contains("two capital letters"));
    assert!(
        configured.run(&["init", "--root-name", "A E1", "--issuing-name", "A"]).line(2).contains("different names")
    );
    assert!(!configured.folder.path().join("kek.json").exists(), "nothing was made");
}

#[test]
fn init_and_the_rest_work_on_postgresql() {
    let Some(database) = TestDatabase::create() else { return };
    let configured = Configured::new(&format!("database.url = '{}'", database.url()));
    assert_eq!(configured.run(&["init", "--json"]).json().as_array().unwrap().len(), 4);
    let made = configured.run(&["reseller", "create", "--code", "ACME2", "--name", "Second", "--json"]).json();
    assert_eq!(made["code"], "ACME2");
    let mut serving = configured.serve();
    assert_eq!(get(&serving.admin, "/readyz").status, 200);
    assert_eq!(configured.run(&["kek", "rotate", "--json"]).json()["already"], 0);
    assert_eq!(get(&serving.admin, "/readyz").status, 200);
    serving.process.stop();
}

#[test]
fn migrate_says_what_it_did_and_other_commands_leave_the_schema_alone() {
    let configured = Configured::new("");
    let path = configured.folder.path().join("kek.json");
    chancery_seal::Keyring::create(path, 0).unwrap();
    let early = configured.run(&["reseller", "list"]);
    assert!(early.line(2).contains("there is no database") && early.stderr.contains("chancery init"), "{early:?}");
    let steps = configured.run(&["migrate", "--json"]).json();
    assert_eq!(steps[0], json!({"version": 1, "name": "0001_identity"}));
    assert_eq!(configured.run(&["migrate", "--json"]).json(), json!([]));
    assert_eq!(configured.run(&["migrate"]).stdout, "The schema is up to date.\n");

    let database = rusqlite::Connection::open(configured.folder.path().join("chancery.db")).unwrap();
    database.execute("DELETE FROM schema_migrations", []).unwrap();
    assert!(configured.run(&["reseller", "list"]).line(2).contains("run `chancery migrate`"));
}

#[test]
fn a_backup_is_whole_private_and_never_overwrites() {
    let configured = Configured::initialised("");
    assert_eq!(configured.run(&["reseller", "create", "--code", "ACME2", "--name", "Second"]).code, 0);
    let serving = configured.serve();
    let copy = configured.folder.path().join("copy.db");
    let copy_text = copy.to_str().unwrap();
    let made = configured.run(&["backup", "--to", copy_text, "--json"]).json();
    assert_eq!(made["file"], copy_text);
    let noted = configured.run(&["audit", "--action", "backup.create", "--json"]).json();
    assert_eq!((noted.as_array().unwrap().len(), &noted[0]["subject"]), (1, &made["file"]), "{noted}");
    assert_eq!(noted[0]["detail"]["bytes"], made["bytes"]);
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!configured.folder.path().join("copy.db.partial").exists());
    let url = format!("sqlite://{copy_text}");
    let listed = configured.run(&["reseller", "list", "--json", "--database-url", &url]).json();
    assert_eq!(listed[0]["code"], "ACME2");
    assert!(configured.run(&["backup", "--to", copy_text]).line(2).contains("exists already"));
    drop(serving);
}

#[test]
fn a_backup_is_not_written_where_others_could_replace_it() {
    let configured = Configured::initialised("");
    let folder = configured.folder.path().join("shared");
    fs::create_dir(&folder).unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let back_up = || configured.run(&["backup", "--to", folder.join("copy.db").to_str().unwrap()]);
    let content = || fs::read_dir(&folder).unwrap().count();
    mode(&folder, 0o775);
    let refused = back_up();
    assert!(refused.line(2).contains(&format!("chmod go-w {}", folder.display())), "{refused:?}");
    assert_eq!(content(), 0);
    mode(&folder, 0o755);
    // A folder that somebody else has put where unfinished backups are, to read or replace them.
    let partial = folder.join("copy.db.partial");
    fs::create_dir(&partial).unwrap();
    mode(&partial, 0o777);
    let refused = back_up();
    assert!(refused.line(2).contains("is not a folder of this user alone; remove it"), "{refused:?}");
    assert_eq!((content(), fs::read_dir(&partial).unwrap().count()), (1, 0));
    fs::remove_dir(&partial).unwrap();
    assert_eq!(back_up().code, 0);
    assert_eq!(content(), 1);
}

#[test]
fn access_by_others_to_a_database_is_taken_away() {
    let configured = Configured::initialised("");
    let files = ["chancery.db", "chancery.db-wal", "chancery.db-shm"].map(|name| configured.folder.path().join(name));
    let modes = || files.each_ref().map(|file| fs::metadata(file).unwrap().permissions().mode() & 0o7777);
    let loosen = || files.iter().for_each(|file| fs::set_permissions(file, fs::Permissions::from_mode(0o664)).unwrap());
    let mut serving = configured.serve();
    assert_eq!(modes(), [0o600; 3]);
    loosen();
    assert_eq!(configured.run(&["reseller", "list"]).code, 0);
    assert_eq!(modes(), [0o600; 3]);
    loosen();
    serving.process.signal("KILL");
    serving.process.ended();
    let serving = configured.serve();
    assert_eq!(modes(), [0o600; 3]);
    let log = serving.process.log();
    let warned = |file: &Path| {
        log.lines().any(|line| line.contains("mode tightened") && line.contains(&format!("{}\"", file.display())))
    };
    assert!(files.iter().all(|file| warned(file)), "{log}");
}

#[test]
fn a_backup_makes_no_folder() {
    let configured = Configured::initialised("");
    let unmounted = configured.folder.path().join("unmounted");
    let refused = configured.run(&["backup", "--to", unmounted.join("copy.db").to_str().unwrap()]);
    let line = refused.line(2);
    assert!(line.contains(&format!("there is no folder {}; make it first", unmounted.display())), "{line}");
    assert!(!unmounted.exists());
    fs::create_dir(&unmounted).unwrap();
    let made = outcome(configured.command(&["backup", "--to", "copy.db"]).current_dir(&unmounted));
    assert!(made.code == 0 && unmounted.join("copy.db").exists(), "a bare name is in this folder: {made:?}");
}

#[test]
fn a_backup_tells_which_disk_is_full() {
    let configured = Configured::initialised("");
    let disk = configured.folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    // Smaller than any database.
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs"]).arg(&disk).output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        eprintln!("skipped: nothing can be mounted here");
        return;
    }
    let copy = disk.join("copy.db");
    let refused = catch_unwind(AssertUnwindSafe(|| configured.run(&["backup", "--to", copy.to_str().unwrap()])));
    let left = fs::read_dir(&disk).map(Iterator::count);
    // Before anything is asserted: what is mounted outlasts the test.
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    let (refused, left) = (refused.unwrap(), left.unwrap());
    let line = refused.line(1);
    assert!(line.ends_with(&format!("the disk is full; make room where {} is", copy.display())), "{line}");
    assert_eq!(left, 0, "half a copy was left");
}

#[test]
fn the_key_is_rotated_under_a_running_service() {
    let place = folder();
    let dev = Dev::start(place.path());
    let account = dev
        .curl("/v1/account", &["-H", "Content-Type: application/json", "-d", r#"{"customer_email":"a@example.com"}"#]);
    assert_eq!(account.status, 201, "{account:?}");
    let before = json_in(place.path(), &["kek", "list"]);
    assert_eq!(before.as_array().unwrap().len(), 1);
    let secrets = before[0]["secrets"].as_u64().unwrap();
    assert!(secrets >= 4, "a cursor key, a token key, the CAs and a credential: {before}");

    let rotated = json_in(place.path(), &["kek", "rotate"]);
    assert_eq!((rotated["resealed"].as_u64(), rotated["already"].as_u64()), (Some(secrets), Some(0)));
    let after = json_in(place.path(), &["kek", "list"]);
    assert_eq!(after[0]["primary"], false);
    assert_eq!((after[0]["secrets"].as_u64(), after[1]["secrets"].as_u64()), (Some(0), Some(secrets)));
    assert_eq!(after[1]["key_id"], rotated["key_id"]);
    assert_eq!(dev.admin("/readyz").status, 200);
    let more = dev
        .curl("/v1/account", &["-H", "Content-Type: application/json", "-d", r#"{"customer_email":"b@example.com"}"#]);
    assert_eq!(more.status, 201, "{more:?}");
    assert_eq!(json_in(place.path(), &["kek", "list"])[1]["secrets"].as_u64(), Some(secrets + 1));

    // Answers that can be replayed may be sealed with the old key for a day.
    assert_eq!(json_in(place.path(), &["kek", "prune"])["dropped"], json!([]));
    age(&place.path().join("kek.json"), 25 * 3600);
    let pruned = json_in(place.path(), &["kek", "prune"]);
    assert_eq!(pruned["dropped"], json!([before[0]["key_id"]]));
    assert_eq!(pruned["kept"], json!([rotated["key_id"]]));
    let noted = json_in(place.path(), &["audit", "--action", "kek.prune"]);
    assert_eq!(noted.as_array().unwrap().len(), 1, "what dropped nothing is not noted: {noted}");
    assert_eq!((&noted[0]["subject"], &noted[0]["detail"]["dropped"]), (&rotated["key_id"], &pruned["dropped"]));
    assert_eq!(dev.admin("/readyz").status, 200);
    assert_eq!(dev.curl("/v1/account", &[]).status, 200);
}

#[test]
fn a_key_that_still_seals_something_is_never_pruned() {
    let place = folder();
    Dev::start(place.path()).process.stop();
    let keyring = place.path().join("kek.json");
    // Rotated without sealing anew, as after a crash in between.
    chancery_seal::Keyring::rotate(&keyring, 1).unwrap();
    age(&keyring, 25 * 3600);
    assert_eq!(json_in(place.path(), &["kek", "prune"])["dropped"], json!([]));
    assert_eq!(json_in(place.path(), &["ca", "list"]).as_array().unwrap().len(), 4);
}

#[test]
fn a_key_from_the_environment_cannot_be_rotated() {
    let configured = Configured::new("");
    let with_key = |args: &[&str]| {
        outcome(configured.command(args).env("CHANCERY__KEYS__KEK", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))
    };
    assert_eq!(with_key(&["init"]).code, 0);
    assert!(with_key(&["kek", "rotate"]).line(2).contains("keys.kek_file"));
    assert_eq!(with_key(&["kek", "list", "--json"]).json()[0]["primary"], true);
}

/// Makes every key of a keyring so many seconds older.
fn age(keyring: &std::path::Path, seconds: i64) {
    let mut keys: Value = serde_json::from_str(&fs::read_to_string(keyring).unwrap()).unwrap();
    for key in keys["keys"].as_array_mut().unwrap() {
        key["created_at"] = json!(key["created_at"].as_i64().unwrap() - seconds);
    }
    fs::write(keyring, keys.to_string()).unwrap();
    let file = fs::File::options().write(true).open(keyring).unwrap();
    let changed = file.metadata().unwrap().modified().unwrap();
    file.set_modified(changed - std::time::Duration::from_secs(seconds.unsigned_abs())).unwrap();
}

#[test]
fn a_trusted_proxy_says_whose_each_connection_is() {
    let lonely = Configured::new("server.proxy_protocol = true").run(&["check-config"]);
    assert!(lonely.code == 2 && lonely.stdout.contains("needs server.trusted_proxies"), "{lonely:?}");

    let more = "server.trusted_proxies = ['127.0.0.1']\nserver.proxy_protocol = true\nlog.level = 'info'";
    let configured = Configured::initialised(more);
    let mut serving = configured.serve();
    for address in [&serving.api, &serving.http] {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let asked = "GET /nowhere HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(format!("PROXY TCP4 203.0.113.9 127.0.0.1 4711 443\r\n{asked}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
        let mut silent = std::net::TcpStream::connect(address).unwrap();
        silent.write_all(asked.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = silent.read_to_end(&mut answer);
        assert!(answer.is_empty(), "it has to be said: {}", String::from_utf8_lossy(&answer));
    }
    assert_eq!(get(&serving.admin, "/readyz").status, 200, "not said to operators");
    assert!(serving.process.log().contains("203.0.113.9"), "{}", serving.process.log());
    serving.process.stop();
}
