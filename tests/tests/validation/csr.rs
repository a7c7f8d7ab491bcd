//! Keys and CSRs as customers make them: with OpenSSL.

use std::process::Command;

/// A CSR for these names with a new P-256 key.
pub(crate) fn csr(names: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key.pem");
    let alternative: Vec<_> = names
        .iter()
        .map(|name| if name.parse::<std::net::IpAddr>().is_ok() { format!("IP:{name}") } else { format!("DNS:{name}") })
        .collect();
    let output = Command::new("openssl")
        .args(["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/"])
        .arg("-keyout")
        .arg(&key)
        .args(["-addext", &format!("subjectAltName={}", alternative.join(","))])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
