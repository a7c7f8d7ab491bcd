//! Revocation lists.

use crate::common::{Ca, DAY, NOW, openssl, pem, serial, subscriber_key};
use chancery_domain::RevocationReason;
use chancery_pki::{
    Certificate, Crl, CrlContents, CrlError, CrlScope, Issuer, KeyAlgorithm, PkiError, RevokedCertificate,
    SubscriberProfile,
};
use x509_parser::{
    extensions::{DistributionPointName, GeneralName, ParsedExtension},
    prelude::{CertificateRevocationList, FromDer},
    x509::ReasonCode,
};

fn shard_url(ca: &Ca, certificate: &Certificate) -> String {
    ca.urls.crl.as_ref().unwrap().url_of(&Ca::serial_of(certificate))
}

fn revoked(certificate: &Certificate, reason: RevocationReason) -> RevokedCertificate {
    RevokedCertificate { serial: Ca::serial_of(certificate), revoked_at: NOW - 60, reason, ca: false }
}

fn list(issuer: &Issuer, scope: CrlScope<'_>, revoked: &[RevokedCertificate]) -> Vec<u8> {
    let contents = CrlContents { scope, number: 7, this_update: NOW - 10, next_update: NOW + 7 * DAY, revoked };
    Crl::sign(issuer, &contents).unwrap().into_der()
}

#[test]
fn openssl_refuses_what_is_listed_and_accepts_what_is_not() {
    for algorithm in [KeyAlgorithm::EcP256, KeyAlgorithm::EcP384, KeyAlgorithm::Rsa2048] {
        let ca = Ca::new(algorithm);
        let certificate = ca.issue(&SubscriberProfile::tls(90), &subscriber_key(KeyAlgorithm::EcP256));
        let url = shard_url(&ca, &certificate);
        let roots = list(&ca.root, CrlScope::Full, &[]);
        let check = |list: &[u8], roots: &[u8]| ca.openssl_accepts(&certificate, &[list, roots], &["-crl_check_all"]);
        let empty = list(&ca.issuer, CrlScope::Shard(&url), &[]);
        assert_eq!(check(&empty, &roots), Ok(()));
        let other = RevokedCertificate { serial: serial(), ..revoked(&certificate, RevocationReason::Superseded) };
        assert_eq!(check(&list(&ca.issuer, CrlScope::Shard(&url), &[other]), &roots), Ok(()));

        let listed = [other, revoked(&certificate, RevocationReason::KeyCompromise)];
        let listed = list(&ca.issuer, CrlScope::Shard(&url), &listed);
        assert!(check(&listed, &roots).unwrap_err().contains("certificate revoked"));
        let issuer = revoked(ca.issuer.certificate(), RevocationReason::CessationOfOperation);
        let roots_listed = list(&ca.root, CrlScope::Full, &[issuer]);
        assert!(check(&empty, &roots_listed).unwrap_err().contains("certificate revoked"));
    }
}

#[test]
fn webpki_refuses_what_is_listed_and_takes_no_shard_for_another() {
    for algorithm in [KeyAlgorithm::EcP256, KeyAlgorithm::EcP384, KeyAlgorithm::Rsa2048] {
        let ca = Ca::new(algorithm);
        let certificate = ca.issue(&SubscriberProfile::tls(90), &subscriber_key(KeyAlgorithm::EcP256));
        let url = shard_url(&ca, &certificate);
        let check = |url: &str, revoked: &[RevokedCertificate]| {
            ca.webpki_accepts_with(&certificate, "example.com", Some(&list(&ca.issuer, CrlScope::Shard(url), revoked)))
        };
        assert_eq!(check(&url, &[]), Ok(()));
        let listed = revoked(&certificate, RevocationReason::Superseded);
        assert_eq!(check(&url, &[listed]).unwrap_err(), "CertRevoked");
        assert_eq!(check("http://crl.example.com/issuing/99.crl", &[]).unwrap_err(), "UnknownRevocationStatus");
    }
}

#[test]
fn a_list_of_another_shard_does_not_pass_for_this_one() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let certificate = ca.issue(&SubscriberProfile::tls(90), &subscriber_key(KeyAlgorithm::EcP256));
    let check = |url: &str| {
        let list = list(&ca.issuer, CrlScope::Shard(url), &[]);
        ca.openssl_accepts(&certificate, &[&list], &["-crl_check"])
    };
    assert_eq!(check(&shard_url(&ca, &certificate)), Ok(()));
    assert!(check("http://crl.example.com/issuing/99.crl").is_err());
    // Nor does an altered one, or one of another issuer.
    let url = shard_url(&ca, &certificate);
    let mut altered = list(&ca.issuer, CrlScope::Shard(&url), &[]);
    *altered.last_mut().unwrap() ^= 1;
    assert!(ca.openssl_accepts(&certificate, &[&altered], &["-crl_check"]).is_err());
    let foreign = list(&Ca::new(KeyAlgorithm::EcP256).issuer, CrlScope::Shard(&url), &[]);
    assert!(ca.openssl_accepts(&certificate, &[&foreign], &["-crl_check"]).is_err());
}

#[test]
fn a_list_says_what_it_must_and_its_entries_are_sorted() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let url = "http://crl.example.com/issuing/2.crl";
    let entries: Vec<_> = RevocationReason::ALL
        .iter()
        .zip(0..)
        .map(|(reason, at)| RevokedCertificate { serial: serial(), revoked_at: NOW - at, reason: *reason, ca: false })
        .collect();
    let der = list(&ca.issuer, CrlScope::Shard(url), &entries);
    let (rest, read) = CertificateRevocationList::from_der(&der).unwrap();
    assert!(rest.is_empty());
    assert_eq!(read.version().map(|version| version.0), Some(1));
    assert_eq!(read.last_update().timestamp(), NOW - 10);
    assert_eq!(read.next_update().map(|time| time.timestamp()), Some(NOW + 7 * DAY));
    let serials: Vec<_> = read.iter_revoked_certificates().map(|entry| entry.raw_serial().to_vec()).collect();
    assert!(serials.is_sorted() && serials.len() == entries.len());
    for entry in read.iter_revoked_certificates() {
        let wanted = entries.iter().find(|wanted| wanted.serial.as_bytes() == entry.raw_serial()).unwrap();
        assert_eq!(entry.revocation_date.timestamp(), wanted.revoked_at);
        let code = entry.reason_code().map_or(0, |(_, ReasonCode(code))| code);
        assert_eq!(code, wanted.reason.code());
        let left_out = wanted.reason == RevocationReason::Unspecified;
        assert_eq!(entry.extensions().is_empty(), left_out, "{}", wanted.reason);
    }
    let extensions: Vec<_> = read.extensions().iter().map(|e| (e.oid.to_id_string(), e.critical)).collect();
    let expected = [("2.5.29.35", false), ("2.5.29.20", false), ("2.5.29.28", true)];
    assert_eq!(extensions, expected.map(|(oid, critical)| (oid.to_owned(), critical)));
    assert_eq!(read.crl_number().map(ToString::to_string).as_deref(), Some("7"));
    let ParsedExtension::IssuingDistributionPoint(point) = read.extensions()[2].parsed_extension() else {
        panic!("no distribution point");
    };
    assert!(point.only_contains_user_certs && !point.only_contains_ca_certs && !point.indirect_crl);
    let Some(DistributionPointName::FullName(names)) = &point.distribution_point else { panic!("no name") };
    assert_eq!(names[..], [GeneralName::URI(url)]);

    let full = list(&ca.root, CrlScope::Full, &[]);
    let (_, full) = CertificateRevocationList::from_der(&full).unwrap();
    assert_eq!(full.extensions().len(), 2, "a full list has no distribution point");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("list.pem"), pem("X509 CRL", &der)).unwrap();
    let text = openssl(dir.path(), &["crl", "-noout", "-text", "-in", "list.pem"]);
    assert!(text.contains("Key Compromise") && text.contains("Only User Certificates"), "{text}");
}

#[test]
fn a_list_that_stands_too_long_or_names_a_certificate_twice_is_not_made() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let entry =
        RevokedCertificate { serial: serial(), revoked_at: NOW, reason: RevocationReason::Superseded, ca: false };
    let make = |scope, lasts, revoked: &[RevokedCertificate]| {
        let contents = CrlContents { scope, number: 1, this_update: NOW, next_update: NOW + lasts, revoked };
        match Crl::sign(&ca.issuer, &contents) {
            Ok(_) => Ok(()),
            Err(PkiError::Crl(error)) => Err(error),
            Err(other) => panic!("{other}"),
        }
    };
    let shard = CrlScope::Shard("http://crl.example.com/1.crl");
    assert_eq!(make(shard, 10 * DAY, &[entry]), Ok(()));
    assert_eq!(make(shard, 10 * DAY + 1, &[]), Err(CrlError::NextUpdate { max_days: 10 }));
    assert_eq!(make(shard, 0, &[]), Err(CrlError::NextUpdate { max_days: 10 }));
    assert_eq!(make(CrlScope::Full, 365 * DAY, &[]), Ok(()));
    assert_eq!(make(CrlScope::Full, 366 * DAY, &[]), Err(CrlError::NextUpdate { max_days: 365 }));
    assert_eq!(make(shard, DAY, &[entry, entry]), Err(CrlError::Duplicate(entry.serial)));
    let contents = CrlContents {
        scope: CrlScope::Shard("https://x"),
        number: 1,
        this_update: NOW,
        next_update: NOW + 1,
        revoked: &[],
    };
    assert!(matches!(Crl::sign(&ca.issuer, &contents), Err(PkiError::Url(_))));
}
