//! What relying parties get from the running service, by the clock on the wall.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::*;

fn openssl(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("openssl").current_dir(folder).args(arguments).output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Asks until the answer is there.
#[track_caller]
fn until(dev: &Dev, path: &str, method: &str, status: u16) -> Answer {
    let began = Instant::now();
    loop {
        let answer = dev.curl(path, &["-X", method]);
        if answer.status == status {
            return answer;
        }
        assert!(began.elapsed() < GENEROUS, "{answer:?}\n{}", dev.process.log());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn post(dev: &Dev, path: &str, body: &Value) -> Value {
    let answer = dev.curl(path, &["-H", "Content-Type: application/json", "-d", &body.to_string()]);
    assert!((200..300).contains(&answer.status), "{path}: {answer:?}");
    answer.json()
}

#[test]
fn a_revocation_shows_within_five_seconds() {
    let (place, work) = (folder(), folder());
    let dev = Dev::start_with(place.path(), &["--skip-validation"]);
    let work = work.path();
    let request = ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/"];
    openssl(work, &[&request[..], &["-addext", "subjectAltName=DNS:a.test", "-out", "csr.pem"]].concat());
    let csr = fs::read_to_string(work.join("csr.pem")).unwrap();
    let account = post(&dev, "/v1/account", &json!({"customer_email": "a@example.com"}));
    let order = post(&dev, "/v1/order", &json!({"account_lookup": account["lookup"], "csr": csr}));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let authorization = text(&order["authorizations"][0]["lookup"]);
    let codes = post(&dev, &format!("/v1/authz/{authorization}/challenges"), &json!({}));
    post(&dev, &format!("/v1/challenge/{}", text(&codes["challenges"][0]["lookup"])), &json!({}));
    let order_path = format!("/v1/order/{}", text(&order["lookup"]));
    until(&dev, &format!("{order_path}/finalize"), "POST", 202);
    let chain = until(&dev, &format!("/v1/certificate/{}", text(&order["certificateLookup"])), "GET", 200).body;
    let issuer = &chain[chain.rfind("-----BEGIN").unwrap()..];
    let root = fs::read_to_string(dev.value("issuer_bundle")).unwrap();
    for (name, pem) in [("leaf.pem", chain.as_str()), ("issuer.pem", issuer), ("root.pem", &root)] {
        fs::write(work.join(name), pem).unwrap();
    }
    fs::write(work.join("trusted.pem"), root + issuer).unwrap();

    let verify =
        ["verify", "-CAfile", "root.pem", "-untrusted", "issuer.pem", "-crl_check", "-crl_download", "leaf.pem"];
    let url = openssl(work, &["x509", "-in", "leaf.pem", "-noout", "-ocsp_uri"]);
    let status = ["ocsp", "-CAfile", "trusted.pem", "-issuer", "issuer.pem", "-cert", "leaf.pem", "-url", url.trim()];
    assert_eq!(openssl(work, &verify), "leaf.pem: OK\n");
    let good = openssl(work, &status);
    assert!(good.contains("Response verify OK") && good.contains("leaf.pem: good"), "{good}");

    let path = format!("/v1/certificates/{}/revocation", text(&order["lookup"]));
    post(&dev, &path, &json!({"reason": "keyCompromise"}));
    let revoked = Instant::now();
    while !openssl(work, &verify).contains("certificate revoked") {
        assert!(revoked.elapsed() < GENEROUS, "{}", dev.process.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    let took = revoked.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    let bad = openssl(work, &status);
    assert!(bad.contains("leaf.pem: revoked") && bad.contains("Reason: keyCompromise"), "{bad}");
}
