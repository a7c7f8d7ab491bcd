//! Certificates as servers show them for tls-alpn-01, made by OpenSSL.

use std::fs;

use crate::common::openssl;
use chancery_domain::Identifier;
use chancery_pki::{AcmeIdentifierProblem as Problem, check_acme_identifier};

const DIGEST: [u8; 32] = [0xab; 32];

/// A self-signed certificate with these extensions, in DER.
fn certificate(extensions: &[&str]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = vec!["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
    arguments.extend(["-keyout", "key.pem", "-out", "c.der", "-outform", "DER", "-subj", "/", "-days", "1"]);
    arguments.extend(extensions.iter().flat_map(|extension| ["-addext", extension]));
    openssl(dir.path(), &arguments);
    fs::read(dir.path().join("c.der")).unwrap()
}

fn acme(critical: &str, content: &str) -> String {
    format!("1.3.6.1.5.5.7.1.31={critical}DER:{content}")
}

fn good() -> String {
    acme("critical,", &format!("0420{}", "ab".repeat(32)))
}

fn check(name: &str, extensions: &[&str]) -> Result<(), Problem> {
    check_acme_identifier(&certificate(extensions), &Identifier::parse(name).unwrap(), &DIGEST)
}

#[test]
fn the_right_certificate_passes_for_names_and_addresses() {
    assert_eq!(check("example.com", &["subjectAltName=DNS:example.com", &good()]), Ok(()));
    assert_eq!(check("example.com", &["subjectAltName=critical,DNS:EXAMPLE.com", &good()]), Ok(()));
    assert_eq!(check("192.0.2.1", &["subjectAltName=IP:192.0.2.1", &good()]), Ok(()));
    assert_eq!(check("2001:db8::1", &["subjectAltName=IP:2001:db8::1", &good()]), Ok(()));
}

#[test]
fn other_names_more_names_and_none_are_refused() {
    let wrong = |name: &str, names: &[&str]| {
        let extensions: Vec<_> = names.iter().copied().chain([good().leak() as &str]).collect();
        assert!(matches!(check(name, &extensions), Err(Problem::Names { .. })), "{names:?}");
    };
    wrong("example.com", &["subjectAltName=DNS:www.example.com"]);
    wrong("example.com", &["subjectAltName=DNS:example.com,DNS:www.example.com"]);
    wrong("example.com", &["subjectAltName=DNS:example.com,IP:192.0.2.1"]);
    wrong("example.com", &["subjectAltName=DNS:*.example.com"]);
    wrong("example.com", &[]);
    wrong("192.0.2.1", &["subjectAltName=DNS:192.0.2.1"]);
    wrong("192.0.2.1", &["subjectAltName=IP:192.0.2.2"]);
}

#[test]
fn the_extension_must_be_there_critical_and_right() {
    let san = "subjectAltName=DNS:example.com";
    assert_eq!(check("example.com", &[san]), Err(Problem::Extensions(0)));
    let optional = acme("", &format!("0420{}", "ab".repeat(32)));
    assert_eq!(check("example.com", &[san, &optional]), Err(Problem::NotCritical));
    for malformed in ["0500".to_owned(), format!("041f{}", "ab".repeat(31)), format!("0420{}00", "ab".repeat(32))] {
        assert_eq!(check("example.com", &[san, &acme("critical,", &malformed)]), Err(Problem::Malformed));
    }
    let other = acme("critical,", &format!("0420{}", "cd".repeat(32)));
    let expected = Problem::Digest { expected: "ab".repeat(32), found: "cd".repeat(32) };
    assert_eq!(check("example.com", &[san, &other]), Err(expected));
    let name = Identifier::parse("example.com").unwrap();
    assert_eq!(check_acme_identifier(b"no certificate", &name, &DIGEST), Err(Problem::NotACertificate));
}
