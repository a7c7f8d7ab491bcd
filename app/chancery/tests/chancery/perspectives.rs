//! Perspectives elsewhere: what is seen from here counts only where it is seen from enough of them.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use chancery_testkit::dns::TestDns;
use chancery_testkit::web::TestWeb;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::ordering::{openssl, text};
use crate::service::Service;
use crate::support::*;

const NAMES: [&str; 3] = ["north", "east", "south"];
pub const SECRET: &str = "0123456789abcdef0123456789abcdef";
const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Where nobody listens.
const ASTRAY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

pub fn secret_file(folder: &Path, text: &str) -> String {
    let path = folder.join("secret");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A perspective that runs; where it does not say so itself, it asks no DNS server.
struct Perspective {
    process: Running,
    address: String,
    _logs: TempDir,
}

impl Perspective {
    fn start(secret: &str, more: &[&str]) -> Self {
        let logs = folder();
        let mut command = chancery();
        command.args(["perspective", "--secret-file", secret]).args(more);
        let mut process = Running::start(&mut command, logs.path());
        let address = process.until("listening", |process| {
            let log = process.log();
            let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.find_map(|line| Some(line["listen"].as_str()?.to_owned()))
        });
        Self { process, address, _logs: logs }
    }

    fn curl(&self, path: &str, more: &[&str]) -> Answer {
        curl(&[&[format!("http://{}{path}", self.address).as_str()], more].concat())
    }
}

/// A service with three perspectives, each with its own idea of the DNS.
struct World {
    /// From here, and from each perspective.
    dns: Vec<TestDns>,
    perspectives: Vec<Perspective>,
    /// The perspectives, as a configuration names them.
    listed: String,
    service: Service,
    files: TempDir,
    runtime: Runtime,
}

/// One of the three, each of which asks a DNS server of its own. The first speaks TLS.
fn perspective(
    place: usize,
    listen: &str,
    files: &Path,
    resolver: SocketAddr,
    http01_port: u16,
    more: &[&str],
) -> Perspective {
    let (resolver, port) = (resolver.to_string(), http01_port.to_string());
    let path = |name: &str| files.join(name).to_str().unwrap().to_owned();
    let (secret, certificate, key) = (path("secret"), path("certificate.pem"), path("key.pem"));
    let mut flags = vec!["--listen", listen, "--resolver", &resolver, "--dnssec", "off", "--allow-special-addresses"];
    flags.extend(["--http01-port", &port, "--retry-window", "0s"]);
    if place == 0 {
        flags.extend(["--tls-certificate", &certificate, "--tls-key", &key]);
    }
    flags.extend(more);
    Perspective::start(&secret, &flags)
}

impl World {
    /// With the perspectives in its configuration.
    fn begin() -> Self {
        let mut world = Self::begin_alone();
        world.ask_perspectives();
        world
    }

    /// One of the perspectives, started again, with more flags.
    fn perspective(&self, place: usize, listen: &str, more: &[&str]) -> Perspective {
        perspective(place, listen, self.files.path(), self.dns[place + 1].address(), self.service.web.port(), more)
    }

    /// The service asks the perspectives from now on.
    fn ask_perspectives(&mut self) {
        let service = &mut self.service;
        service.serving.process.stop();
        let text = fs::read_to_string(service.configured.path()).unwrap();
        fs::write(service.configured.path(), text + &self.listed).unwrap();
        service.serving = service.configured.serve();
    }

    fn begin_alone() -> Self {
        let (files, runtime) = (folder(), Runtime::new().unwrap());
        let secret = secret_file(files.path(), SECRET);
        let (dns, web) = runtime.block_on(async {
            let mut dns = Vec::new();
            for _ in 0..=NAMES.len() {
                dns.push(TestDns::start().await);
            }
            (dns, TestWeb::http((HERE, 0)).await)
        });
        for dns in &dns {
            dns.empty("test").empty(".");
        }
        let certificate = [
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            "/CN=p",
            "-days",
            "2",
            "-keyout",
            "key.pem",
            "-out",
            "certificate.pem",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ];
        openssl(files.path(), &certificate);
        let certificate = files.path().join("certificate.pem");
        let (certificate, port) = (certificate.to_str().unwrap(), web.port());
        let perspectives: Vec<_> = (0..NAMES.len())
            .map(|place| {
                // Of its own, since it comes back there.
                let listen = format!("127.0.0.1:{}", free_port());
                perspective(place, &listen, files.path(), dns[place + 1].address(), web.port(), &[])
            })
            .collect();
        let listed = NAMES.iter().zip(&perspectives).map(|(name, Perspective { address, .. })| {
            let over = if *name == NAMES[0] {
                format!("https://{address}'\nca_file = '{certificate}")
            } else {
                format!("http://{address}")
            };
            format!("[[dcv.perspectives]]\nname = '{name}'\nurl = '{over}'\nsecret_file = '{secret}'\n")
        });
        let more = format!(
            "identity.api_keys = true\n[dcv]\nresolvers = ['{}']\ndnssec = 'off'\nallow_special_addresses = true\n\
             http01_port = {port}\nretry_window = '0s'\ncaa_identities = ['ours.example']\n",
            dns[0].address(),
        );
        let listed = listed.collect();
        let service = Service::begin(web, &more);
        Self { dns, perspectives, listed, service, files, runtime }
    }

    /// Where a name leads, as seen from here and from each perspective.
    fn name(&self, name: &str, seen: [Ipv4Addr; 4]) {
        for (dns, address) in self.dns.iter().zip(seen) {
            dns.address_of(name, address);
        }
    }

    /// What became of an order for a name, and its looks.
    #[track_caller]
    fn order(&self, name: &str) -> (Value, Vec<Value>) {
        self.service.order(&csr(name))
    }

    fn end(self) {
        drop((self.dns, self.service, self.perspectives));
        self.runtime.shutdown_background();
    }
}

fn from(attempts: &[Value]) -> Vec<&str> {
    attempts.iter().map(|attempt| attempt["perspective"].as_str().unwrap()).collect()
}

/// How often a perspective has answered so.
fn counted(metrics: &str, [perspective, about, outcome]: [&str; 3]) -> u64 {
    let series = format!("perspective=\"{perspective}\",about=\"{about}\",outcome=\"{outcome}\"}} ");
    let line = metrics.lines().find_map(|line| line.split_once(&series));
    line.unwrap_or_else(|| panic!("no {series} in {metrics}")).1.parse().unwrap()
}

#[test]
fn what_is_seen_from_here_must_be_seen_from_elsewhere() {
    let mut world = World::begin();

    // Everybody sees the same, and then one does not. Who is slow, on a busy machine, need not have been waited for.
    let everybody = ["primary", "north", "east", "south"];
    world.name("all.test", [HERE; 4]);
    let (order, attempts) = world.order("all.test");
    assert_eq!((order["status"].as_str(), from(&attempts).as_slice()), (Some("ready"), everybody.as_slice()));
    assert!(attempts.iter().filter(|attempt| attempt["httpStatus"] == 200).count() >= 3, "{attempts:#?}");
    let lookup = text(&order["lookup"]);
    assert_eq!(world.service.ask(&format!("/v1/order/{lookup}/finalize"), &["-X", "POST"]).status, 202);
    world.name("one.test", [HERE, HERE, ASTRAY, HERE]);
    let (order, attempts) = world.order("one.test");
    assert_eq!(order["status"], "ready", "{order:#}");
    assert!(attempts[2]["perspective"] == "east" && attempts[2]["error"]["type"].is_string(), "{attempts:#?}");

    // Our own traffic is led astray to one who shows what he should not be able to show.
    world.name("hijacked.test", [HERE, ASTRAY, HERE, ASTRAY]);
    let (order, attempts) = world.order("hijacked.test");
    let error = order["error"].to_string();
    assert!(order["status"] == "invalid" && error.contains("connection"), "{order:#}");
    assert!(error.contains("not from north, south; 2 of 3"), "{error}");
    assert_eq!(from(&attempts), everybody);
    assert!([1, 3].iter().all(|place| attempts[*place]["error"]["type"] == "connection"), "{attempts:#?}");

    // The others are asked about CAA as well.
    world.name("caa.test", [HERE; 4]);
    for dns in &world.dns[2..] {
        dns.caa("caa.test", 0, "issue", "another.example");
    }
    world.dns[0].caa("caa.test", 0, "issue", "ours.example");
    let (order, _) = world.order("caa.test");
    let error = order["error"].to_string();
    assert!(error.contains("caa") && error.contains("another.example") && error.contains("east, south"), "{error}");

    // One that is away is missed by nobody; without two nothing is believed, and nobody is blamed for it.
    let told = |world: &World| world.service.configured.run(&["doctor", "--json"]).stdout;
    let findings = told(&world);
    assert_eq!(findings.matches("answers: ").count(), 3, "{findings}");
    world.perspectives[2].process.stop();
    world.name("away.test", [HERE; 4]);
    let (order, attempts) = world.order("away.test");
    assert_eq!(order["status"], "ready", "{order:#}");
    assert!(
        attempts[3]["error"]["type"] == "serverInternal" && attempts[3]["at"] == attempts[0]["at"],
        "{attempts:#?}"
    );

    // It is asked again once it is back, although nobody needs it.
    let address = world.perspectives[2].address.clone();
    world.perspectives[2] = world.perspective(2, &address, &[]);
    let began = Instant::now();
    for number in 0.. {
        let name = format!("back-{number}.test");
        world.name(&name, [HERE; 4]);
        let (order, attempts) = world.order(&name);
        assert_eq!(order["status"], "ready", "{order:#}");
        if attempts[3]["httpStatus"] == 200 {
            break;
        }
        assert!(began.elapsed() < GENEROUS, "{attempts:#?}");
        std::thread::sleep(Duration::from_millis(200));
    }
    world.perspectives[1].process.stop();
    world.perspectives[2].process.stop();
    world.name("alone.test", [HERE; 4]);
    let (order, attempts) = world.order("alone.test");
    let error = order["error"].to_string();
    assert!(order["status"] == "invalid" && error.contains("serverInternal"), "{order:#}");
    assert!(error.contains("could not ask east, south"), "{error}");
    assert_eq!(from(&attempts), everybody);
    assert!(told(&world).contains("no name can be validated"), "{}", told(&world));

    let metrics = get(&world.service.serving.admin, "/metrics").body;
    assert_eq!(counted(&metrics, ["north", "validation", "disagreed"]), 1);
    assert_eq!(counted(&metrics, ["south", "caa", "disagreed"]), 1);
    assert_eq!(counted(&metrics, ["north", "caa", "unreachable"]), 0);
    assert!(counted(&metrics, ["north", "validation", "agreed"]) >= 1);
    assert!(counted(&metrics, ["east", "validation", "unreachable"]) >= 1);
    let log = world.service.serving.process.log();
    assert!(log.contains("a perspective cannot be asked"), "{log}");
    assert!(!log.contains(SECRET));
    world.service.serving.process.stop();
    world.end();
}

#[test]
fn a_perspective_that_is_laxer_than_the_service_does_not_agree() {
    let mut world = World::begin();
    for place in [1, 2] {
        let address = world.perspectives[place].address.clone();
        world.perspectives[place].process.stop();
        world.perspectives[place] = world.perspective(place, &address, &["--tls-alpn01-port", "8443"]);
    }
    world.name("lax.test", [HERE; 4]);
    let (order, attempts) = world.order("lax.test");
    let error = order["error"].to_string();
    assert!(order["status"] == "invalid" && error.contains("serverInternal"), "{order:#}");
    assert!(error.contains("could not ask east, south"), "{error}");
    assert!([2, 3].iter().all(|place| attempts[*place]["error"]["type"] == "serverInternal"), "{attempts:#?}");
    let why = "it is less strict than this service: tls-alpn-01 uses port 8443";
    let findings = world.service.configured.run(&["doctor", "--json"]).stdout;
    assert_eq!(findings.matches(why).count(), 2, "{findings}");
    assert!(findings.contains("no name can be validated"), "{findings}");
    world.service.serving.process.stop();
    let log = world.service.serving.process.log();
    assert!(log.contains(why), "{log}");
    world.end();
}

#[test]
fn what_was_seen_before_there_were_perspectives_is_looked_at_again() {
    let mut world = World::begin_alone();
    world.name("early.test", [HERE; 4]);
    let (order, attempts) = world.order("early.test");
    assert_eq!((order["status"].as_str(), from(&attempts)), (Some("ready"), vec!["primary"]));
    let again = || json!({"account_lookup": world.service.account, "csr": csr("early.test")});
    assert_eq!(world.service.post("/v1/order", &again())["status"], "ready", "control is shown already");

    let (early, body) = (format!("/v1/order/{}", text(&order["lookup"])), again());
    world.ask_perspectives();
    assert_eq!(world.service.post("/v1/order", &body)["status"], "pending", "nobody else has seen it");
    world.service.ask(&format!("{early}/finalize"), &["-X", "POST"]);
    let ended = world.service.until(&early, |order| order["status"] != "processing" && order["status"] != "ready");
    assert_eq!(ended["status"], "invalid", "{ended:#}");
    assert!(ended["error"].to_string().contains("seen by too few"), "{ended:#}");

    let (order, attempts) = world.order("early.test");
    assert!(order["status"] == "ready" && from(&attempts).len() >= 3, "{order:#}");
    assert_eq!(world.service.post("/v1/order", &body)["status"], "ready", "enough have seen it");
    world.service.serving.process.stop();
    world.end();
}

#[test]
fn a_perspective_answers_those_who_have_its_secret() {
    let files = folder();
    let other = "f".repeat(40);
    let secret = secret_file(files.path(), &format!("{SECRET}\n{other}\n"));
    let mut perspective =
        Perspective::start(&secret, &["--listen", "127.0.0.1:0", "--resolver", "127.0.0.1:9", "--retry-window", "0s"]);
    assert_eq!(perspective.curl("/livez", &[]).status, 200);
    let id = "0123456789abcdef0123456789abcdef";
    let question = json!({"id": id, "question": {
        "whose": "", "caDomains": [], "identifier": "127.0.0.1", "method": "http-01", "token": "t",
        "keyAuthorization": "t.k", "accountUri": "",
    }});
    let ask = |authorization: &str, question: &Value| {
        let (authorization, question) = (format!("Authorization: {authorization}"), question.to_string());
        let header = "content-type: application/json";
        perspective.curl("/v1/verify", &["-H", &authorization, "-H", header, "-d", &question])
    };
    for wrong in ["", SECRET, "Bearer", "Bearer x", &format!("Bearer {SECRET}x"), &format!("Basic {SECRET}")] {
        assert_eq!(ask(wrong, &question).status, 401, "{wrong}");
    }
    assert_eq!(perspective.curl("/v1/description", &[]).status, 401);
    for secret in [SECRET, &other] {
        let answer = ask(&format!("Bearer {secret}"), &question);
        // It looks at what is there for everybody, and at nothing inside of its own network.
        let said = answer.json();
        assert_eq!(
            (answer.status, &said["answer"]["met"], &said["id"]),
            (200, &json!(false), &json!(id)),
            "{answer:?}"
        );
        let settings = json!({"dnssec": true, "allowSpecialAddresses": false, "http01Port": 80, "tlsAlpn01Port": 443});
        assert_eq!(said["settings"], settings);
        assert!(answer.body.contains("loopback"), "{answer:?}");
    }
    for (member, value) in [("identifier", "no name"), ("method", "by-letter")] {
        let mut wrong = question.clone();
        wrong["question"][member] = value.into();
        let answer = ask(&format!("Bearer {SECRET}"), &wrong);
        assert!(answer.status == 400 && answer.body.contains(value), "{answer:?}");
    }
    for wrong in [json!(null), json!(""), json!("7"), json!(format!("{id}00"))] {
        let wrong = json!({"id": wrong, "question": question["question"]});
        assert_eq!(ask(&format!("Bearer {SECRET}"), &wrong).status, 400, "{wrong}");
    }
    assert_eq!(ask(&format!("Bearer {SECRET}"), &question["question"]).status, 400, "it has no id");
    let log = perspective.process.log();
    assert!(!log.contains(SECRET) && !log.contains(&other), "{log}");
    perspective.process.stop();
}

#[test]
fn a_perspective_that_would_be_open_or_useless_does_not_start() {
    let files = folder();
    let secret = secret_file(files.path(), SECRET);
    let refused = |args: &[&str], said: &str| {
        let outcome = run(&[&["perspective"], args].concat());
        assert!(outcome.code == 2 && outcome.stderr.contains(said), "{said}: {outcome:?}");
    };
    refused(&["--secret-file", &secret, "--listen", "0.0.0.0:0"], "there is no TLS certificate");
    refused(&["--secret-file", &secret, "--http01-port", "8080"], "--allow-special-addresses");
    refused(&["--secret-file", &secret, "--retry-window", "1m"], "0s to 10s");
    refused(&["--secret-file", &secret, "--resolver", "nobody"], "must be addresses");
    refused(&["--secret-file", "/nowhere"], "openssl rand");
    refused(&[], "--secret-file");
    let short = secret_file(files.path(), "short");
    refused(&["--secret-file", &short], "32 characters");
    fs::set_permissions(&short, fs::Permissions::from_mode(0o644)).unwrap();
    refused(&["--secret-file", &short], "chmod 600");
}
