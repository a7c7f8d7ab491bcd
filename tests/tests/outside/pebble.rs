//! `chancery dev --pebble`: what was written for Pebble finds everything where Pebble has it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chancery_testkit::free_port;
use serde_json::{Value, json};

use crate::acme::said;
use crate::dev_server::{DevServer, installed};
use crate::wire::{Seen, Wire, curl};

/// A server in Pebble's place, on ports of its own.
pub(crate) struct Pebble {
    pub(crate) server: DevServer,
    pub(crate) http01: u16,
}

impl Pebble {
    pub(crate) fn start(arguments: &[&str]) -> Option<Self> {
        Self::start_in(arguments, &[])
    }

    pub(crate) fn start_in(arguments: &[&str], environment: &[(&str, &str)]) -> Option<Self> {
        let http01 = free_port();
        let port = http01.to_string();
        let own = ["--pebble", "--pebble-listen", "127.0.0.1:0", "--pebble-management-listen", "127.0.0.1:0"];
        let all = [&own[..], &["--http01-port", &port], arguments].concat();
        Some(Self { server: DevServer::start_in(&all, environment)?, http01 })
    }

    pub(crate) fn ca(&self) -> &str {
        self.server.fact("ca_bundle")
    }

    pub(crate) fn directory(&self) -> String {
        self.server.facts["pebble"]["directory_url"].as_str().unwrap().to_owned()
    }

    /// The same URL by the name that suites use.
    fn by_name(&self, name: &str) -> String {
        self.directory().replace("127.0.0.1", name)
    }

    fn managed(&self, path: &str) -> Seen {
        let base = self.server.facts["pebble"]["management_url"].as_str().unwrap();
        curl(self.ca(), &[&format!("{base}/{path}")])
    }

    /// What a management endpoint gives, in a file.
    fn fetched(&self, path: &str, media_type: &str) -> PathBuf {
        let seen = self.managed(path);
        assert_eq!((seen.status, seen.header("content-type")), (200, Some(media_type)), "{path}");
        let file = self.server.folder().join(path.replace('/', "-"));
        std::fs::write(&file, &seen.body).unwrap();
        file
    }

    pub(crate) fn wire(&self) -> Wire {
        Wire::at(self.ca(), &self.directory())
    }

    pub(crate) fn lego(&self, name: &str, arguments: &[&str]) -> Output {
        Command::new("lego")
            .args(["--server", &self.by_name("localhost"), "--accept-tos", "--email", "lego@example.com"])
            .args(["--http", "--http.port", &format!("127.0.0.1:{}", self.http01), "--path"])
            .arg(self.server.folder().join(name))
            .args(arguments)
            .env("LEGO_CA_CERTIFICATES", self.ca())
            .output()
            .unwrap()
    }

    pub(crate) fn certbot(&self, arguments: &[&str]) -> Output {
        let folder = self.server.folder().join("certbot");
        let mut command = Command::new("certbot");
        for (flag, name) in [("--config-dir", "config"), ("--work-dir", "work"), ("--logs-dir", "logs")] {
            command.arg(flag).arg(folder.join(name));
        }
        command
            .args(["certonly", "--non-interactive", "--server", &self.by_name("localhost"), "--agree-tos"])
            .args(["--register-unsafely-without-email", "--standalone", "--http-01-address", "127.0.0.1"])
            .args(["--http-01-port", &self.http01.to_string()])
            .args(arguments)
            .env("REQUESTS_CA_BUNDLE", self.ca())
            .output()
            .unwrap()
    }
}

const CERTIFICATE: &str = "application/pem-certificate-chain; charset=utf-8";
const KEY: &str = "application/x-pem-file; charset=utf-8";

const KID_1: [&str; 2] = ["kid-1", "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W"];
const KID_2: [&str; 2] = ["kid-2", "b10lLJs8l1GPIzsLP0s6pMt8O0XVGnfTaCeROxQM0BIt2XrJMDHJZBM5NuQmQJQH"];
const KID_3: [&str; 2] = ["kid-3", "HjudV5qnbreN-n9WyFSH-t4HXuEx_XFen45zuxY-G1h6fr74V3cUM_dVlwQZBWmc"];

fn openssl(arguments: &[&str], file: &Path) -> String {
    let output = Command::new("openssl").args(arguments).arg(file).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    said(&output)
}

fn done(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

#[test]
fn everything_leads_back_to_the_name_it_was_asked_by() {
    let Some(pebble) = Pebble::start(&[]) else { return };
    let port = pebble.directory().rsplit(':').next().unwrap().replace("/dir", "");
    for host in ["localhost", "127.0.0.1", "pebble"] {
        let resolve = format!("{host}:{port}:127.0.0.1");
        let seen = curl(pebble.ca(), &["--resolve", &resolve, &format!("https://{host}:{port}/dir")]);
        let directory = seen.json();
        for (name, path) in [
            ("newNonce", "nonce-plz"),
            ("newAccount", "sign-me-up"),
            ("newOrder", "order-plz"),
            ("revokeCert", "revoke-cert"),
            ("keyChange", "rollover-account-key"),
        ] {
            assert_eq!(directory[name], format!("https://{host}:{port}/{path}"));
        }
        assert_eq!(directory["meta"]["externalAccountRequired"], false);
        assert!(directory["meta"]["termsOfService"].is_string());
    }
    let own = curl(pebble.ca(), &[&pebble.directory().replace("/dir", "/acme/TLS-90d/directory")]);
    assert_eq!(own.status, 404, "only Pebble's paths are there");
    let main = format!("{}/acme/TLS-90d/directory", pebble.server.fact("acme_url"));
    let main = curl(pebble.ca(), &[&main]).json();
    assert_eq!(
        main["meta"],
        json!({
            "externalAccountRequired": true,
            "caaIdentities": ["chancery.test"],
            "profiles": {"TLS-90d": "TLS server certificate, 90 days"},
            "subdomainAuthAllowed": true,
        })
    );
}

#[test]
fn the_management_listener_gives_the_cas_and_their_keys_and_tells_of_certificates() {
    let Some(pebble) = Pebble::start(&["--skip-validation"]) else { return };
    let mut wire = pebble.wire();
    let account = wire.register();
    assert_eq!(account.status, 201, "{account:?}");
    let orders = account.json()["orders"].as_str().unwrap().to_owned();
    let chain = wire.obtain("a.pebble.test", pebble.server.folder().join("chain.pem"));

    let root = pebble.fetched("roots/0", CERTIFICATE);
    let intermediate = pebble.fetched("intermediates/0", CERTIFICATE);
    let (root_text, intermediate_text) = (root.display().to_string(), intermediate.display().to_string());
    openssl(&["verify", "-CAfile", &root_text, "-untrusted", &intermediate_text], &chain);
    for (certificate, path) in [(&root, "root-keys/0"), (&intermediate, "intermediate-keys/0")] {
        let key = pebble.fetched(path, KEY);
        let public = openssl(&["pkey", "-pubout", "-in"], &key);
        assert!(openssl(&["x509", "-noout", "-pubkey", "-in"], certificate).contains(&public), "{path}");
    }
    assert_eq!(std::fs::read_to_string(pebble.ca()).unwrap(), pebble.managed("https-ca").body);

    let serial = openssl(&["x509", "-noout", "-serial", "-in"], &chain).trim().replace("serial=", "");
    let path = format!("cert-status-by-serial/{serial}");
    let first: Vec<_> = std::fs::read_to_string(&chain)
        .unwrap()
        .split_inclusive("-----END CERTIFICATE-----\n")
        .map(str::to_owned)
        .collect();
    let expected = json!({
        "Status": "Valid",
        "Serial": serial.trim_start_matches('0').to_lowercase(),
        "Certificate": first[0],
    });
    assert_eq!(pebble.managed(&path).json(), expected);
    let der = first[0].lines().filter(|line| !line.starts_with("--")).collect::<String>();
    let der = data_encoding::BASE64.decode(der.as_bytes()).unwrap();
    let revocation = json!({"certificate": chancery_jose::base64url::encode(&der), "reason": 4});
    assert_eq!(wire.post(&wire.url("revokeCert"), Some(&revocation)).status, 200);
    let revoked = pebble.managed(&path).json();
    assert_eq!((&revoked["Status"], &revoked["Reason"]), (&json!("Revoked"), &json!(4)));
    assert!(revoked["RevokedAt"].as_str().unwrap().ends_with('Z'), "{revoked}");

    for (path, status) in [
        ("roots/2", 404),
        ("roots/x", 404),
        ("intermediate-keys/7", 404),
        ("cert-status-by-serial/12ab", 404),
        ("cert-status-by-serial/zz", 400),
        ("", 404),
    ] {
        assert_eq!(pebble.managed(path).status, status, "{path}");
    }
    // Three orders are a page, as Pebble has it.
    for name in ["b.pebble.test", "c.pebble.test", "d.pebble.test"] {
        wire.order(name);
    }
    let page = wire.post(&orders, None);
    assert_eq!(page.json()["orders"].as_array().unwrap().len(), 3);
    let next = page.header("link").unwrap();
    let next = next.trim_start_matches('<').split('>').next().unwrap();
    assert!(next.starts_with(&format!("{orders}?cursor=")), "{page:?}");
    assert_eq!(wire.post(next, None).json()["orders"].as_array().unwrap().len(), 1);
}

#[test]
fn a_suite_can_bring_the_certificate_that_it_trusts() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (certificate, key) = (file("cert.pem"), file("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"])
        .args(["-subj", "/CN=minica", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", &key, "-out", &certificate])
        .output()
        .unwrap();
    done(&made);
    let Some(pebble) = Pebble::start(&["--pebble-certificate", &certificate, "--pebble-key", &key]) else { return };
    let roots = format!("{}/roots/0", pebble.server.facts["pebble"]["management_url"].as_str().unwrap());
    for url in [pebble.directory(), roots] {
        assert_eq!(curl(&certificate, &[&url]).status, 200, "{url}");
    }
    assert!(pebble.server.ask("GET", "/v1/account", &json!({}))["items"].is_array(), "the API has its own");
}

#[test]
fn the_profiles_and_the_blocked_name_of_pebble_are_there() {
    let Some(pebble) = Pebble::start(&["--skip-validation"]) else { return };
    let mut wire = pebble.wire();
    wire.register();
    let profiles = wire.directory["meta"]["profiles"].as_object().unwrap();
    assert_eq!(profiles.keys().collect::<Vec<_>>(), ["default", "shortlived"]);
    let asked = |name: &str, profile: &str| {
        let payload = json!({"identifiers": [{"type": "dns", "value": name}], "profile": profile});
        wire.post(&wire.url("newOrder"), Some(&payload))
    };
    for profile in ["default", "shortlived"] {
        assert_eq!(asked("a.pebble.test", profile).json()["profile"], profile);
    }
    assert_eq!(asked("a.pebble.test", "TLS-90d").problem(), "invalidProfile");
    for name in ["blocked-domain.example", "www.blocked-domain.example"] {
        let refused = asked(name, "default");
        assert_eq!((refused.status, refused.problem()), (403, "rejectedIdentifier".to_owned()));
        assert_eq!(refused.json()["subproblems"][0]["identifier"]["value"], name);
    }
}

#[test]
fn the_variables_of_pebble_are_heard() {
    let environment = [("PEBBLE_VA_ALWAYS_VALID", "1"), ("PEBBLE_WFE_NONCEREJECT", "0"), ("PEBBLE_AUTHZREUSE", "0")];
    let Some(pebble) = Pebble::start_in(&[], &environment) else { return };
    let mut wire = pebble.wire();
    wire.register();
    wire.obtain("a.pebble.test", pebble.server.folder().join("chain.pem"));
    let (_, again) = wire.order("a.pebble.test");
    assert_eq!(again["status"], "pending", "the name is to be shown anew");
    let all_bad = [("PEBBLE_WFE_NONCEREJECT", "100")];
    let Some(pebble) = Pebble::start_in(&[], &all_bad) else { return };
    let wire = pebble.wire();
    let seen = wire.send(&wire.url("newAccount"), Some(&Value::Null), &wire.nonce());
    assert_eq!((seen.status, seen.problem()), (400, "badNonce".to_owned()));
}

mod slow {
    use super::*;

    #[test]
    fn clients_get_certificates_without_a_binding_and_with_those_of_pebbles_example() {
        if !installed("lego") || !installed("certbot") {
            return;
        }
        // certbot tries again only once.
        let Some(pebble) = Pebble::start(&["--reject-nonces", "0"]) else { return };
        done(&pebble.lego("lego", &["-d", "a.lego.test", "run"]));
        let root = pebble.fetched("roots/0", CERTIFICATE).display().to_string();
        let chain = pebble.server.folder().join("lego/certificates/a.lego.test.crt");
        let chain_text = chain.display().to_string();
        openssl(&["verify", "-CAfile", &root, "-untrusted", &chain_text], &chain);
        done(&pebble.certbot(&["-d", "a.certbot.test"]));
        let [kid, hmac] = KID_2;
        done(&pebble.lego("bound", &["-d", "b.lego.test", "--eab", "--kid", kid, "--hmac", hmac, "run"]));

        // The reseller sees whose they are.
        let seen = pebble.server.ask("GET", "/v1/certificates", &json!({}));
        let whose: Vec<_> = seen["items"].as_array().unwrap().iter().map(|item| item["account"].to_string()).collect();
        assert_eq!(whose.len(), 3, "{seen}");
        let accounts = pebble.server.ask("GET", "/v1/account", &json!({}));
        let emails: Vec<_> = accounts["items"].as_array().unwrap().iter().map(|item| item["email"].clone()).collect();
        for name in ["unbound", "kid-1", "kid-2", "kid-3"] {
            assert!(emails.contains(&json!(format!("pebble-{name}@example.com"))), "{emails:?}");
        }
    }

    #[test]
    fn a_binding_is_required_where_that_is_asked_for() {
        if !installed("lego") || !installed("certbot") {
            return;
        }
        let own = "mine=VGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxsLCBidXQgbG9uZyBlbm91Z2gu";
        let flags = ["--pebble-eab", "--reject-nonces", "0", "--pebble-eab-key", own];
        let Some(pebble) = Pebble::start(&flags) else { return };
        assert_eq!(pebble.wire().directory["meta"]["externalAccountRequired"], true);
        let mut wire = pebble.wire();
        assert_eq!(wire.register().problem(), "externalAccountRequired");
        let [kid, hmac] = KID_1;
        done(&pebble.certbot(&["-d", "a.certbot.test", "--eab-kid", kid, "--eab-hmac-key", hmac]));
        let (mine, its_key) = own.split_once('=').unwrap();
        for (name, [kid, hmac]) in [("two", KID_2), ("three", KID_3), ("mine", [mine, its_key])] {
            let domain = format!("{name}.lego.test");
            done(&pebble.lego(name, &["-d", &domain, "--eab", "--kid", kid, "--hmac", hmac, "run"]));
        }
        let [_, other] = KID_2;
        let wrong = pebble.lego("wrong", &["-d", "a.lego.test", "--eab", "--kid", kid, "--hmac", other, "run"]);
        assert!(!wrong.status.success() && said(&wrong).contains("the MAC does not match"), "{}", said(&wrong));
    }
}
