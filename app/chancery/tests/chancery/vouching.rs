//! A root that was made elsewhere, and is kept there, above the CAs that issue.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::authorities::{issue, post};
use crate::support::*;

const CA: &str = "Chancery Dev Issuing CA E1";
const ROOT: &str = "CN=Company Root,O=Company";

/// A service with a customer, and a company with a root.
struct World {
    place: TempDir,
    company_place: TempDir,
    dev: Dev,
    account: String,
}

impl World {
    fn begin() -> Self {
        let (place, company_place) = (folder(), folder());
        company(company_place.path());
        let dev = Dev::start_with(place.path(), &["--skip-validation"]);
        let account = post(&dev, "/v1/account", &json!({"customer_email": "a@example.com"}));
        Self { place, company_place, dev, account: account["lookup"].as_str().unwrap().to_owned() }
    }
}

/// What `openssl` prints, if it does what it is told.
#[track_caller]
fn openssl(place: &Path, arguments: &[&str]) -> String {
    let output = Command::new("openssl").current_dir(place).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A root as a company has it: a key in a file, used by hand. There is another CA below it, which is the one that signs.
fn company(place: &Path) {
    let signs = ["-addext", "keyUsage=critical,keyCertSign,cRLSign"];
    let new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-nodes"];
    let root = ["req", "-x509", "-subj", "/O=Company/CN=Company Root", "-days", "3000", "-keyout", "root.key"];
    openssl(place, &[&root[..], &new_key[..], &signs[..], &["-out", "root.pem"]].concat());
    let middle = ["req", "-new", "-subj", "/O=Company/CN=Company Policy CA", "-keyout", "policy.key"];
    let asked = ["-addext", "basicConstraints=critical,CA:TRUE"];
    openssl(place, &[&middle[..], &new_key[..], &signs[..], &asked[..], &["-out", "policy.csr"]].concat());
    sign(place, "policy.csr", "root", 2000, "policy.pem");
}

/// What `openssl` makes of a request, with all that it asks for.
fn sign(place: &Path, request: &str, by: &str, days: u32, into: &str) {
    let (ca, key, days) = (format!("{by}.pem"), format!("{by}.key"), days.to_string());
    let sign = ["x509", "-req", "-in", request, "-CA", &ca, "-CAkey", &key, "-copy_extensions", "copyall"];
    openssl(place, &[&sign[..], &["-days", &days, "-out", into]].concat());
}

/// A file with a CA as the company vouches for it, and all above it.
fn vouched_for(place: &Path, data: &Path, ca: &str, days: u32) -> String {
    let request = outcome(chancery().args(["ca", "request", ca, "--data-dir"]).arg(data));
    assert_eq!(request.code, 0, "{request:?}");
    fs::write(place.join("ca.csr"), &request.stdout).unwrap();
    sign(place, "ca.csr", "policy", days, "ca.pem");
    let chain: String = ["ca.pem", "policy.pem", "root.pem"].map(|file| read(place, file)).concat();
    fs::write(place.join("chain.pem"), chain).unwrap();
    place.join("chain.pem").to_str().unwrap().to_owned()
}

fn read(place: &Path, file: &str) -> String {
    fs::read_to_string(place.join(file)).unwrap()
}

/// That somebody who trusts the company's root alone trusts the first certificate of a chain, whatever else they know.
fn verify(place: &Path, chain: &str) {
    fs::write(place.join("leaf.pem"), chain).unwrap();
    let verify =
        ["verify", "-x509_strict", "-purpose", "sslserver", "-no-CApath", "-no-CAstore", "-CAfile", "root.pem"];
    openssl(place, &[&verify[..], &["-untrusted", "leaf.pem", "leaf.pem"]].concat());
}

/// A chain with a CA between the issuing one and the root, as soon as the service has followed.
fn until_longer(dev: &Dev, path: &str) -> String {
    let began = Instant::now();
    loop {
        let chain = dev.curl(path, &[]).body;
        if chain.matches("BEGIN CERTIFICATE").count() == 3 {
            return chain;
        }
        assert!(began.elapsed() < GENEROUS, "{chain}\n{}", dev.process.log());
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn who_trusts_a_root_that_is_kept_elsewhere_needs_no_other() {
    let World { place, company_place, mut dev, account } = World::begin();
    let files = company_place.path();
    let (first, before) = issue(&mut dev, &account);

    let chain = vouched_for(files, place.path(), CA, 30);
    let asked = openssl(files, &["req", "-verify", "-noout", "-text", "-in", "ca.csr"]);
    for part in
        ["O = Chancery Dev, CN = Chancery Dev Issuing CA E1", "CA:TRUE, pathlen:0", "TLS Web Server", "Key Identifier"]
    {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    let added =
        outcome(chancery().args(["ca", "add-chain", CA, "--file", &chain, "--prefer", "--data-dir"]).arg(place.path()));
    assert!(added.stdout.contains(&format!("are given chain 2, up to {ROOT},")), "{added:?}");

    // What was issued before comes with the chain as well, for it is signed by the same key; so does what is issued now.
    let path = format!("/v1/certificate/{}", first["certificateLookup"].as_str().unwrap());
    let again = until_longer(&dev, &path);
    verify(files, &again);
    assert_eq!(dev.curl(&format!("{path}?chain=0"), &[]).body, before);
    let (_, now) = issue(&mut dev, &account);
    verify(files, &now);
    let ends = |file: &str| openssl(files, &["x509", "-noout", "-enddate", "-in", file]);
    assert_eq!(ends("leaf.pem"), ends("ca.pem"), "nothing outlasts it");

    // Whoever looks for the issuer at its address, or asks whether it is revoked, is led the same way.
    let id = json_in(place.path(), &["ca", "show", CA])["id"].as_str().unwrap().to_owned();
    let issuer = format!("{}/issuer/{id}.crt", dev.value("http_url"));
    let fetched = files.join("fetched.der");
    assert_eq!(curl(&["-o", fetched.to_str().unwrap(), &issuer]).status, 200);
    assert_eq!(openssl(files, &["x509", "-inform", "der", "-in", "fetched.der"]), read(files, "ca.pem"));
    let url = openssl(files, &["x509", "-noout", "-ocsp_uri", "-in", "leaf.pem"]);
    let ask = ["ocsp", "-issuer", "ca.pem", "-cert", "leaf.pem", "-CAfile", "root.pem", "-verify_other", "chain.pem"];
    let told = openssl(files, &[&ask[..], &["-url", url.trim()]].concat());
    assert!(told.contains("leaf.pem: good"), "{told}");

    // It is revoked by its chain, of which the company's CAs are nobody's here to revoke.
    let leaf = files.join("leaf.pem");
    let revoked = outcome(chancery().args(["revoke", "--file"]).arg(leaf).arg("--data-dir").arg(place.path()));
    assert!(revoked.code == 0 && revoked.stdout.starts_with("1 revoked,"), "{revoked:?}");
}

#[test]
fn a_successor_is_vouched_for_before_it_issues() {
    let World { place, company_place, mut dev, account } = World::begin();
    let files = company_place.path();
    let said = |args: &[&str]| outcome(chancery().args(args).arg("--data-dir").arg(place.path()));
    let shown = |ca: &str| -> Value { json_in(place.path(), &["ca", "show", ca]) };
    let chain = vouched_for(files, place.path(), CA, 400);
    assert_eq!(said(&["ca", "add-chain", CA, "--file", &chain]).code, 0);
    assert_eq!(shown(CA)["preferred_chain"], Value::Null);
    let preferred = said(&["ca", "prefer-chain", CA, "2"]);
    assert!(preferred.stdout.contains(&format!("that ask for none are given chain 2, up to {ROOT};")), "{preferred:?}");
    assert_eq!(shown(CA)["preferred_chain"], 2);
    assert!(said(&["ca", "show", CA]).stdout.contains(", preferred)"));
    let rotated = said(&["ca", "rotate", CA]);
    assert!(rotated.line(1).contains("`ca create --inactive`"), "{rotated:?}");

    let made = json_in(place.path(), &["ca", "create", "--kind", "ec-p256", "--inactive"]);
    assert_eq!((&made["name"], &made["state"]), (&json!("Chancery Dev Issuing CA E3"), &json!("retired")));
    let successor = made["name"].as_str().unwrap();
    let chain = vouched_for(files, place.path(), successor, 400);
    assert_eq!(said(&["ca", "add-chain", successor, "--file", &chain, "--prefer"]).code, 0);
    assert_eq!(said(&["ca", "activate", successor]).code, 0);
    assert_eq!(said(&["ca", "retire", CA]).code, 0);
    let revoked = said(&["ca", "revoke-issuer", CA, "--reason", "superseded", "--yes"]);
    assert!(
        revoked.stdout.contains("\nCN=Company Policy CA,O=Company vouches for it as well (chain 2)"),
        "{revoked:?}"
    );
    let began = Instant::now();
    loop {
        let (_, chain) = issue(&mut dev, &account);
        fs::write(files.join("leaf.pem"), &chain).unwrap();
        if openssl(files, &["x509", "-noout", "-issuer", "-in", "leaf.pem"]).contains("CN = Chancery Dev Issuing CA E3")
        {
            return verify(files, &chain);
        }
        assert!(began.elapsed() < GENEROUS, "{}", dev.process.log());
    }
}
