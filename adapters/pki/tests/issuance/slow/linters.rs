//! An independent linter (pkilint) finds nothing above a notice.
//!
//! Where its programs are is told by `CHANCERY_TEST_PKILINT`; without it nothing is tested here, unless
//! `CHANCERY_REQUIRE_TOOLS` is set.

use std::{env, fs, path::PathBuf, process::Command};

use crate::common::{Ca, DAY, NOW, key, serial, subscriber_key};
use chancery_domain::RevocationReason;
use chancery_pki::{
    Certificate, CertificateStatus, Crl, CrlContents, CrlScope, KeyAlgorithm, OcspRequest, OcspTimes,
    RevokedCertificate, SubscriberProfile,
};

/// The folder with pkilint's programs.
fn pkilint() -> Option<PathBuf> {
    let folder = env::var_os("CHANCERY_TEST_PKILINT").map(PathBuf::from);
    if folder.is_none() {
        assert!(env::var_os("CHANCERY_REQUIRE_TOOLS").is_none(), "CHANCERY_TEST_PKILINT is not set");
        println!("skipped: CHANCERY_TEST_PKILINT is not set");
    }
    folder
}

/// What a program of pkilint finds that is worse than a notice.
fn findings(program: &str, arguments: &[&str], der: &[u8]) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("document.der");
    fs::write(&file, der).unwrap();
    let output = Command::new(pkilint()?.join(program))
        .args(["lint", "-s", "WARNING", "--document-format", "DER"])
        .args(arguments)
        .arg(&file)
        .output()
        .expect("pkilint");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned();
    assert!(output.status.success() || !text.is_empty(), "{program} failed without a word");
    Some(text)
}

fn assert_clean(program: &str, arguments: &[&str], der: &[u8]) {
    if let Some(found) = findings(program, arguments, der) {
        assert_eq!(found, "", "{program} {arguments:?}");
    }
}

fn certificate(kind: &str, certificate: &Certificate) {
    assert_clean("lint_cabf_serverauth_cert", &["-t", kind], certificate.as_der());
}

/// Whether the linter is there and really runs: an altered certificate must not pass.
#[test]
fn the_linter_finds_what_is_wrong() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let good = ca.issue(&SubscriberProfile::tls(90), &subscriber_key(KeyAlgorithm::EcP256));
    let mut bad = good.as_der().to_vec();
    let at = bad.windows(11).rposition(|window| window == b"example.com").unwrap();
    bad[at] = b'_';
    if let Some(found) = findings("lint_cabf_serverauth_cert", &["-t", "DV-FINAL-CERTIFICATE"], &bad) {
        assert!(found.contains("ERROR"), "{found}");
    }
}

#[test]
fn certificates_of_every_profile_and_key_are_clean() {
    let tls = SubscriberProfile::tls(90);
    for (issuer, subscriber, profile) in [
        (KeyAlgorithm::EcP256, KeyAlgorithm::EcP256, &tls),
        (KeyAlgorithm::EcP384, KeyAlgorithm::EcP384, &SubscriberProfile::tls(199)),
        (KeyAlgorithm::Rsa2048, KeyAlgorithm::Rsa2048, &tls),
        (KeyAlgorithm::EcP256, KeyAlgorithm::Rsa4096, &tls),
        (KeyAlgorithm::EcP384, KeyAlgorithm::EcP256, &SubscriberProfile::tls(47)),
    ] {
        let ca = Ca::new(issuer);
        certificate("DV-FINAL-CERTIFICATE", &ca.issue(profile, &subscriber_key(subscriber)));
    }
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let key = subscriber_key(KeyAlgorithm::EcP256);
    certificate("DV-FINAL-CERTIFICATE", &ca.issue_for(&tls, &key, &["*.example.com"]));
    certificate("DV-FINAL-CERTIFICATE", &ca.issue_for(&tls, &key, &["1.1.1.1"]));
}

#[test]
fn choices_that_are_allowed_and_not_recommended_are_all_that_is_found() {
    let tls = SubscriberProfile::tls(90);
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let key = subscriber_key(KeyAlgorithm::Rsa2048);
    for (profile, warning) in [
        (
            SubscriberProfile { key_encipherment: true, ..tls.clone() },
            "subscriber_rsa_digitalsignature_and_keyencipherment_present",
        ),
        (SubscriberProfile { common_name: true, ..tls.clone() }, "dv.common_name_attribute_present"),
        (SubscriberProfile { subject_key_id: true, ..tls.clone() }, "subject_key_identifier_extension_present"),
    ] {
        let issued = ca.issue(&profile, &key);
        let Some(found) = findings("lint_cabf_serverauth_cert", &["-t", "DV-FINAL-CERTIFICATE"], issued.as_der())
        else {
            return;
        };
        assert!(found.contains(&format!("{warning} (WARNING)")), "{found}");
        assert!(found.matches("(WARNING)").count() == 1 && !found.contains("ERROR"), "{found}");
    }
}

#[test]
fn a_profile_with_everything_is_clean_by_rfc_5280() {
    let profile =
        SubscriberProfile { subject_key_id: true, common_name: true, public: false, ..SubscriberProfile::tls(800) };
    let ca = Ca::new(KeyAlgorithm::EcP256);
    // RFC 5280 knows no wildcards.
    let issued = ca.issue_for(&profile, &subscriber_key(KeyAlgorithm::EcP256), &["example.com", "1.1.1.1"]);
    assert_clean("lint_pkix_cert", &[], issued.as_der());
}

#[test]
fn the_hierarchy_is_clean() {
    for algorithm in [KeyAlgorithm::EcP256, KeyAlgorithm::EcP384, KeyAlgorithm::Rsa2048] {
        let ca = Ca::new(algorithm);
        certificate("ROOT-CA", ca.root.certificate());
        certificate("INTERNAL-UNCONSTRAINED-TLS-CA", ca.issuer.certificate());
        certificate("OCSP-RESPONDER", &crate::ocsp::responder_of(&ca, &key(algorithm)));
    }
}

#[test]
fn revocation_lists_are_clean() {
    let revoked: Vec<_> = RevocationReason::ALL
        .iter()
        .map(|reason| RevokedCertificate { serial: serial(), revoked_at: NOW - DAY, reason: *reason, ca: false })
        .collect();
    for algorithm in [KeyAlgorithm::EcP256, KeyAlgorithm::EcP384, KeyAlgorithm::Rsa2048] {
        let ca = Ca::new(algorithm);
        for revoked in [&revoked[..], &[]] {
            let scope = CrlScope::Shard("http://crl.example.com/issuing/2.crl");
            let contents = CrlContents { scope, number: 7, this_update: NOW, next_update: NOW + 10 * DAY, revoked };
            let list = Crl::sign(&ca.issuer, &contents).unwrap();
            assert_clean("lint_crl", &["-t", "CRL", "-p", "BR"], list.as_der());
        }
        let revoked = &revoked[5..];
        let contents =
            CrlContents { scope: CrlScope::Full, number: 7, this_update: NOW, next_update: NOW + 180 * DAY, revoked };
        let list = Crl::sign(&ca.root, &contents).unwrap();
        assert_clean("lint_crl", &["-t", "ARL", "-p", "BR"], list.as_der());
    }
}

#[test]
fn ocsp_responses_are_clean() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let responder = crate::ocsp::responder(&ca, &key(KeyAlgorithm::EcP256));
    let times = OcspTimes { produced_at: NOW, this_update: NOW, next_update: NOW + 7 * DAY };
    for status in [
        CertificateStatus::Good,
        CertificateStatus::Unknown,
        CertificateStatus::Revoked { at: NOW - 60, reason: RevocationReason::Superseded },
        CertificateStatus::Revoked { at: NOW - 60, reason: RevocationReason::Unspecified },
    ] {
        let request = OcspRequest::parse(&crate::ocsp::request_for(&ca, &serial())).unwrap();
        let response = responder.respond(&request, times, |_| status).unwrap();
        assert_clean("lint_ocsp_response", &[], &response);
    }
}
