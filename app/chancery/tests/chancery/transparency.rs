//! Certificates that public logs are shown first: from the configuration to what relying parties make of them.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use chancery_testkit::dns::TestDns;
use chancery_testkit::log::{Mood, TestLog};
use chancery_testkit::web::TestWeb;
use data_encoding::HEXUPPER;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::ordering::{openssl, text};
use crate::service::Service;
use crate::support::*;

/// A service that shows two logs what it issues: one that is named, and one from a list as browsers publish it.
struct World {
    logs: [TestLog; 2],
    dns: TestDns,
    service: Service,
    files: TempDir,
    runtime: Runtime,
}

fn log_list(log: &TestLog) -> Value {
    let interval = json!({"start_inclusive": "2020-01-01T00:00:00Z", "end_exclusive": "2100-01-01T00:00:00Z"});
    let state = json!({"usable": {"timestamp": "2020-01-01T00:00:00Z"}});
    let log = json!({
        "description": "South 2026", "key": log.key(), "mmd": 86400, "state": state,
        "submission_url": log.url(), "monitoring_url": "https://mon.example/", "temporal_interval": interval,
    });
    json!({"version": "1", "operators": [{"name": "South", "email": [], "logs": [], "tiled_logs": [log]}]})
}

impl World {
    fn begin() -> Self {
        let (files, logs, runtime) = (folder(), [TestLog::start(), TestLog::start()], Runtime::new().unwrap());
        let (dns, web) =
            runtime.block_on(async { (TestDns::start().await, TestWeb::http((Ipv4Addr::LOCALHOST, 0)).await) });
        dns.empty("test").empty(".");
        // `openssl` counts in whole seconds, and takes what was promised in this one for a promise of a time to come.
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
        let earlier = u64::try_from((now - Duration::from_secs(10)).as_millis()).unwrap();
        logs.iter().for_each(|log| log.stand_still_at(earlier));
        let list = files.path().join("log_list.json");
        fs::write(&list, log_list(&logs[1]).to_string()).unwrap();
        let settings = format!(
            "identity.api_keys = true\n[dcv]\nresolvers = ['{}']\ndnssec = 'off'\nallow_special_addresses = true\n\
             http01_port = {}\nretry_window = '0s'\n[ct]\nlog_list_file = '{}'\n[[ct.logs]]\nname = 'north'\n\
             operator = 'North'\nurl = '{}'\nkey = '{}'\n[[profiles.list]]\nname = 'TLS-90d'\nct = true\n",
            dns.address(),
            web.port(),
            list.display(),
            logs[0].url(),
            logs[0].key(),
        );
        let service = Service::begin(web, &settings);
        Self { logs, dns, service, files, runtime }
    }

    /// An order that is being issued, for a name with its key in `NAME.key`.
    #[track_caller]
    fn finalize(&self, name: &str) -> Value {
        self.dns.address_of(name, Ipv4Addr::LOCALHOST);
        let (key, csr) = (format!("{name}.key"), format!("{name}.csr"));
        let request = ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/"];
        let san = format!("subjectAltName=DNS:{name}");
        openssl(self.files.path(), &[&request[..], &["-addext", &san, "-keyout", &key, "-out", &csr]].concat());
        let (order, _) = self.service.order(&fs::read_to_string(self.files.path().join(csr)).unwrap());
        assert_eq!(order["status"], "ready", "{order:#}");
        let path = format!("/v1/order/{}", text(&order["lookup"]));
        assert_eq!(self.service.ask(&format!("{path}/finalize"), &["-X", "POST"]).status, 202);
        order
    }

    /// The same, of which one of the logs has refused to take it.
    #[track_caller]
    fn finalize_refused(&mut self, name: &str) -> Value {
        self.logs[1].be(Mood::Refusing);
        let order = self.finalize(name);
        self.service.serving.process.until("a log that refuses", |process| {
            process.log().contains("a certificate log has promised nothing that counts").then_some(())
        });
        order
    }

    /// Its chain, once it is there, also in `NAME.pem`.
    #[track_caller]
    fn chain(&self, order: &Value, name: &str) -> String {
        let path = format!("/v1/order/{}", text(&order["lookup"]));
        let order = self.service.until(&path, |order| order["status"] != "processing");
        assert_eq!(order["status"], "valid", "{order:#}");
        let chain = self.service.ask(&format!("/v1/certificate/{}", text(&order["certificateLookup"])), &[]);
        fs::write(self.files.path().join(format!("{name}.pem")), &chain.body).unwrap();
        chain.body
    }

    /// The certificate of the root, in PEM.
    fn root(&self) -> String {
        let all = self.service.configured.run(&["ca", "list", "--json"]).json();
        let root = all.as_array().unwrap().iter().find(|ca| ca["kind"] == "root").unwrap_or_else(|| panic!("{all:#}"));
        self.service.configured.run(&["ca", "show", &text(&root["id"]), "--pem"]).stdout
    }

    fn end(mut self) {
        self.service.serving.process.stop();
        drop((self.dns, self.service));
        self.runtime.shutdown_background();
    }
}

/// What `openssl` says of the timestamps of a certificate when a server shows it, given the keys of the logs.
fn as_seen_in_a_handshake(files: &Path, name: &str, logs: &[&TestLog], root: &str) -> String {
    let entry =
        |(place, log): (usize, &&TestLog)| format!("[log{place}]\ndescription = Log {place}\nkey = {}\n", log.key());
    let names: Vec<_> = (0..logs.len()).map(|place| format!("log{place}")).collect();
    let list = format!("enabled_logs = {}\n", names.join(","));
    let list = list + &logs.iter().enumerate().map(entry).collect::<String>();
    fs::write(files.join("logs.cnf"), list).unwrap();
    fs::write(files.join("root.pem"), root).unwrap();
    let port = free_port().to_string();
    let (pem, key) = (format!("{name}.pem"), format!("{name}.key"));
    let mut server = Command::new("openssl")
        .current_dir(files)
        .args(["s_server", "-accept", &format!("127.0.0.1:{port}"), "-cert", &pem, "-key", &key, "-cert_chain", &pem])
        .args(["-quiet", "-naccept", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_port(&port);
    let said = openssl(
        files,
        &[
            "s_client",
            "-connect",
            &format!("127.0.0.1:{port}"),
            "-servername",
            name,
            "-CAfile",
            "root.pem",
            "-ct",
            "-ctlogfile",
            "logs.cnf",
            "-verify_return_error",
        ],
    );
    let _ = server.kill();
    let _ = server.wait();
    said
}

/// Without speaking to it: the server takes one connection.
fn wait_for_port(port: &str) {
    let port = format!(":{:04X} ", port.parse::<u16>().unwrap());
    let listens = || {
        fs::read_to_string("/proc/net/tcp").unwrap().lines().any(|line| line.contains(&port) && line.contains(" 0A "))
    };
    let began = Instant::now();
    while !listens() {
        assert!(began.elapsed() < GENEROUS, "openssl does not listen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// How often a log has answered so.
fn counted(metrics: &str, log: &str, outcome: &str) -> u64 {
    let series = format!("chancery_log_answers_total{{log=\"{log}\",outcome=\"{outcome}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&series));
    line.unwrap_or_else(|| panic!("no {series} in {metrics}")).parse().unwrap()
}

#[test]
fn a_certificate_is_in_logs_before_it_is_issued_and_says_so() {
    let world = World::begin();
    let order = world.finalize("a.test");
    world.chain(&order, "a.test");
    assert_eq!(world.logs.each_ref().map(|log| log.taken().len()), [1, 1]);
    let root = world.root();

    // By somebody else's idea of what logs sign.
    let said = as_seen_in_a_handshake(world.files.path(), "a.test", &[&world.logs[0], &world.logs[1]], &root);
    assert_eq!(said.matches("SCT validation status: valid").count(), 2, "{said}");
    assert!(said.contains("Verification: OK") || said.contains("Verify return code: 0 (ok)"), "{said}");
    let said = as_seen_in_a_handshake(world.files.path(), "a.test", &[&world.logs[0], &TestLog::start()], &root);
    assert_eq!(said.matches("SCT validation status: valid").count(), 1, "{said}");

    // Precertificates verify like certificates, and nobody takes them for one.
    let files = world.files.path();
    fs::write(files.join("pre.der"), &world.logs[0].taken()[0][0]).unwrap();
    fs::write(files.join("issuer.der"), &world.logs[0].taken()[0][1]).unwrap();
    let shown = openssl(files, &["x509", "-in", "pre.der", "-noout", "-text"]);
    assert!(shown.contains("CT Precertificate Poison: critical"), "{shown}");
    let verified = openssl(files, &["verify", "-CAfile", "root.pem", "-untrusted", "issuer.der", "pre.der"]);
    assert!(verified.contains("unhandled critical extension"), "{verified}");
    let verified =
        openssl(files, &["verify", "-ignore_critical", "-CAfile", "root.pem", "-untrusted", "issuer.der", "pre.der"]);
    assert!(verified.contains("pre.der: OK"), "{verified}");
    let metrics = get(&world.service.serving.admin, "/metrics").body;
    assert_eq!((counted(&metrics, "north", "promised"), counted(&metrics, "South 2026", "promised")), (1, 1));
    assert_eq!(counted(&metrics, "north", "failed"), 0);
    world.end();
}

#[test]
fn a_service_that_is_killed_while_logs_are_away_goes_on_with_what_it_has_signed() {
    let mut world = World::begin();
    let order = world.finalize_refused("b.test");
    world.service.serving.process.signal("KILL");
    world.service.serving.process.ended();
    world.service.serving = world.service.configured.serve();
    world.logs[1].be(Mood::Taking);
    let chain = world.chain(&order, "b.test");
    let serial = openssl(world.files.path(), &["x509", "-in", "b.test.pem", "-noout", "-serial"]);
    let [first, ..] = &world.logs[0].taken()[..] else { panic!("it was shown nothing") };
    assert!(world.logs.iter().flat_map(TestLog::taken).all(|chain| chain[0] == first[0]), "it was signed twice");
    let drawn = HEXUPPER.encode(&first[0]);
    assert!(drawn.contains(serial.trim().trim_start_matches("serial=")), "{serial} is another serial number");
    assert!(chain.contains("BEGIN CERTIFICATE"));
    world.end();
}

/// Nobody waits for a lease to end, for a moment in which logs failed.
#[test]
fn logs_that_fail_for_a_moment_are_shown_it_again_soon() {
    let mut world = World::begin();
    let order = world.finalize_refused("c.test");
    world.logs[1].be(Mood::Taking);
    world.chain(&order, "c.test");
    let log = world.service.serving.process.log();
    assert!(!log.contains("a job did not end"), "{log}");
    world.end();
}

#[test]
fn a_list_that_is_published_anew_is_taken_while_the_service_runs() {
    let mut world = World::begin();
    let files = world.files.path().to_owned();
    let publish = |text: &str| {
        fs::write(files.join("new.json"), text).unwrap();
        fs::rename(files.join("new.json"), files.join("log_list.json")).unwrap();
    };
    let said = |world: &mut World, what: &str| {
        world.service.serving.process.until(what, |process| process.log().contains(what).then_some(()));
    };
    publish("{");
    said(&mut world, "a new list of certificate logs is of no use; the one before it still holds");
    let order = world.finalize("d.test");
    world.chain(&order, "d.test");
    assert_eq!(world.logs[1].taken().len(), 1);

    let west = TestLog::start();
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    west.stand_still_at(u64::try_from((now - Duration::from_secs(10)).as_millis()).unwrap());
    publish(&log_list(&west).to_string().replace("South", "West"));
    said(&mut world, "the list of certificate logs has changed");
    let order = world.finalize("e.test");
    world.chain(&order, "e.test");
    assert_eq!((world.logs[1].taken().len(), west.taken().len()), (1, 1));
    world.end();
}

#[test]
fn the_doctor_says_which_logs_take_nothing_of_ours() {
    let world = World::begin();
    let doctor = || world.service.configured.run(&["doctor", "--json"]).stdout;
    let said = doctor();
    assert_eq!(said.matches("takes nothing below our root").count(), 2, "{said}");
    assert!(said.contains("nothing can be issued with it"), "{said}");
    let root = world.root();
    fs::write(world.files.path().join("root.pem"), root).unwrap();
    openssl(world.files.path(), &["x509", "-in", "root.pem", "-outform", "der", "-out", "root.der"]);
    let root = fs::read(world.files.path().join("root.der")).unwrap();
    world.logs.iter().for_each(|log| log.accept(&root));
    let said = doctor();
    assert_eq!(said.matches("takes what is below ").count(), 2, "{said}");
    assert!(!said.contains("nothing can be issued"), "{said}");
    let checked = world.service.configured.run(&["check-config", "--json"]).json();
    assert_eq!(checked["logs"], json!(["north", "South 2026"]), "{checked:#}");
    world.end();
}
