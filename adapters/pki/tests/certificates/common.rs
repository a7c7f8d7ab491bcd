//! A small hierarchy to look at.

use std::sync::Arc;

use chancery_domain::{Entropy, Identifier};
use chancery_pki::{
    CaName, CaPolicy, Certificate, Issuer, IssuingCa, KeyAlgorithm, PrivateKey, Serial, ServerCertificate, Signer,
    Validity, issuing, root, server_certificate,
};

/// 2026-01-01T00:00:00Z.
pub(crate) const NOW: i64 = 1_767_225_600;
pub(crate) const CA_ISSUERS: &str = "http://ca.example/root.cer";
pub(crate) const CRL: &str = "http://ca.example/root.crl";

pub(crate) struct System;

impl Entropy for System {
    fn fill(&self, bytes: &mut [u8]) {
        aws_lc_rs::rand::fill(bytes).expect("randomness");
    }
}

pub(crate) struct Hierarchy {
    pub(crate) root: Issuer,
    pub(crate) issuing: Issuer,
    pub(crate) server: Certificate,
}

pub(crate) fn key(algorithm: KeyAlgorithm) -> Arc<PrivateKey> {
    Arc::new(PrivateKey::generate(algorithm).expect("a key"))
}

pub(crate) fn name(common_name: &str) -> CaName {
    CaName::new("XX", "Chancery Tests, \"Ä\"", common_name).expect("a name")
}

pub(crate) fn serial() -> Serial {
    Serial::draw(&System)
}

pub(crate) fn days(days: u32) -> Validity {
    Validity::days(NOW, days).expect("a period")
}

pub(crate) fn names(names: &[&str]) -> Vec<Identifier> {
    names.iter().map(|name| Identifier::parse(name).expect("an identifier")).collect()
}

pub(crate) fn root_of(key: &Arc<PrivateKey>) -> Issuer {
    let certificate = root(&**key, &name("Test Root"), days(3650), serial()).expect("a root");
    Issuer::new(certificate, key.clone()).expect("an issuer")
}

pub(crate) fn issuing_of(root: &Issuer, key: &Arc<PrivateKey>) -> Issuer {
    let certificate = issuing(
        root,
        &IssuingCa {
            subject: &name("Test Issuing CA 1"),
            spki: key.spki(),
            validity: days(1825),
            serial: serial(),
            policy: CaPolicy::DomainValidated,
            purposes: &[],
            ca_issuers_url: Some(CA_ISSUERS),
            crl_url: Some(CRL),
        },
    );
    Issuer::new(certificate.expect("an issuing CA"), key.clone()).expect("an issuer")
}

pub(crate) fn server_of(issuer: &Issuer, key: &PrivateKey) -> Certificate {
    let names = names(&["localhost", "ca.example", "127.0.0.1", "::1", "localhost"]);
    let server = ServerCertificate { names: &names, spki: key.spki(), validity: days(90), serial: serial() };
    server_certificate(issuer, &server).expect("a server certificate")
}

pub(crate) fn hierarchy(root: KeyAlgorithm, issuing: KeyAlgorithm, server: KeyAlgorithm) -> Hierarchy {
    let root = root_of(&key(root));
    let issuing = issuing_of(&root, &key(issuing));
    let server = server_of(&issuing, &key(server));
    Hierarchy { root, issuing, server }
}
