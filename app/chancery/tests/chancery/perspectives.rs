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
use crate::support::*;

const NAMES: [&str; 3] = ["north", "east", "south"];
const SECRET: &str = "0123456789abcdef0123456789abcdef";
const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Where nobody listens.
const ASTRAY: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

fn secret_file(folder: &Path, text: &str) -> String {
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
    web: TestWeb,
    perspectives: Vec<Perspective>,
    configured: Configured,
    /// The perspectives, as a configuration names them.
    listed: String,
    serving: Serving,
    api_key: String,
    account: Value,
    files: TempDir,
    runtime: Runtime,
}

/// One of the three, each of which asks a DNS server of its own. The first speaks TLS.
fn perspective(place: usize, listen: &str, files: &Path, resolver: SocketAddr, http01_port: u16) -> Perspective {
    let (resolver, port) = (resolver.to_string(), http01_port.to_string());
    let path = |name: &str| files.join(name).to_str().unwrap().to_owned();
    let (secret, certificate, key) = (path("secret"), path("certificate.pem"), path("key.pem"));
    let mut flags = vec!["--listen", listen, "--resolver", &resolver, "--dnssec", "off", "--allow-special-addresses"];
    flags.extend(["--http01-port", &port, "--retry-window", "0s"]);
    if place == 0 {
        flags.extend(["--tls-certificate", &certificate, "--tls-key", &key]);
    }
    Perspective::start(&secret, &flags)
}

impl World {
    /// With the perspectives in its configuration.
    fn begin() -> Self {
        let mut world = Self::begin_alone();
        world.ask_perspectives();
        world
    }

    /// One of the perspectives, started anew.
    fn perspective(&self, place: usize, listen: &str) -> Perspective {
        perspective(place, listen, self.files.path(), self.dns[place + 1].address(), self.web.port())
    }

    /// The service asks the perspectives from now on.
    fn ask_perspectives(&mut self) {
        self.serving.process.stop();
        let text = fs::read_to_string(self.configured.path()).unwrap();
        fs::write(self.configured.path(), text + &self.listed).unwrap();
        self.serving = self.configured.serve();
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
            .map(|place| perspective(place, "127.0.0.1:0", files.path(), dns[place + 1].address(), web.port()))
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
        let configured = Configured::initialised_without_dns(&more);
        configured.run(&["reseller", "create", "--code", "DEMO", "--name", "Demo"]);
        let api_key = text(&configured.run(&["api-key", "create", "--reseller", "DEMO", "--json"]).json()["api_key"]);
        let serving = configured.serve();
        let account = Value::Null;
        let mut world = Self { dns, web, perspectives, configured, listed, serving, api_key, account, files, runtime };
        world.account = world.post("/v1/account", &json!({"customer_email": "a@example.com"}))["lookup"].clone();
        world
    }

    fn ask(&self, path: &str, more: &[&str]) -> Answer {
        let authorization = format!("Authorization: {}", self.api_key);
        curl(&[&["-H", &authorization, &format!("http://{}{path}", self.serving.api)], more].concat())
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.ask(path, &["-H", "Content-Type: application/json", "-d", &body.to_string()]);
        assert!((200..300).contains(&answer.status), "{path}: {answer:?}");
        answer.json()
    }

    /// Where a name leads, as seen from here and from each perspective.
    fn name(&self, name: &str, seen: [Ipv4Addr; 4]) {
        for (dns, address) in self.dns.iter().zip(seen) {
            dns.address_of(name, address);
        }
    }

    /// Orders a certificate for a name that the web server shows control of; what became of the order, and its looks.
    #[track_caller]
    fn order(&self, name: &str) -> (Value, Vec<Value>) {
        let order = self.post("/v1/order", &json!({"account_lookup": self.account, "csr": csr(name)}));
        let authorization = text(&order["authorizations"][0]["lookup"]);
        let codes = self.post(&format!("/v1/authz/{authorization}/challenges"), &json!({}));
        let challenges = codes["challenges"].as_array().unwrap();
        let challenge = challenges.iter().find(|challenge| challenge["type"] == "http-01").unwrap();
        let page = format!("/.well-known/acme-challenge/{}", text(&challenge["token"]));
        self.web.page(&page, challenge["keyAuthorization"].as_str().unwrap());
        self.post(&format!("/v1/challenge/{}", text(&challenge["lookup"])), &json!({}));
        let path = format!("/v1/order/{}", text(&order["lookup"]));
        let order = self.until(&path, |order| order["status"] != "pending");
        let challenge = self.ask(&format!("/v1/challenge/{}", text(&challenge["lookup"])), &[]).json();
        (order, challenge["attempts"].as_array().unwrap().clone())
    }

    /// Asks until it is so.
    #[track_caller]
    fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.ask(path, &[]).json();
            if is_so(&answer) {
                return answer;
            }
            assert!(began.elapsed() < GENEROUS, "{answer}\n{}", self.serving.process.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn end(self) {
        drop((self.dns, self.web, self.serving, self.perspectives));
        self.runtime.shutdown_background();
    }
}

impl Configured {
    /// As [`initialised`](Self::initialised), where the settings name a DNS server themselves.
    fn initialised_without_dns(more: &str) -> Self {
        let configured = Self::new("");
        let text = fs::read_to_string(configured.path()).unwrap();
        let text: String =
            text.lines().filter(|line| !line.starts_with("dcv.")).map(|line| format!("{line}\n")).collect();
        fs::write(configured.path(), text + more).unwrap();
        assert_eq!(configured.run(&["init"]).code, 0);
        configured
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
    assert_eq!(world.ask(&format!("/v1/order/{lookup}/finalize"), &["-X", "POST"]).status, 202);
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
    let told = |world: &World| world.configured.run(&["doctor", "--json"]).stdout;
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
    world.perspectives[2] = world.perspective(2, &address);
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

    let metrics = get(&world.serving.admin, "/metrics").body;
    assert_eq!(counted(&metrics, ["north", "validation", "disagreed"]), 1);
    assert_eq!(counted(&metrics, ["south", "caa", "disagreed"]), 1);
    assert_eq!(counted(&metrics, ["north", "caa", "unreachable"]), 0);
    assert!(counted(&metrics, ["north", "validation", "agreed"]) >= 1);
    assert!(counted(&metrics, ["east", "validation", "unreachable"]) >= 1);
    let log = world.serving.process.log();
    assert!(log.contains("a perspective cannot be asked"), "{log}");
    assert!(!log.contains(SECRET));
    world.serving.process.stop();
    world.end();
}

#[test]
fn what_was_seen_before_there_were_perspectives_is_looked_at_again() {
    let mut world = World::begin_alone();
    world.name("early.test", [HERE; 4]);
    let (order, attempts) = world.order("early.test");
    assert_eq!((order["status"].as_str(), from(&attempts)), (Some("ready"), vec!["primary"]));
    let again = || json!({"account_lookup": world.account, "csr": csr("early.test")});
    assert_eq!(world.post("/v1/order", &again())["status"], "ready", "control is shown already");

    let (early, body) = (format!("/v1/order/{}", text(&order["lookup"])), again());
    world.ask_perspectives();
    assert_eq!(world.post("/v1/order", &body)["status"], "pending", "nobody else has seen it");
    world.ask(&format!("{early}/finalize"), &["-X", "POST"]);
    let ended = world.until(&early, |order| order["status"] != "processing" && order["status"] != "ready");
    assert_eq!(ended["status"], "invalid", "{ended:#}");
    assert!(ended["error"].to_string().contains("seen by too few"), "{ended:#}");

    let (order, attempts) = world.order("early.test");
    assert!(order["status"] == "ready" && from(&attempts).len() >= 3, "{order:#}");
    assert_eq!(world.post("/v1/order", &body)["status"], "ready", "enough have seen it");
    world.serving.process.stop();
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
    let question = json!({
        "whose": "", "caDomains": [], "identifier": "127.0.0.1", "method": "http-01", "token": "t",
        "keyAuthorization": "t.k", "accountUri": "",
    });
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
        assert_eq!((answer.status, &answer.json()["met"]), (200, &json!(false)), "{answer:?}");
        assert!(answer.body.contains("loopback"), "{answer:?}");
    }
    for (member, value) in [("identifier", "no name"), ("method", "by-letter")] {
        let mut wrong = question.clone();
        wrong[member] = value.into();
        let answer = ask(&format!("Bearer {SECRET}"), &wrong);
        assert!(answer.status == 400 && answer.body.contains(value), "{answer:?}");
    }
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
