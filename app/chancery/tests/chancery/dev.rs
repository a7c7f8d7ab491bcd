//! `chancery dev`: starts from nothing, keeps everything, and says what is in its way.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use chancery_testkit::postgres::TestDatabase;
use serde_json::json;

use crate::support::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_fresh_start_tells_scripts_all_they_need() {
    let place = folder();
    let data = place.path().join("data");
    let dev = Dev::start(&data);
    for name in [
        "base_url",
        "acme_url",
        "auth_url",
        "audience",
        "client_id",
        "client_secret",
        "api_key",
        "admin_url",
        "http_url",
    ] {
        assert!(!dev.value(name).is_empty(), "{name}");
    }
    assert!(dev.value("base_url").starts_with("https://127.0.0.1:"));
    assert!(!dev.value("base_url").ends_with(":0"));
    for name in ["ca_bundle", "issuer_bundle"] {
        assert!(fs::read_to_string(dev.value(name)).unwrap().starts_with("-----BEGIN CERTIFICATE-----"), "{name}");
    }
    assert_ne!(fs::read(dev.value("ca_bundle")).unwrap(), fs::read(dev.value("issuer_bundle")).unwrap());
    assert_eq!(dev.admin("/readyz").status, 200);
    assert_eq!(mode(&data), 0o700);
    for private in [
        "chancery.db",
        "chancery.db-wal",
        "dev.json",
        "dev-state.json",
        "kek.json",
        "tls/server-key.pem",
        "tls/ca-key.pem",
    ] {
        assert_eq!(mode(&data.join(private)), 0o600, "{private}");
    }
    assert_eq!(dev.curl("/v1/account", &[]).status, 200);
}

#[test]
fn the_four_commands_work_as_they_are_printed() {
    let place = folder();
    // A quote in the path must not break what is printed.
    let data = place.path().join("it's data");
    let mut dev = Dev::start_with(&data, &["--http01-port", &free_port().to_string()]);
    let printed = dev.process.until("the greeting", |process| Some(process.out()).filter(|out| out.contains(" demo ")));
    assert!(!printed.contains('\u{1b}'), "colours where there is no terminal: {printed:?}");
    let is_command = |line: &&str| {
        line.starts_with("TOKEN=") || line.starts_with("curl ") || (line.starts_with('\'') && line.contains(" demo "))
    };
    let commands: Vec<_> = printed.lines().map(str::trim).filter(is_command).collect();
    assert_eq!(commands.len(), 4, "{printed}");
    let script = commands.join("\n");
    let output = Command::new("sh").args(["-euc", &script]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("hmacKey") && text.contains("\"items\""), "{text}");
    assert_eq!(text.matches("customer-").count(), 2, "created and listed: {text}");
    assert!(text.contains("is issued"), "{text}");
    let made = |name: &str| data.join("demo").join(format!("hello.test{name}"));
    assert_eq!(mode(&made("-key.pem")), 0o600);
    let verify = Command::new("openssl")
        .args(["verify", "-CAfile", dev.value("issuer_bundle"), "-untrusted"])
        .args([made("-chain.pem"), made(".pem")])
        .output()
        .unwrap();
    assert!(verify.status.success(), "{}", String::from_utf8_lossy(&verify.stderr));
}

#[test]
fn i11_no_secret_is_in_the_log() {
    let (place, logs) = (folder(), folder());
    let port = free_port().to_string();
    let mut command = chancery();
    command.env("RUST_LOG", "trace").args(["dev", "--http01-port", &port, "--data-dir"]).arg(place.path());
    let mut process = Running::start(free_ports(&mut command), logs.path());
    let json = place.path().join("dev.json");
    let json: serde_json::Value =
        serde_json::from_str(&process.until("dev.json", |_| fs::read_to_string(&json).ok())).unwrap();
    let text = |name: &str| json[name].as_str().unwrap().to_owned();
    let folder = place.path().display().to_string();
    assert_eq!(run(&["demo", "--data-dir", &folder]).code, 0);
    let wildcard = run(&["demo", "--name", "*.a.test", "--data-dir", &folder]);
    assert!(wildcard.code == 2 && !wildcard.stdout.contains("account"), "{wildcard:?}");
    let ask = |authorization: &str| {
        let url = format!("{}/v1/account", text("base_url"));
        let body = r#"{"customer_email": "b@example.com"}"#;
        let authorization = format!("Authorization: {authorization}");
        curl(&[
            "--cacert",
            &text("ca_bundle"),
            "-H",
            &authorization,
            "-H",
            "Content-Type: application/json",
            "-d",
            body,
            &url,
        ])
    };
    let made = ask(&text("api_key"));
    assert_eq!(made.status, 201, "{made:?}");
    let wrong = "Bearer eyJhbGciOiJub25lIn0.bm90LWEtc2VjcmV0LWJ1dC1sb29rcw.c2ln";
    assert_eq!(ask(wrong).status, 401);
    process.stop();
    let log = process.log();
    assert!(log.contains("TRACE") || log.contains("trace"), "the log is to be as long as it gets");
    let hmac_key = made.json()["hmacKey"].as_str().unwrap().to_owned();
    for secret in [text("client_secret"), text("api_key"), hmac_key, "bm90LWEtc2VjcmV0LWJ1dC1sb29rcw".to_owned()] {
        assert!(!log.contains(&secret), "{secret} is in the log");
    }
    assert!(!log.contains("PRIVATE KEY") && !log.contains("Bearer ey"), "a key or a token is in the log");
}

#[test]
fn a_second_start_keeps_everything() {
    let place = folder();
    let mut first = Dev::start(place.path());
    let made = first
        .curl("/v1/account", &["-H", "Content-Type: application/json", "-d", r#"{"customer_email":"a@example.com"}"#]);
    assert_eq!(made.status, 201, "{made:?}");
    let (ca, root) = (fs::read(first.value("ca_bundle")).unwrap(), fs::read(first.value("issuer_bundle")).unwrap());
    first.process.stop();
    assert!(!place.path().join("dev.json").exists(), "dev.json is there only while a server is");

    let second = Dev::start(place.path());
    for name in ["audience", "client_id", "client_secret", "api_key", "ca_bundle", "issuer_bundle"] {
        assert_eq!(second.value(name), first.value(name), "{name}");
    }
    assert_eq!(fs::read(second.value("ca_bundle")).unwrap(), ca);
    assert_eq!(fs::read(second.value("issuer_bundle")).unwrap(), root);
    assert_eq!(second.curl("/v1/account", &[]).json()["items"][0]["email"], "a@example.com");
}

#[test]
fn another_folder_starts_clean() {
    let (one, other) = (folder(), folder());
    let one = Dev::start(one.path());
    let other = Dev::start(other.path());
    assert_ne!(one.value("client_secret"), other.value("client_secret"));
    assert_eq!(other.curl("/v1/account", &[]).json()["items"], json!([]));
    let foreign = curl(&[
        "--cacert",
        other.value("ca_bundle"),
        "-H",
        &format!("Authorization: {}", one.value("api_key")),
        &format!("{}/v1/account", other.value("base_url")),
    ]);
    assert_eq!(foreign.status, 401);
}

#[test]
fn requests_are_limited_only_when_asked_to() {
    let (free, limited) = (folder(), folder());
    let (free, limited) = (Dev::start(free.path()), Dev::start_with(limited.path(), &["--limits"]));
    let headers = |dev: &Dev| dev.curl("/v1/account", &["-o", "/dev/null", "-D", "-"]).body.to_lowercase();
    assert!(!headers(&free).contains("ratelimit"));
    assert!(headers(&limited).contains("ratelimit-policy: \"requests\";q=200"));
}

#[test]
fn a_taken_port_is_told_in_one_line() {
    let place = folder();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    fs::write(place.path().join("dev.json"), "{}").unwrap();
    let free = "127.0.0.1:0";
    for (flag, addresses) in [
        ("--listen", [&address[..], free, free]),
        ("--http-listen", [free, &address, free]),
        ("--admin-listen", [free, free, &address]),
    ] {
        let outcome = outcome(chancery().arg("dev").arg("--data-dir").arg(place.path()).args([
            "--listen",
            addresses[0],
            "--http-listen",
            addresses[1],
            "--admin-listen",
            addresses[2],
        ]));
        let expected =
            format!("chancery: {address} is taken by another program; stop it, or choose another address with {flag}");
        assert_eq!(outcome.line(2), expected);
    }
    assert!(!place.path().join("dev.json").exists(), "who waits for dev.json must not find an old one");
}

#[test]
fn a_folder_that_cannot_be_written_is_told_in_one_line() {
    let place = folder();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let outcome = outcome(free_ports(chancery().arg("dev").arg("--data-dir").arg(file.join("data"))));
    let line = outcome.line(2);
    assert!(line.contains("cannot create the folder") && line.contains("choose a place"), "{line}");
}

#[test]
fn a_database_of_a_newer_release_is_told_in_one_line() {
    let place = folder();
    Dev::start(place.path()).process.stop();
    let database = rusqlite::Connection::open(place.path().join("chancery.db")).unwrap();
    database.execute("INSERT INTO schema_migrations (version, name) VALUES (9999, 'later')", []).unwrap();
    drop(database);
    let started = outcome(free_ports(chancery().arg("dev").arg("--data-dir").arg(place.path())));
    let line = started.line(2);
    assert!(line.contains("9999") && line.contains("run the newer release"), "{line}");
    let asked = outcome(chancery().args(["reseller", "list"]).arg("--data-dir").arg(place.path()));
    assert!(asked.line(2).contains("run the newer release"));
}

#[test]
fn two_servers_do_not_share_a_folder() {
    let place = folder();
    let dev = Dev::start(place.path());
    let second = outcome(free_ports(chancery().arg("dev").arg("--data-dir").arg(place.path())));
    assert!(second.line(2).contains("another `chancery dev` is running"), "{second:?}");
    assert!(place.path().join("dev.json").exists());
    assert_eq!(dev.admin("/readyz").status, 200);
}

#[test]
fn a_lost_key_is_told_and_nothing_is_overwritten() {
    let place = folder();
    Dev::start(place.path()).process.stop();
    fs::remove_file(place.path().join("kek.json")).unwrap();
    let started = outcome(free_ports(chancery().arg("dev").arg("--data-dir").arg(place.path())));
    let line = started.line(2);
    assert!(line.contains("do not open") && line.contains("kek.json"), "{line}");
}

#[test]
fn the_folder_remembers_its_database() {
    let (place, elsewhere) = (folder(), folder());
    let url = format!("sqlite://{}", elsewhere.path().join("other.db").display());
    let mut first = Dev::start_with(place.path(), &["--database-url", &url]);
    assert!(elsewhere.path().join("other.db").exists() && !place.path().join("chancery.db").exists());
    first.process.stop();
    assert_eq!(json_in(place.path(), &["reseller", "list"])[0]["code"], "DEMO");
    let second = Dev::start(place.path());
    assert_eq!(second.value("client_secret"), first.value("client_secret"));
    assert!(!place.path().join("chancery.db").exists());
}

#[test]
fn it_runs_on_postgresql_as_well() {
    let Some(database) = TestDatabase::create() else { return };
    let place = folder();
    let mut first = Dev::start_with(place.path(), &["--database-url", database.url()]);
    let made = first
        .curl("/v1/account", &["-H", "Content-Type: application/json", "-d", r#"{"customer_email":"a@example.com"}"#]);
    assert_eq!(made.status, 201, "{made:?}");
    first.process.stop();
    assert_eq!(json_in(place.path(), &["reseller", "list"])[0]["code"], "DEMO");
    assert_eq!(json_in(place.path(), &["kek", "rotate"])["already"], 0);
    let backup =
        outcome(chancery().args(["backup", "--to"]).arg(place.path().join("b.db")).arg("--data-dir").arg(place.path()));
    assert!(backup.line(2).contains("pg_dump"), "{backup:?}");
    let second = Dev::start(place.path());
    assert_eq!(second.curl("/v1/account", &[]).json()["items"][0]["email"], "a@example.com");
}

#[test]
fn a_database_that_could_not_be_opened_is_not_remembered() {
    let place = folder();
    Dev::start(place.path()).process.stop();
    let data = place.path().to_str().unwrap();
    let mut dev = chancery();
    dev.args(["dev", "--data-dir", data, "--database-url", "postgres://nobody@127.0.0.1:1/nothing"]);
    let failed = outcome(free_ports(&mut dev));
    assert!(failed.code != 0 && failed.stderr.contains("127.0.0.1:1"), "{failed:?}");
    let resellers = json_in(place.path(), &["reseller", "list"]);
    assert_eq!(resellers[0]["code"], "DEMO", "{resellers}");
}
