//! `chancery serve`: what answers where.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use serde_json::Value;

use crate::support::*;

#[test]
fn each_listener_answers_what_belongs_to_it() {
    let configured = Configured::initialised("");
    let serving = configured.serve();
    assert_eq!(get(&serving.api, "/v1/account").status, 401);
    assert_eq!(get(&serving.api, "/openapi.json").status, 200);
    assert_eq!(get(&serving.api, "/.well-known/jwks.json").status, 200);
    assert_eq!(get(&serving.api, "/metrics").status, 404);
    let relying = get(&serving.http, "/v1/account");
    assert_eq!((relying.status, relying.body.as_str()), (404, "There is nothing here.\n"));
    assert_eq!(get(&serving.admin, "/livez").status, 200);
    assert_eq!(get(&serving.admin, "/v1/account").status, 404);
    let ready = get(&serving.admin, "/readyz");
    assert_eq!((ready.status, &ready.json()["checks"]["database"]), (200, &"ok".into()));
    assert!(serving.ready["database"].as_str().unwrap().starts_with("sqlite://"));
}

/// Built with `CHANCERY_COMMIT`, all of them name the commit; without, all name the version alone.
#[test]
fn everybody_is_told_of_the_same_build() {
    let said = run(&["--version"]).stdout;
    let version = said.trim().strip_prefix("chancery ").unwrap();
    assert!(version.starts_with(env!("CARGO_PKG_VERSION")), "{version}");
    let configured = Configured::initialised("");
    let serving = configured.serve();
    assert_eq!(serving.ready["version"], version);
    assert_eq!(get(&serving.api, "/v1/version").json()["version"], version);
    let metrics = get(&serving.admin, "/metrics").body;
    assert!(metrics.contains(&format!(r#"chancery_build_info{{version="{version}"}} 1"#)), "{metrics}");
}

/// Where no commit is given, the test above sees no difference.
#[test]
fn the_program_names_its_build_in_one_place() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                assert!(!text.contains("CARGO_PKG_VERSION"), "{} is to use VERSION", path.display());
            }
        }
    }
}

#[test]
fn a_second_service_is_kept_from_a_sqlite_database() {
    let configured = Configured::initialised("");
    let serving = configured.serve();
    let second = configured.run(&["serve"]);
    let line = second.line(2);
    assert!(line.contains("another service runs on sqlite://") && line.contains("PostgreSQL"), "{line}");
    assert_eq!(get(&serving.admin, "/readyz").status, 200);
    assert_eq!(configured.run(&["reseller", "list"]).code, 0);
    drop(serving);
    assert_eq!(get(&configured.serve().admin, "/readyz").status, 200);
}

#[test]
fn a_database_with_two_names_is_not_served() {
    let configured = Configured::initialised("");
    let (database, link) = (configured.folder.path().join("chancery.db"), configured.folder.path().join("other.db"));
    fs::hard_link(&database, &link).unwrap();
    let refused = configured.run(&["serve"]);
    assert!(refused.line(2).contains("has 2 names"), "{refused:?}");
    for command in [&["reseller", "create", "--code", "OTHER", "--name", "Other"][..], &["migrate"]] {
        let refused = configured.run(command);
        assert!(refused.line(2).contains("has 2 names"), "{refused:?}");
    }
    fs::remove_file(link).unwrap();
    assert_eq!(get(&configured.serve().admin, "/readyz").status, 200);
}

#[test]
fn nothing_is_taken_for_written_that_goes_into_a_file_which_was_moved() {
    let configured = Configured::initialised("");
    let serving = configured.serve();
    let (database, away) = (configured.folder.path().join("chancery.db"), configured.folder.path().join("away.db"));
    assert_eq!(get(&serving.admin, "/readyz").status, 200);
    fs::rename(&database, &away).unwrap();
    let began = Instant::now();
    while get(&serving.admin, "/readyz").status == 200 {
        assert!(began.elapsed() < GENEROUS, "it is still ready");
        std::thread::sleep(Duration::from_millis(100));
    }
    fs::rename(&away, &database).unwrap();
    while get(&serving.admin, "/readyz").status != 200 {
        assert!(began.elapsed() < GENEROUS, "it is not ready again");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_service_whose_log_was_deleted_ends_and_has_everything_when_it_is_started_again() {
    let configured = Configured::initialised("");
    let mut serving = configured.serve();
    let made = configured.run(&["reseller", "create", "--code", "LATE", "--name", "Late"]);
    assert_eq!(made.code, 0, "{made:?}");
    fs::remove_file(configured.folder.path().join("chancery.db-wal")).unwrap();
    assert_eq!(serving.process.ended().code(), Some(1), "whoever starts it is to start it again");
    assert_eq!(get(&configured.serve().admin, "/readyz").status, 200);
    let resellers = configured.run(&["reseller", "list"]);
    assert!(format!("{resellers:?}").contains("LATE"), "{resellers:?}");
}

#[test]
fn metrics_count_requests_and_time_the_store() {
    let configured = Configured::initialised("");
    let serving = configured.serve();
    get(&serving.api, "/v1/account");
    let metrics = get(&serving.admin, "/metrics").body;
    for line in [
        r#"chancery_http_requests_total{method="GET",route="/v1/account",status="401"} 1"#,
        r#"chancery_http_request_seconds_bucket{method="GET",route="/v1/account",le="0.001"}"#,
        r#"chancery_store_unit_seconds_bucket{kind="read",le="+Inf"}"#,
        r#"chancery_store_group_commit_units_bucket{le="1"}"#,
        "# HELP chancery_http_connections Open connections.",
        r#"chancery_build_info{version="#,
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
}

#[test]
fn it_is_not_ready_while_its_keyring_is_broken() {
    let configured = Configured::initialised("");
    let serving = configured.serve();
    let keyring = configured.folder.path().join("kek.json");
    fs::set_permissions(&keyring, fs::Permissions::from_mode(0o644)).unwrap();
    let broken = get(&serving.admin, "/readyz");
    assert_eq!(broken.status, 503);
    assert!(broken.json()["checks"]["keyring"].as_str().unwrap().contains("chmod 600"), "{broken:?}");
    assert_eq!(get(&serving.admin, "/livez").status, 200);
    fs::set_permissions(&keyring, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(get(&serving.admin, "/readyz").status, 200);
}

#[test]
fn a_new_certificate_is_served_without_a_restart() {
    let configured = Configured::new("server.tls = { certificate = 'server.pem', key = 'server-key.pem' }");
    let place = configured.folder.path();
    let first = certificate(place, "server");
    assert_eq!(configured.run(&["init"]).code, 0);
    let mut serving = configured.serve();
    assert!(serves(&serving.api, &first));
    let second = certificate(place, "server");
    assert_ne!(first, second);
    let api = serving.api.clone();
    serving.process.until("the new certificate", |_| serves(&api, &second).then_some(()));

    // On SIGHUP at once; and a pair that does not fit is not served.
    certificate(place, "other");
    fs::copy(place.join("other-key.pem"), place.join("server-key.pem")).unwrap();
    serving.process.signal("HUP");
    serving.process.until("the refusal", |process| process.log().contains("refused").then_some(()));
    assert!(serves(&api, &second));
    let third = certificate(place, "server");
    serving.process.signal("HUP");
    serving.process.until("the third certificate", |_| serves(&api, &third).then_some(()));
}

#[test]
fn it_does_not_start_before_init() {
    let configured = Configured::new("");
    let outcome = configured.run(&["serve"]);
    let line = outcome.line(2);
    assert!(line.contains("no key-encryption key") && line.contains("chancery init --config"), "{line}");

    let key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let serve = || outcome_of(configured.command(&["serve"]).env("CHANCERY__KEYS__KEK", key));
    let started = serve();
    let line = started.line(2);
    assert!(line.contains("there is no database at") && line.contains("chancery init --config"), "{line}");
    assert_eq!(outcome_of(configured.command(&["migrate"]).env("CHANCERY__KEYS__KEK", key)).code, 0);
    let mode = std::fs::metadata(configured.folder.path().join("chancery.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let started = serve();
    let line = started.line(2);
    assert!(line.contains("no certificate authority") && line.contains("chancery init --config"), "{line}");
}

#[test]
fn a_taken_port_names_the_setting() {
    let configured = Configured::initialised("");
    let serving = configured.serve();
    let again = outcome_of(configured.command(&["serve"]).env("CHANCERY__SERVER__LISTEN", &serving.api));
    let expected = format!(
        "chancery: {} is taken by another program; stop it, or choose another address with server.listen",
        serving.api
    );
    // Above it stands nothing: the log has not begun.
    assert_eq!(again.line(2), expected);
}

#[test]
fn an_unreachable_database_is_told_in_one_line() {
    let configured = Configured::new("database.url = 'postgres://nobody@127.0.0.1:1/none'");
    assert!(configured.run(&["init"]).line(1).contains("check that the server runs"));
}

fn outcome_of(command: &mut Command) -> Outcome {
    outcome(command)
}

/// Writes a self-signed certificate for localhost and its key, and gives the certificate.
fn certificate(place: &Path, name: &str) -> Vec<u8> {
    let (chain, key) = (place.join(format!("{name}.pem")), place.join(format!("{name}-key.pem")));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&chain)
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    CertificateDer::from_pem_file(&chain).unwrap().to_vec()
}

/// Whether a listener shows this certificate: nothing else is trusted.
fn serves(address: &str, certificate: &[u8]) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(certificate)).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let mut connection = ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    rustls::Stream::new(&mut connection, &mut stream).write_all(b"\r\n").is_ok()
        && connection.peer_certificates().is_some_and(|chain| chain[0].as_ref() == certificate)
}

#[test]
fn an_empty_database_stays_empty_until_somebody_fills_it() {
    let configured = Configured::initialised("");
    let database = configured.folder.path().join("chancery.db");
    assert!(database.exists());
    fs::write(&database, "").unwrap();
    let refused = configured.run(&["serve"]);
    assert!(refused.line(2).contains("is empty") && refused.stderr.contains("chancery init"), "{refused:?}");
    assert_eq!(fs::metadata(&database).unwrap().len(), 0);
}

#[test]
fn a_log_that_nobody_reads_keeps_nobody_waiting() {
    let place = folder();
    let mut command = chancery();
    command.args(["dev", "--data-dir"]).arg(place.path());
    let mut process = free_ports(&mut command).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = process.stderr.take().unwrap();
    let began = Instant::now();
    let dev = loop {
        if let Ok(text) = fs::read_to_string(place.path().join("dev.json")) {
            break serde_json::from_str::<Value>(&text).unwrap();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "not ready");
        sleep(Duration::from_millis(50));
    };
    let http = dev["http_url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
    // Much more than a pipe holds.
    for _ in 0..400 {
        assert_eq!(get(&http, "/nope").status, 404);
    }
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        text
    });
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        assert_eq!(get(&http, "/nope").status, 404);
        sleep(Duration::from_millis(50));
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let text = reader.join().unwrap();
    let told = text.lines().find(|line| line.contains("lines of the log were left out")).expect("it is told");
    assert_eq!(serde_json::from_str::<Value>(told).unwrap()["level"], "WARN");
}
