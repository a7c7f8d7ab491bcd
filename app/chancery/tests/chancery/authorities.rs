//! The CAs' commands, and `revoke`, beside a running service that issues.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::perspectives::{SECRET, secret_file};
use crate::support::*;

pub fn post(dev: &Dev, path: &str, body: &Value) -> Value {
    let answer = dev.curl(path, &["-H", "Content-Type: application/json", "-d", &body.to_string()]);
    assert!(answer.status < 300, "{path}: {answer:?}");
    answer.json()
}

/// Waits until an order has come so far.
fn until_order(dev: &mut Dev, order: &Value, status: &str) {
    let url = format!("{}/v1/order/{}", dev.value("base_url"), order["lookup"].as_str().unwrap());
    let (ca, key) = (dev.value("ca_bundle").to_owned(), format!("Authorization: {}", dev.value("api_key")));
    dev.process
        .until(status, |_| (curl(&["--cacert", &ca, "-H", &key, &url]).json()["status"] == status).then_some(()));
}

/// The order of a new certificate, and its chain.
pub fn issue(dev: &mut Dev, account: &str) -> (Value, String) {
    let order = post(dev, "/v1/order", &json!({"account_lookup": account, "csr": csr("hello.test")}));
    for authorization in order["authorizations"].as_array().unwrap() {
        if authorization["status"] != "valid" {
            let path = format!("/v1/authz/{}/challenges", authorization["lookup"].as_str().unwrap());
            let codes = post(dev, &path, &json!({}));
            let challenge = codes["challenges"][0]["lookup"].as_str().unwrap();
            post(dev, &format!("/v1/challenge/{challenge}"), &json!({}));
        }
    }
    until_order(dev, &order, "ready");
    post(dev, &format!("/v1/order/{}/finalize", order["lookup"].as_str().unwrap()), &json!({}));
    until_order(dev, &order, "valid");
    let chain = dev.curl(&format!("/v1/certificate/{}", order["certificateLookup"].as_str().unwrap()), &[]);
    assert_eq!(chain.status, 200, "{chain:?}");
    (order, chain.body)
}

/// What OpenSSL says of the first certificate of a chain that leads to the root of a `dev`.
fn verified(dev: &Dev, chain: &str) -> String {
    let folder = folder();
    let path = folder.path().join("chain.pem");
    fs::write(&path, chain).unwrap();
    let openssl = |args: &[&str]| Command::new("openssl").args(args).arg(&path).output().unwrap();
    let above = path.to_str().unwrap();
    let outcome = openssl(&["verify", "-x509_strict", "-CAfile", dev.value("issuer_bundle"), "-untrusted", above]);
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
    String::from_utf8(openssl(&["x509", "-noout", "-text", "-in"]).stdout).unwrap()
}

fn refused(place: &Path, args: &[&str]) -> String {
    outcome(chancery().args(args).arg("--data-dir").arg(place)).line(1).to_owned()
}

#[test]
fn a_ca_is_rotated_and_a_certificate_revoked_under_a_running_service() {
    let place = folder();
    let mut dev = Dev::start_with(place.path(), &["--skip-validation"]);
    let account = post(&dev, "/v1/account", &json!({"customer_email": "a@example.com"}));
    let account = account["lookup"].as_str().unwrap().to_owned();
    let (first, chain) = issue(&mut dev, &account);
    assert!(verified(&dev, &chain).contains("CN = Chancery Dev Issuing CA E1"));

    let rotated = json_in(place.path(), &["ca", "rotate", "Chancery Dev Issuing CA E1"]);
    let began = Instant::now();
    let (old, new) = (&rotated["old"], &rotated["new"]);
    assert_eq!((&new["name"], &old["state"]), (&json!("Chancery Dev Issuing CA E3"), &json!("retired")));
    assert_eq!((&new["key_type"], &new["parent"]), (&json!("ec-p256"), &old["parent"]));
    dev.process.until("the service to follow", |process| process.log().contains("the CAs have changed").then_some(()));
    assert!(began.elapsed() < Duration::from_secs(5), "a running service follows within 5 seconds");
    // Where the service is, whichever command signed it.
    let text = verified(
        &dev,
        json_in(place.path(), &["ca", "show", new["id"].as_str().unwrap()])["certificate"].as_str().unwrap(),
    );
    assert!(
        text.contains(&format!("{}/issuer/{}.crt", dev.value("http_url"), new["parent"].as_str().unwrap())),
        "{text}"
    );
    let (second, after) = issue(&mut dev, &account);
    assert!(verified(&dev, &after).contains("CN = Chancery Dev Issuing CA E3"));
    let still = dev.curl(&format!("/v1/certificate/{}", first["certificateLookup"].as_str().unwrap()), &[]);
    assert_eq!(still.body, chain);

    let serial = post_serial(&dev, &second);
    let colons: Vec<_> = serial.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap().to_uppercase()).collect();
    let revoked =
        json_in(place.path(), &["revoke", "--serial", &colons.join(":"), "--reason", "superseded", "--comment", "x"]);
    assert_eq!(
        (&revoked["serial_number"], &revoked["reason"], &revoked["already"], &revoked["order"]),
        (&json!(serial), &json!("superseded"), &json!(false), &second["lookup"])
    );
    let again = json_in(place.path(), &["revoke", "--order", second["lookup"].as_str().unwrap()]);
    assert_eq!((&again["already"], &again["reason"]), (&json!(true), &json!("superseded")));
    let lookup = first["certificateLookup"].as_str().unwrap();
    let of_the_retired = outcome(chancery().args(["revoke", "--certificate", lookup, "--data-dir"]).arg(place.path()));
    assert!(
        of_the_retired.code == 0 && of_the_retired.stdout.ends_with("(hello.test) is revoked.\n"),
        "{of_the_retired:?}"
    );
    let listed = dev.curl("/v1/certificates?certificate_status=revoked", &[]).json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");
    let unknown = refused(place.path(), &["revoke", "--serial", "00"]);
    assert!(unknown.contains("there is no certificate 00; `chancery audit "), "{unknown}");
    let audit = json_in(place.path(), &["audit", "--action", "certificate.revoke"]);
    assert_eq!((audit.as_array().unwrap().len(), &audit[0]["actor_kind"]), (2, &json!("operator")));
}

fn post_serial(dev: &Dev, order: &Value) -> String {
    let listed = dev.curl("/v1/certificates?limit=1", &[]).json();
    assert_eq!(listed["items"][0]["lookup"], order["certificateLookup"], "{listed}");
    listed["items"][0]["serialNumber"].as_str().unwrap().to_owned()
}

#[test]
fn cas_live_through_their_commands() {
    let configured = Configured::initialised(
        "profiles.default_profile = 'a'\n[[profiles.list]]\nname = 'a'\nissuers = ['ec-p384']\n\
         [[profiles.list]]\nname = 'b'\nissuers = ['rsa', 'Chancery Issuing CA E1']",
    );
    let profiles = |ca: &str| configured.run(&["ca", "show", ca, "--json"]).json()["profiles"].clone();
    assert_eq!(profiles("Chancery Issuing CA E1"), json!(["b"]));
    assert_eq!(profiles("Chancery Issuing CA E2"), json!(["a"]));
    assert_eq!(profiles("Chancery Root CA 1"), json!([]));
    let refused = |args: &[&str], code| configured.run(args).line(code).to_owned();
    assert!(refused(&["ca", "retire", "Chancery Issuing CA E2"], 1).contains("of the profile a"));
    assert!(refused(&["ca", "retire", "Chancery Root CA 1"], 1).contains("is a root"));
    assert!(refused(&["ca", "retire", "nobody"], 1).contains("see `chancery ca list`"));
    assert!(refused(&["ca", "create", "--kind", "ed25519"], 2).contains("ec-p256, ec-p384, rsa-2048"));
    for name in ["", "a\u{7}b", &"x".repeat(65)] {
        let said = refused(&["ca", "create", "--kind", "ec-p256", "--name", name], 2);
        assert!(said.contains("is not 1 to 64 characters of plain text"), "{said}");
    }
    assert!(refused(&["revoke"], 2).contains("--serial"));

    let made = configured.run(&["ca", "create", "--kind", "ec-p384", "--json"]).json();
    assert_eq!((&made["name"], &made["state"]), (&json!("Chancery Issuing CA E3"), &json!("active")));
    let named = configured.run(&["ca", "create", "--kind", "ec-p256", "--name", "Special", "--json"]).json();
    assert_eq!((&named["name"], &named["subject"]), (&json!("Special"), &json!("CN=Special,O=Chancery,C=XX")));
    assert!(refused(&["ca", "create", "--kind", "ec-p256", "--name", "Special"], 1).contains("exists already"));
    let retired = configured.run(&["ca", "retire", "Chancery Issuing CA E2", "--json"]).json();
    assert_eq!((&retired["state"], profiles("Chancery Issuing CA E2")), (&json!("retired"), json!([])));
    assert_eq!(profiles("Chancery Issuing CA E3"), json!(["a"]));
    let back = configured.run(&["ca", "activate", retired["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!((&back["state"], profiles("Chancery Issuing CA E2")), (&json!("active"), json!(["a"])));

    let actions = configured.run(&["audit", "--json"]).json();
    let mut actions: Vec<_> = actions.as_array().unwrap().iter().map(|line| line["action"].as_str().unwrap()).collect();
    actions.retain(|action| action.starts_with("issuer."));
    assert_eq!(actions[..4], ["issuer.activate", "issuer.retire", "issuer.create", "issuer.create"]);
    assert_eq!(actions.len(), 8);
}

#[test]
fn further_chains_are_added_shown_and_removed() {
    let place = folder();
    let dev = Dev::start(place.path());
    let ca = "Chancery Dev Issuing CA E1";
    let shown = json_in(place.path(), &["ca", "show", ca]);
    let chain = &shown["chains"][0];
    assert_eq!((&chain["number"], &chain["offered"]), (&json!(1), &json!(true)), "{shown}");
    assert_eq!(chain["root"], "CN=Chancery Dev Root X2,O=Chancery Dev,C=XX");
    let pem = chain["certificates"].as_str().unwrap();
    assert!(pem.ends_with(&fs::read_to_string(dev.value("alternate_issuer_bundle")).unwrap()));
    let text = outcome(chancery().args(["ca", "show", ca, "--data-dir"]).arg(place.path())).stdout;
    assert!(text.contains("1: up to CN=Chancery Dev Root X2"), "{text}");

    let file = place.path().join("chain.pem");
    fs::write(&file, pem).unwrap();
    let add = ["ca", "add-chain", ca, "--file", file.to_str().unwrap()];
    assert!(refused(place.path(), &add).contains("has this chain already, as number 1"));
    let other = ["ca", "add-chain", "Chancery Dev Issuing CA E2", "--file", file.to_str().unwrap()];
    assert!(refused(place.path(), &other).contains("begin with the certificate by which another CA vouches for it"));
    let removed = json_in(place.path(), &["ca", "remove-chain", ca, "1"]);
    assert_eq!(removed["root"], chain["root"]);
    assert!(refused(place.path(), &["ca", "remove-chain", ca, "1"]).contains("has no further chain 1"));
    assert_eq!(json_in(place.path(), &add)["number"], 2, "the number of the one that went is not given again");
    let audit = json_in(place.path(), &["audit", "--action", "issuer.add_chain"]);
    assert_eq!(audit.as_array().unwrap().len(), 4);

    // Without its certificates at the end there is no telling whether it is good.
    fs::write(&file, shown["certificate"].as_str().unwrap()).unwrap();
    assert!(refused(place.path(), &add).contains("this is the chain that is offered anyway"));
    fs::write(&file, "nothing").unwrap();
    assert!(refused(place.path(), &add).contains("not a certificate in PEM"));
    let nowhere = ["ca", "add-chain", ca, "--file", "/nowhere/chain.pem", "--data-dir"];
    assert!(outcome(chancery().args(nowhere).arg(place.path())).line(2).contains("cannot read /nowhere/chain.pem"));
}

#[test]
fn a_second_start_finds_its_second_root_again() {
    let place = folder();
    let mut first = Dev::start(place.path());
    let root = fs::read(first.value("alternate_issuer_bundle")).unwrap();
    // A folder of an earlier release has no such chains.
    for ca in ["E1", "E2", "R1"] {
        json_in(place.path(), &["ca", "remove-chain", &format!("Chancery Dev Issuing CA {ca}"), "1"]);
    }
    first.process.stop();
    let mut second = Dev::start(place.path());
    let other = fs::read(second.value("alternate_issuer_bundle")).unwrap();
    assert_ne!(root, other);
    second.process.stop();
    let third = Dev::start(place.path());
    assert_eq!(fs::read(third.value("alternate_issuer_bundle")).unwrap(), other);
}

#[test]
fn what_nobody_can_sign_and_what_is_shortened_is_told_at_the_start() {
    let files = folder();
    let secret = secret_file(files.path(), SECRET);
    let perspective = |port: u16, region: &str| {
        format!(
            "[[dcv.perspectives]]\nname = '{region}'\nurl = 'http://127.0.0.1:{port}'\nsecret_file = '{secret}'\n\
             region = '{region}'\n"
        )
    };
    let profiles = "profiles.default_profile = 'a'\n[[profiles.list]]\nname = 'a'\nkey_types = ['ec-p256']\n\
                    issuers = ['Nobody']\n[[profiles.list]]\nname = 'b'\nvalidity_days = 825\npublic = true\n";
    let configured = Configured::initialised(&[profiles, &perspective(1, "ripe"), &perspective(2, "arin")].concat());
    let checked = configured.run(&["check-config", "--json"]).json();
    assert!(checked["warnings"][0].as_str().unwrap().contains("those of the profile b will, not 825"), "{checked}");
    let mut serving = configured.serve();
    let log = serving.process.log();
    assert!(log.contains("no active CA may sign such certificates") && log.contains("not 825"), "{log}");
    serving.process.stop();
}

#[test]
fn a_revoked_ca_is_shown_as_such_and_doctor_tells() {
    let configured = Configured::initialised("");
    let listed = configured.run(&["ca", "list", "--json"]).json();
    let issuing = listed.as_array().unwrap().iter().find(|ca| ca["kind"] == "issuing" && ca["key_type"] == "ec-p256");
    let name = issuing.unwrap()["name"].as_str().unwrap();
    let asked = configured.run(&["ca", "revoke-issuer", name, "--reason", "keyCompromise"]);
    assert!(asked.code == 2 && asked.line(2).contains("--yes"), "{asked:?}");
    let revoke = ["ca", "revoke-issuer", name, "--reason", "keyCompromise", "--yes"];
    let done = configured.run(&[&revoke[..], &["--json"]].concat()).json();
    assert_eq!((&done["state"], &done["revocation_reason"]), (&json!("revoked"), &json!("keyCompromise")));
    assert!(configured.run(&revoke).stdout.contains("was revoked already"));
    assert_eq!(configured.run(&["ca", "show", name, "--json"]).json()["state"], "revoked");
    assert_eq!(done["key_in"], "database");
    assert!(configured.run(&["ca", "activate", name]).line(1).contains("is revoked, for good"));
    assert!(configured.run(&["ca", "rotate", name]).line(1).contains("is revoked; make a new CA instead"));
    let doctor = configured.run(&["doctor", "--json"]);
    assert!(doctor.stdout.contains(&format!("{name} is revoked since")), "{doctor:?}");
    let noted = configured.run(&["audit", "--action", "issuer.revoke", "--json"]).json();
    assert_eq!(noted.as_array().unwrap().len(), 1, "{noted}");
}
