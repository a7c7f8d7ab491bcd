//! `doctor`: each thing is broken in turn, and told. What is well is not complained about, and nothing is changed.

use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use chancery_testkit::postgres::TestDatabase;
use serde_json::Value;

use crate::support::*;

/// A name server that answers everything with this code; says where it is.
fn name_server(code: u8) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut message = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut message) {
            message[2] |= 0x80;
            message[3] = code;
            socket.send_to(&message[..length], from).unwrap();
        }
    });
    at
}

struct Patient {
    configured: Configured,
    dns: String,
}

impl Patient {
    /// An installation that nothing is wrong with.
    fn well() -> Self {
        Self::with("")
    }

    fn with(more: &str) -> Self {
        let patient = Self { configured: Configured::initialised(more), dns: name_server(0) };
        // Lists are made by the service.
        patient.serve_once();
        patient
    }

    fn serve_once(&self) {
        self.configured.serve().process.stop();
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.configured.folder.path().join(name)
    }

    fn raw(&self, sql: &str) {
        rusqlite::Connection::open(self.file("chancery.db")).unwrap().execute_batch(sql).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.configured.command(&[&["doctor", "--json"], args].concat());
        // Fewer than whatever machine the tests run on lets us have.
        command.env("CHANCERY__DCV__RESOLVERS", &self.dns).env("CHANCERY__LIMITS__CONNECTIONS", "1000");
        command
    }

    fn doctor(&self) -> Told {
        Told::of(outcome(&mut self.command(&[])))
    }
}

struct Told {
    code: i32,
    json: Value,
}

impl Told {
    fn of(outcome: Outcome) -> Self {
        let json = serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
        Self { code: outcome.code, json }
    }

    /// What is not well: level, check, and all that is said.
    fn wrong(&self) -> Vec<(String, String, String)> {
        let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let findings = self.json["findings"].as_array().unwrap().iter();
        let wrong = findings.filter(|finding| finding["level"] != "ok").map(|finding| {
            assert!(!text(finding, "advice").is_empty(), "no advice: {finding}");
            (text(finding, "level"), text(finding, "check"), text(finding, "what") + " → " + &text(finding, "advice"))
        });
        wrong.collect()
    }

    /// One thing is wrong, and it is this.
    #[track_caller]
    fn only(&self, level: &str, check: &str, said: &str) {
        let wrong = self.wrong();
        assert_eq!(wrong.len(), 1, "{wrong:#?}");
        assert_eq!((wrong[0].0.as_str(), wrong[0].1.as_str()), (level, check), "{wrong:#?}");
        assert!(wrong[0].2.contains(said), "{said:?} is not in {wrong:#?}");
        assert_eq!(self.code, i32::from(level == "problem"));
        assert_eq!(self.json["ok"], level != "problem");
    }
}

/// Every file of a folder with its length and time.
fn files(folder: &Path) -> BTreeMap<String, (u64, SystemTime)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    // Where SQLite notes who reads: no part of the database.
    let entries = entries.filter(|entry| !entry.file_name().to_string_lossy().ends_with("-shm")).map(|entry| {
        let metadata = entry.metadata().unwrap();
        (entry.file_name().into_string().unwrap(), (metadata.len(), metadata.modified().unwrap()))
    });
    entries.collect()
}

#[test]
fn what_is_well_is_left_alone_and_said_to_be_well() {
    let patient = Patient::well();
    let before = files(patient.configured.folder.path());
    let told = patient.doctor();
    assert_eq!((told.code, told.wrong()), (0, Vec::new()));
    let thorough = Told::of(outcome(&mut patient.command(&["--thorough"])));
    assert_eq!((thorough.code, thorough.wrong()), (0, Vec::new()));
    assert_eq!(files(patient.configured.folder.path()), before, "something was changed");
    let checks: Vec<_> = told.json["findings"].as_array().unwrap().iter().map(|each| each["check"].clone()).collect();
    for check in [
        "configuration",
        "database",
        "schema",
        "durability",
        "keys",
        "authorities",
        "revocation",
        "disk",
        "files",
        "permissions",
        "clock",
        "service",
        "ports",
        "tls",
        "dns",
    ] {
        assert!(checks.contains(&Value::from(check)), "{check} was not looked at: {checks:?}");
    }
    let mut people = patient.configured.command(&["doctor"]);
    people.env("CHANCERY__DCV__RESOLVERS", &patient.dns).env("CHANCERY__LIMITS__CONNECTIONS", "1000");
    let people = outcome(&mut people);
    assert!(people.code == 0 && people.stdout.ends_with("Nothing is wrong.\n"), "{people:?}");
}

#[test]
fn a_wrong_setting_is_told() {
    let configured = Configured::new("server.listn = 'x'");
    let told = Told::of(configured.run(&["doctor", "--json"]));
    told.only("problem", "configuration", "listn");
    fs::remove_file(configured.path()).unwrap();
    Told::of(configured.run(&["doctor", "--json"])).only("problem", "configuration", "cannot read");
}

#[test]
fn a_database_that_is_not_as_it_should_be_is_told() {
    let patient = Patient::well();
    let newest = "(SELECT MAX(version) FROM schema_migrations)";
    patient.raw("INSERT INTO schema_migrations (version, name) VALUES (9999, 'later')");
    patient.doctor().only("problem", "schema", "newer release");
    patient.raw("DELETE FROM schema_migrations WHERE version = 9999");
    patient.raw(&format!("DELETE FROM schema_migrations WHERE version = {newest}"));
    patient.doctor().only("warning", "schema", "chancery migrate");
    let refused = outcome(patient.command(&[]).env("CHANCERY__DATABASE__MIGRATE", "false"));
    Told::of(refused).only("problem", "schema", "chancery migrate");

    let patient = Patient::well();
    let (database, away) = (patient.file("chancery.db"), patient.file("away.db"));
    fs::rename(&database, &away).unwrap();
    // The last to close the file may have folded the log into it, or not.
    for beside in ["chancery.db-wal", "chancery.db-shm"] {
        let _ = fs::remove_file(patient.file(beside));
    }
    patient.doctor().only("problem", "database", "chancery restore");
    fs::write(&database, "no database at all, but long enough to be taken for one".repeat(100)).unwrap();
    fs::set_permissions(&database, fs::Permissions::from_mode(0o600)).unwrap();
    patient.doctor().only("problem", "database", "not a database");
    let mut torn = fs::read(&away).unwrap();
    let middle = torn.len() / 2;
    torn[middle..middle + 65_536].fill(0x5a);
    fs::write(&database, torn).unwrap();
    let told = Told::of(outcome(&mut patient.command(&["--thorough"])));
    assert!(
        told.wrong().iter().any(|(level, check, said)| {
            level == "problem" && check == "database" && said.contains("chancery restore")
        }),
        "{:?}",
        told.wrong()
    );
}

#[test]
fn keys_that_do_not_belong_to_the_database_are_told() {
    let patient = Patient::well();
    let (kek, own) = (patient.file("kek.json"), patient.file("own.json"));
    fs::copy(&kek, &own).unwrap();
    fs::copy(Configured::initialised("").folder.path().join("kek.json"), &kek).unwrap();
    let wrong = patient.doctor().wrong();
    assert!(wrong[0].1 == "keys" && wrong[0].2.contains("do not open"), "{wrong:#?}");
    assert!(wrong[1..].iter().all(|(_, check, said)| check == "authorities" && said.contains("cannot sign")));
    fs::remove_file(&kek).unwrap();
    patient.doctor().only("problem", "keys", "backup");
    fs::copy(&own, &kek).unwrap();
    fs::set_permissions(&kek, fs::Permissions::from_mode(0o644)).unwrap();
    patient.doctor().only("problem", "configuration", "chmod");
    fs::set_permissions(&kek, fs::Permissions::from_mode(0o600)).unwrap();

    // A certificate of one CA with the key of another.
    patient.raw(
        "UPDATE issuers SET certificate = (SELECT certificate FROM issuers WHERE name LIKE '%E2')
                 WHERE name LIKE '%E1'",
    );
    patient.doctor().only("problem", "authorities", "cannot sign");
}

#[test]
fn lists_that_are_old_are_told() {
    let patient = Patient::well();
    patient.raw("UPDATE crls SET this_update = this_update - 100000000");
    patient.doctor().only("warning", "revocation", "every day");
    patient.raw("UPDATE crls SET next_update = this_update + 1000");
    patient.doctor().only("problem", "revocation", "have run out");
}

#[test]
fn files_that_others_can_read_are_told() {
    let patient = Patient::well();
    fs::set_permissions(patient.file("chancery.db"), fs::Permissions::from_mode(0o644)).unwrap();
    patient.doctor().only("problem", "permissions", "chmod 600");
    fs::set_permissions(patient.file("chancery.db"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(patient.configured.folder.path(), fs::Permissions::from_mode(0o770)).unwrap();
    patient.doctor().only("warning", "permissions", "chmod go-w");
}

#[test]
fn a_database_that_can_only_be_read_is_told() {
    const SOMEBODY: u32 = 12_345;
    let patient = Patient::well();
    // Whoever closes the file last folds its log into it, which cannot be read in a folder that cannot be written.
    patient.raw("UPDATE crls SET this_update = this_update");
    let folder = patient.configured.folder.path();
    // Root may write whatever it wants to.
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let as_somebody = |command: &mut Command| {
        if is_root {
            command.uid(SOMEBODY).gid(SOMEBODY);
        }
    };
    if is_root {
        let given = Command::new("chown").arg("-R").arg(format!("{SOMEBODY}:{SOMEBODY}")).arg(folder).status();
        if !given.is_ok_and(|given| given.success()) {
            eprintln!("not tested: this root may not give files away");
            return;
        }
    }
    let mut reachable = chancery();
    as_somebody(reachable.arg("--version"));
    if reachable.output().is_err() {
        eprintln!("not tested: the binary is in a folder that only root can enter");
        return;
    }
    let doctor = || {
        let mut command = patient.command(&[]);
        as_somebody(&mut command);
        Told::of(outcome(&mut command))
    };
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(doctor().wrong(), Vec::new());
    mode(&patient.file("chancery.db"), 0o400);
    doctor().only("problem", "permissions", "cannot write ");
    mode(&patient.file("chancery.db"), 0o600);
    mode(folder, 0o500);
    doctor().only("problem", "permissions", "cannot write ");
    mode(folder, 0o700);
    assert_eq!(doctor().wrong(), Vec::new());
}

#[test]
fn profiles_that_nobody_may_sign_for_are_told() {
    let more = "profiles.default_profile = 'a'\n[[profiles.list]]\nname = 'a'\n\
                [[profiles.list]]\nname = 'b'\nissuers = ['No Such CA']";
    let told = Patient::with(more).doctor();
    told.only("problem", "authorities", "profile b: its orders fail → its `issuers` are \"No Such CA\"");

    let patient = Patient::well();
    patient.raw("UPDATE issuers SET state = 'retired' WHERE name LIKE '%E1'");
    assert_eq!(patient.doctor().wrong(), Vec::new(), "another one signs");
    patient.raw("UPDATE issuers SET state = 'retired' WHERE kind = 'issuing'");
    let told = patient.doctor();
    let (wrong, code) = (told.wrong(), told.code);
    assert!(code == 1 && wrong.len() == 2, "one for each profile: {wrong:#?}");
    for (level, check, said) in wrong {
        assert!(level == "problem" && check == "authorities" && said.contains("chancery ca create"), "{said}");
    }
}

#[test]
fn a_clock_that_is_behind_is_told() {
    let patient = Patient::well();
    let config = fs::File::options().write(true).open(patient.configured.path()).unwrap();
    let then = config.metadata().unwrap().modified().unwrap();
    let later = then + Duration::from_secs(3600);
    config.set_modified(later).unwrap();
    patient.doctor().only("problem", "clock", "NTP");
    config.set_modified(then).unwrap();
    patient.raw("UPDATE crls SET this_update = this_update + 3600000, next_update = next_update + 3600000");
    patient.doctor().only("problem", "clock", "NTP");
}

#[test]
fn dns_servers_that_do_not_help_are_told() {
    let mut patient = Patient::well();
    patient.dns = name_server(5);
    patient.doctor().only("problem", "dns", "refuses");
    patient.dns = name_server(2);
    patient.doctor().only("warning", "dns", "code 2");
    patient.dns = format!("127.0.0.1:{}", free_port());
    patient.doctor().only("problem", "dns", "does not answer");
}

#[test]
fn a_port_is_free_or_served_by_us_or_told() {
    let patient = Patient::well();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let told = Told::of(outcome(patient.command(&[]).env("CHANCERY__SERVER__LISTEN", &at)));
    told.only("problem", "ports", "stop what listens there");
    let elsewhere = outcome(patient.command(&[]).env("CHANCERY__SERVER__HTTP_LISTEN", "192.0.2.1:8080"));
    Told::of(elsewhere).only("problem", "ports", "this machine has");

    // The running service, found by its own address, is no problem; one that is not ready is.
    let serving = patient.configured.serve();
    let beside = || {
        let mut command = patient.command(&[]);
        command.env("CHANCERY__SERVER__LISTEN", &serving.api).env("CHANCERY__SERVER__ADMIN_LISTEN", &serving.admin);
        Told::of(outcome(&mut command))
    };
    let told = beside();
    assert_eq!(told.wrong(), Vec::new());
    let said = told.json.to_string();
    assert!(said.contains("runs, and is ready") && said.contains("served by the running service"), "{said}");
    // Of somebody else it is.
    let stranger = Patient::well();
    let mut command = stranger.command(&[]);
    let ports = [("LISTEN", &serving.api), ("ADMIN_LISTEN", &serving.admin)];
    command.envs(ports.map(|(setting, at)| (format!("CHANCERY__SERVER__{setting}"), at)));
    let wrong = Told::of(outcome(&mut command)).wrong();
    let checks: Vec<_> = wrong.iter().map(|(level, check, _)| (level.as_str(), check.as_str())).collect();
    assert_eq!(checks, [("problem", "service"), ("problem", "ports"), ("problem", "ports")], "{wrong:#?}");
    fs::write(patient.file("kek.json"), "{}").unwrap();
    let wrong = beside().wrong();
    assert!(wrong.iter().any(|(_, check, _)| check == "configuration"), "{wrong:#?}");
}

#[test]
fn too_few_files_are_told() {
    let patient = Patient::well();
    let limited = |files: u32| {
        let doctor = patient.command(&[]);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\"")]);
        shell.arg(doctor.get_program()).args(doctor.get_args());
        for (name, value) in doctor.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        Told::of(outcome(&mut shell))
    };
    limited(1024).only("warning", "files", "LimitNOFILE");
    limited(100).only("problem", "files", "LimitNOFILE");
}

#[test]
fn a_certificate_of_the_listener_that_ends_or_is_for_another_name_is_told() {
    let patient = Patient::well();
    let with = |name: &str, days: &str| {
        let (pem, key) = (patient.file("tls.pem"), patient.file("tls.key"));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", days])
            .args(["-subj", "/CN=x", "-addext", &format!("subjectAltName=DNS:{name}"), "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&pem)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut command = patient.command(&[]);
        command.env("CHANCERY__SERVER__TLS__CERTIFICATE", pem).env("CHANCERY__SERVER__TLS__KEY", key);
        Told::of(outcome(&mut command))
    };
    assert_eq!(with("localhost", "90").wrong(), Vec::new());
    with("localhost", "5").only("warning", "tls", "ends in 4 days");
    with("elsewhere.test", "90").only("problem", "tls", "is not for localhost");
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let Some(database) = TestDatabase::create() else { return };
    let configured = Configured::initialised(&format!("database.url = '{}'", database.url()));
    let patient = Patient { configured, dns: name_server(0) };
    patient.serve_once();
    fs::set_permissions(patient.configured.path(), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(patient.doctor().wrong(), Vec::new());
    let nowhere = format!("postgres://chancery@127.0.0.1:{}/x", free_port());
    let lost = outcome(&mut patient.command(&["--database-url", &nowhere]));
    Told::of(lost).only("problem", "database", "see that the server runs");
}
