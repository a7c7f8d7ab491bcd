//! Certificates from a `chancery dev --skip-validation`, ordered as a reseller orders them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::*;

/// An order that became a certificate.
pub struct Ordered {
    pub order: String,
    pub certificate: String,
    /// The certificate and its issuer, in PEM.
    pub chain: String,
}

pub fn openssl(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("openssl").current_dir(folder).args(arguments).output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Asks until the answer is there.
#[track_caller]
pub fn until(dev: &Dev, path: &str, method: &str, status: u16) -> Answer {
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
pub fn post(dev: &Dev, path: &str, body: &Value) -> Value {
    let answer = dev.curl(path, &["-H", "Content-Type: application/json", "-d", &body.to_string()]);
    assert!((200..300).contains(&answer.status), "{path}: {answer:?}");
    answer.json()
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A certificate for a name, on a new account.
#[track_caller]
pub fn certificate(dev: &Dev, work: &Path, name: &str) -> Ordered {
    let request = ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/"];
    let san = format!("subjectAltName=DNS:{name}");
    openssl(work, &[&request[..], &["-addext", &san, "-out", "csr.pem"]].concat());
    let csr = fs::read_to_string(work.join("csr.pem")).unwrap();
    let account = post(dev, "/v1/account", &json!({"customer_email": format!("a@{name}")}));
    let order = post(dev, "/v1/order", &json!({"account_lookup": account["lookup"], "csr": csr}));
    let authorization = text(&order["authorizations"][0]["lookup"]);
    let codes = post(dev, &format!("/v1/authz/{authorization}/challenges"), &json!({}));
    post(dev, &format!("/v1/challenge/{}", text(&codes["challenges"][0]["lookup"])), &json!({}));
    let (lookup, certificate) = (text(&order["lookup"]), text(&order["certificateLookup"]));
    until(dev, &format!("/v1/order/{lookup}/finalize"), "POST", 202);
    let chain = until(dev, &format!("/v1/certificate/{certificate}"), "GET", 200).body;
    Ordered { order: lookup, certificate, chain }
}
