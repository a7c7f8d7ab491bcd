//! Keys and CSRs as customers make them: with OpenSSL.

use std::process::Command;

use chancery_jose::{SigningKey, base64url};

/// A CSR for these names with a new P-256 key.
pub fn csr(names: &[&str]) -> String {
    csr_with("ec-p256", names)
}

/// A CSR for a name that this key has signed, in base64url of its DER.
pub fn csr_by(key: &SigningKey, name: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("key.der");
    std::fs::write(&file, key.to_pkcs8().expect("PKCS #8").as_slice()).expect("a file");
    let output = Command::new("openssl")
        .args(["req", "-new", "-subj", "/", "-outform", "DER", "-keyform", "DER", "-addext"])
        .arg(format!("subjectAltName=DNS:{name}"))
        .arg("-key")
        .arg(&file)
        .output()
        .expect("openssl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    base64url::encode(&output.stdout)
}

/// A CSR for these names with a new key of this kind.
pub fn csr_with(key_type: &str, names: &[&str]) -> String {
    let key_options = match key_type {
        "ec-p256" => ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        "ec-p384" => ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
        "rsa-2048" => ["rsa", "-pkeyopt", "rsa_keygen_bits:2048"],
        other => panic!("no {other} in these tests"),
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let key = folder.path().join("key.pem");
    let alternative: Vec<_> = names
        .iter()
        .map(|name| if name.parse::<std::net::IpAddr>().is_ok() { format!("IP:{name}") } else { format!("DNS:{name}") })
        .collect();
    let output = Command::new("openssl")
        .args(["req", "-new", "-nodes", "-subj", "/", "-newkey"])
        .args(key_options)
        .arg("-keyout")
        .arg(&key)
        .args(["-addext", &format!("subjectAltName={}", alternative.join(","))])
        .output()
        .expect("openssl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("PEM")
}
