//! How PostgreSQL lets a node in: over TLS that is verified, by passwords of every kind, and by nothing less than was asked for.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use chancery_store::{Options, Store};
use chancery_testkit::free_port;
use tempfile::TempDir;

use crate::postgres::{Postgres, execute, number};

const RULES: &str = "local all all trust
host all postgres 127.0.0.1/32 trust
hostssl all careful 127.0.0.1/32 scram-sha-256
host all scram 127.0.0.1/32 scram-sha-256
host all old 127.0.0.1/32 md5
host all plain 127.0.0.1/32 password
";
const ROLES: &str = "SET password_encryption = 'scram-sha-256';
    CREATE ROLE careful LOGIN SUPERUSER PASSWORD 'a b/c';
    CREATE ROLE scram LOGIN SUPERUSER PASSWORD 'a b/c';
    CREATE ROLE plain LOGIN SUPERUSER PASSWORD 'a b/c';
    SET password_encryption = 'md5';
    CREATE ROLE old LOGIN SUPERUSER PASSWORD 'a b/c'";

/// A server that asks for passwords and has a certificate for `localhost`, of a CA in a file.
struct Guarded {
    server: Postgres,
    ca: PathBuf,
    other_ca: PathBuf,
    _folder: TempDir,
}

impl Guarded {
    fn start() -> Option<Self> {
        let server = Postgres::start(&[])?;
        let folder = tempfile::tempdir().unwrap();
        let [ca, other_ca] = ["ca", "other"].map(|name| folder.path().join(name));
        for ca in [&ca, &other_ca] {
            certify("/CN=a CA", ca, &[]);
        }
        let [of_ca, ca_key] = [ca.display().to_string(), key_of(&ca)];
        let certificate = server.data().join("server.crt");
        let leaf = ["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"];
        certify("/CN=db", &certificate, &[leaf.as_slice(), &["-CA", &of_ca, "-CAkey", &ca_key]].concat());
        for file in [&certificate, Path::new(&key_of(&certificate))] {
            server.own(file);
        }
        std::fs::write(server.data().join("pg_hba.conf"), RULES).unwrap();
        let admin = server.url("ca");
        execute(&admin, ROLES);
        execute(&admin, "ALTER SYSTEM SET ssl_key_file = 'server.crt.key'");
        let guarded = Self { server, ca, other_ca, _folder: folder };
        guarded.set_tls("on");
        Some(guarded)
    }

    /// Has the server offer TLS, or not, and waits until it does.
    fn set_tls(&self, wanted: &str) {
        let admin = self.server.url("ca");
        execute(&admin, &format!("ALTER SYSTEM SET ssl = {wanted}"));
        execute(&admin, "SELECT pg_reload_conf()");
        let deadline = Instant::now() + Duration::from_secs(10);
        while number(&admin, &format!("SELECT COUNT(*) FROM pg_settings WHERE name = 'ssl' AND setting = '{wanted}'"))
            == 0
        {
            assert!(Instant::now() < deadline, "{}", self.server.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Opens a store as somebody, with more said in the URL; gives what was said where that failed.
    fn enter(&self, who: &str, host: &str, more: &str, ca: &Path) -> Result<Store, String> {
        let url = format!("postgres://{who}@{host}:{}/ca?{more}", self.server.port);
        let options = Options { postgres_ca: Some(ca.to_owned()), connections: 2, ..Options::default() };
        Store::open(&url.parse().unwrap(), &options).map_err(|error| error.to_string())
    }

    /// How many connections somebody has over TLS, and how many without.
    fn connections(&self, role: &str) -> (i64, i64) {
        let count = |kind: &str| {
            let sql = format!(
                "SELECT COUNT(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = '{role}' AND {kind}"
            );
            number(&self.server.url("ca"), &sql)
        };
        (count("ssl"), count("NOT ssl"))
    }
}

/// Makes a key, and a certificate for it in a file beside it.
fn certify(subject: &str, file: &Path, more: &[&str]) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-subj", subject])
        .args(more)
        .args(["-keyout", &key_of(file), "-out"])
        .arg(file)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn key_of(certificate: &Path) -> String {
    format!("{}.key", certificate.display())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_are_shown_as_the_server_asks_for_them() {
    let Some(guarded) = Guarded::start() else { return };
    for role in ["scram", "old", "plain"] {
        for mode in ["disable", "prefer", "require", "verify-full"] {
            let store =
                guarded.enter(&format!("{role}:a%20b%2Fc"), "localhost", &format!("sslmode={mode}"), &guarded.ca);
            // Without TLS, only a password that does not travel is shown.
            if mode == "disable" && role != "scram" {
                let refused = store.err().unwrap();
                assert!(refused.contains("over a connection without TLS"), "{role}: {refused}");
                continue;
            }
            let store = store.unwrap_or_else(|error| panic!("{role} {mode}: {error}"));
            store.ping().await.unwrap();
            let (over_tls, without) = guarded.connections(role);
            assert_eq!((over_tls > 0, without > 0), (mode != "disable", mode == "disable"), "{role} {mode}");
            drop(store);
            let deadline = Instant::now() + Duration::from_secs(10);
            while guarded.connections(role) != (0, 0) {
                assert!(Instant::now() < deadline, "connections are left behind");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
    for role in ["scram", "old", "plain"] {
        let refused = guarded.enter(&format!("{role}:wrong"), "localhost", "", &guarded.ca).err().unwrap();
        assert!(refused.contains("password authentication failed"), "{role}: {refused}");
        let refused = guarded.enter(role, "localhost", "", &guarded.ca).err().unwrap();
        assert!(refused.contains("asks for a password"), "{role}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_less_than_was_asked_for_will_do() {
    let Some(guarded) = Guarded::start() else { return };
    let enter = |who: &str, host: &str, more: &str, ca| guarded.enter(&format!("{who}:a%20b%2Fc"), host, more, ca);
    let refused = |who: &str, host: &str, more: &str, ca, why: &str| {
        let said = enter(who, host, more, ca).err().unwrap_or_else(|| panic!("{who} {host} {more} was let in"));
        assert!(said.contains(why), "{who} {host} {more}: {said}");
    };
    let (ca, other) = (&guarded.ca, &guarded.other_ca);
    // The server is known by its certificate, or not at all.
    refused("scram", "localhost", "sslmode=require", other, "certificate");
    refused("scram", "127.0.0.1", "sslmode=require", ca, "certificate");
    // The password is bound to the connection.
    enter("scram", "localhost", "sslmode=require&channel_binding=require", ca).unwrap();
    enter("scram", "localhost", "sslmode=require&channel_binding=disable", ca).unwrap();
    refused("scram", "localhost", "sslmode=disable&channel_binding=require", ca, "did not bind");
    refused("plain", "localhost", "sslmode=require&channel_binding=require", ca, "did not bind");
    refused("old", "localhost", "sslmode=require&channel_binding=require", ca, "did not bind");
    // The server may insist, too.
    enter("careful", "localhost", "", ca).unwrap();
    refused("careful", "localhost", "sslmode=disable", ca, "no encryption");
    guarded.set_tls("off");
    enter("scram", "localhost", "", ca).unwrap();
    refused("scram", "localhost", "sslmode=require", ca, "does not support TLS");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_server_that_answers_is_taken() {
    let Some(server) = Postgres::start(&[]) else { return };
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (dead, mute) = (free_port(), silent.local_addr().unwrap().port());
    let open = |hosts: &str, more: &str| {
        let url = format!("postgres://postgres@{hosts}/ca?connect_timeout=1{more}");
        Store::open(&url.parse().unwrap(), &Options { connections: 2, ..Options::default() })
    };
    let (dead, mute, alive) =
        (format!("127.0.0.1:{dead}"), format!("127.0.0.1:{mute}"), format!("localhost:{}", server.port));
    for hosts in [alive.clone(), format!("{dead},{alive}"), format!("{mute},{alive}"), format!("{alive},{dead}")] {
        open(&hosts, "").unwrap().ping().await.unwrap();
        open(&hosts, "&load_balance_hosts=random").unwrap().ping().await.unwrap();
    }
    assert!(open(&dead, "").err().unwrap().to_string().contains("refused"));
    let began = Instant::now();
    let said = open(&mute, "").err().unwrap().to_string();
    assert!(said.contains("nothing in time") && began.elapsed() < Duration::from_secs(3), "{said}");
}
