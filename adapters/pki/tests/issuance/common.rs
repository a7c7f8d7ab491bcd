//! A CA to issue with.

use std::{fs, path::Path, process::Command, sync::Arc, time::Duration};

use chancery_domain::{Entropy, Identifier};
use chancery_pki::{
    CaName, CaPolicy, Certificate, CrlShards, Draft, Issuer, IssuerUrls, IssuingCa, KeyAlgorithm, Period, PeriodWish,
    PrivateKey, Serial, Signer, SubscriberKey, SubscriberProfile, Terms, Validity, issuing, root,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

/// 2026-06-01T00:00:00Z.
pub(crate) const NOW: i64 = 1_780_272_000;
pub(crate) const DAY: i64 = 86_400;
pub(crate) const NAMES: [&str; 5] =
    ["example.com", "*.example.com", "xn--bcher-kva.example.net", "1.1.1.1", "2606:4700::1111"];

pub(crate) struct System;

impl Entropy for System {
    fn fill(&self, bytes: &mut [u8]) {
        aws_lc_rs::rand::fill(bytes).expect("randomness");
    }
}

pub(crate) struct Ca {
    pub(crate) root: Issuer,
    pub(crate) issuer: Issuer,
    pub(crate) urls: IssuerUrls,
    pub(crate) now: i64,
}

pub(crate) fn serial() -> Serial {
    Serial::draw(&System)
}

pub(crate) fn key(algorithm: KeyAlgorithm) -> Arc<PrivateKey> {
    Arc::new(PrivateKey::generate(algorithm).unwrap())
}

pub(crate) fn subscriber_key(algorithm: KeyAlgorithm) -> SubscriberKey {
    SubscriberKey::from_spki(key(algorithm).spki()).unwrap()
}

pub(crate) fn ca_name(common_name: &str) -> CaName {
    CaName::new("DE", "Chancery Tests", common_name).unwrap()
}

pub(crate) fn identifiers(names: &[&str]) -> Vec<Identifier> {
    names.iter().map(|name| Identifier::parse(name).unwrap()).collect()
}

impl Ca {
    pub(crate) fn new(algorithm: KeyAlgorithm) -> Self {
        Self::at(algorithm, NOW)
    }

    /// A CA that was made a day before this time.
    pub(crate) fn at(algorithm: KeyAlgorithm, now: i64) -> Self {
        let validity = |days| Validity::days(now - DAY, days).unwrap();
        let (root_key, issuer_key) = (key(KeyAlgorithm::EcP384), key(algorithm));
        let root = root(&*root_key, &ca_name("Test Root"), validity(3650), serial()).unwrap();
        let root = Issuer::new(root, root_key).unwrap();
        let issuer = IssuingCa {
            subject: &ca_name("Test Issuing CA 1"),
            spki: issuer_key.spki(),
            validity: validity(1825),
            serial: serial(),
            policy: CaPolicy::DomainValidated,
            purposes: &[],
            ca_issuers_url: Some("http://ca.example.com/root.cer"),
            crl_url: Some("http://ca.example.com/root.crl"),
        };
        let issuer = Issuer::new(issuing(&root, &issuer).unwrap(), issuer_key).unwrap();
        let urls = IssuerUrls {
            ca_issuers: Some("http://ca.example.com/issuing.cer".to_owned()),
            ocsp: Some("http://ocsp.example.com/issuing".to_owned()),
            crl: Some(CrlShards::new("http://crl.example.com/issuing", 4)),
        };
        Self { root, issuer, urls, now }
    }

    /// The whole way to a certificate for [`NAMES`].
    pub(crate) fn issue(&self, profile: &SubscriberProfile, key: &SubscriberKey) -> Certificate {
        self.issue_for(profile, key, &NAMES)
    }

    pub(crate) fn issue_for(&self, profile: &SubscriberProfile, key: &SubscriberKey, names: &[&str]) -> Certificate {
        assert_eq!(profile.contradictions(), [""; 0]);
        let names = identifiers(names);
        let Self { issuer, urls, now, .. } = self;
        let period = Period::plan(profile, issuer, &PeriodWish::default(), *now).unwrap();
        let terms = Terms { issuer, profile, urls, names: &names, key, now: *now };
        let draft = Draft::subscriber(&terms, period.validity, serial(), None).unwrap();
        let stored = draft.tbs_der().to_vec();
        let linted = draft.lint(&terms).unwrap();
        let signed = issuer.sign(linted).unwrap();
        assert!(signed.certificate().as_der().windows(stored.len()).any(|window| window == stored));
        signed.certificate().clone()
    }

    pub(crate) fn serial_of(certificate: &Certificate) -> Serial {
        let hex = certificate.info().unwrap().serial;
        Serial::from_bytes(&data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap()).unwrap()
    }

    pub(crate) fn webpki_accepts(&self, certificate: &Certificate, name: &str) -> Result<(), String> {
        self.webpki_accepts_with(certificate, name, None)
    }

    /// Verifies with this revocation list of the issuer, if there is one.
    pub(crate) fn webpki_accepts_with(
        &self,
        certificate: &Certificate,
        name: &str,
        list: Option<&[u8]>,
    ) -> Result<(), String> {
        let root = CertificateDer::from(self.root.certificate().as_der());
        let anchors = [webpki::anchor_from_trusted_cert(&root).map_err(|e| e.to_string())?];
        let intermediates = [CertificateDer::from(self.issuer.certificate().as_der())];
        let certificate = CertificateDer::from(certificate.as_der());
        let certificate = webpki::EndEntityCert::try_from(&certificate).map_err(|e| e.to_string())?;
        let at = UnixTime::since_unix_epoch(Duration::from_secs(self.now.unsigned_abs()));
        let list = list.map(|list| webpki::BorrowedCertRevocationList::from_der(list).map_err(|e| e.to_string()));
        let list = list.transpose()?.map(webpki::CertRevocationList::from);
        let lists: Vec<_> = list.iter().collect();
        let revocation = webpki::RevocationOptionsBuilder::new(&lists).ok().map(|options| {
            let options = options.with_depth(webpki::RevocationCheckDepth::EndEntity);
            options.with_expiration_policy(webpki::ExpirationPolicy::Enforce).build()
        });
        let usage = webpki::KeyUsage::server_auth();
        certificate
            .verify_for_usage(webpki::ALL_VERIFICATION_ALGS, &anchors, &intermediates, at, usage, revocation, None)
            .map_err(|e| e.to_string())?;
        let name = ServerName::try_from(name).map_err(|e| e.to_string())?;
        certificate.verify_is_valid_for_subject_name(&name).map_err(|e| e.to_string())
    }

    /// Verifies strictly with OpenSSL, with these revocation lists if there are any.
    pub(crate) fn openssl_accepts(
        &self,
        certificate: &Certificate,
        lists: &[&[u8]],
        arguments: &[&str],
    ) -> Result<(), String> {
        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(dir.path().join(file), text).unwrap();
        write("root.pem", &self.root.certificate().to_pem());
        write("issuer.pem", &self.issuer.certificate().to_pem());
        write("certificate.pem", &certificate.to_pem());
        let lists: Vec<_> = lists.iter().map(|list| pem("X509 CRL", list)).collect();
        write("lists.pem", &lists.concat());
        let at = self.now.to_string();
        let mut command = Command::new("openssl");
        command.current_dir(dir.path()).args(["verify", "-x509_strict", "-no-CApath", "-no-CAstore", "-attime", &at]);
        command.args(["-CAfile", "root.pem", "-untrusted", "issuer.pem", "-purpose", "sslserver"]).args(arguments);
        if !lists.is_empty() {
            command.args(["-CRLfile", "lists.pem"]);
        }
        let output = command.arg("certificate.pem").output().expect("openssl");
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }
}

pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    der::pem::encode_string(label, der::pem::LineEnding::LF, der).unwrap()
}

/// Runs `openssl` in this folder and gives what it printed.
pub(crate) fn openssl(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("openssl").current_dir(dir).args(arguments).output().expect("openssl");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "openssl {arguments:?}: {text}");
    text
}
