//! Subscribers' certificates.

use crate::common::{Ca, NAMES, NOW, identifiers, serial, subscriber_key};
use aws_lc_rs::{
    encoding::{AsDer, PublicKeyX509Der},
    signature::{Ed25519KeyPair, KeyPair},
};
use chancery_domain::{Identifier, KeyType};
use chancery_pki::{
    Draft, IssuerError, IssuerUrls, KeyAlgorithm, NameError, NameRules, PkiError, Purpose, SubscriberKey,
    SubscriberProfile, Terms, Validity, chain_to_pkcs7,
};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

const EXAMPLES: [(&str, &str); 5] = [
    ("example.com", "-verify_hostname"),
    ("www.example.com", "-verify_hostname"),
    ("xn--bcher-kva.example.net", "-verify_hostname"),
    ("1.1.1.1", "-verify_ip"),
    ("2606:4700::1111", "-verify_ip"),
];

#[test]
fn certificates_of_every_issuer_for_every_key_verify() {
    use KeyAlgorithm::{EcP256, EcP384, Rsa2048, Rsa3072, Rsa4096};
    let keys = [EcP256, EcP384, Rsa2048, Rsa3072, Rsa4096].map(subscriber_key);
    for algorithm in [EcP256, EcP384, Rsa2048] {
        let ca = Ca::new(algorithm);
        for key in &keys {
            let certificate = ca.issue(&SubscriberProfile::tls(90), key);
            for (name, _) in EXAMPLES {
                assert_eq!(ca.webpki_accepts(&certificate, name), Ok(()), "{name}");
            }
            assert!(ca.webpki_accepts(&certificate, "other.example.org").is_err());
            let (name, option) = EXAMPLES[1];
            assert_eq!(ca.openssl_accepts(&certificate, &[], &[option, name]), Ok(()));
        }
    }
}

#[test]
fn openssl_finds_every_name_and_no_other() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let certificate = ca.issue(&SubscriberProfile::tls(90), &subscriber_key(KeyAlgorithm::EcP256));
    for (name, option) in EXAMPLES {
        assert_eq!(ca.openssl_accepts(&certificate, &[], &[option, name]), Ok(()), "{name}");
    }
    assert!(ca.openssl_accepts(&certificate, &[], &["-verify_hostname", "example.org"]).is_err());
    assert!(ca.openssl_accepts(&certificate, &[], &["-verify_ip", "1.1.1.2"]).is_err());
}

#[test]
fn every_choice_of_a_profile_shows_and_verifies() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let tls = SubscriberProfile::tls(90);
    let rsa = subscriber_key(KeyAlgorithm::Rsa2048);
    let text = |profile: &SubscriberProfile| {
        let certificate = ca.issue(profile, &rsa);
        assert_eq!(ca.webpki_accepts(&certificate, "example.com"), Ok(()));
        assert_eq!(ca.openssl_accepts(&certificate, &[], &[]), Ok(()));
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("c.pem"), certificate.to_pem()).unwrap();
        crate::common::openssl(dir.path(), &["x509", "-noout", "-text", "-in", "c.pem"])
    };
    let plain = text(&tls);
    for expected in [
        "Subject: \n",
        "X509v3 Subject Alternative Name: critical",
        "DNS:*.example.com, DNS:example.com, DNS:xn--bcher-kva.example.net, IP Address:1.1.1.1, IP Address:2606:4700:0:0:0:0:0:1111",
        "X509v3 Key Usage: critical\n                Digital Signature\n",
        "X509v3 Extended Key Usage: \n                TLS Web Server Authentication\n",
        "Policy: 2.23.140.1.2.1\n",
        "OCSP - URI:http://ocsp.example.com/issuing\n",
        "CA Issuers - URI:http://ca.example.com/issuing.cer\n",
        "URI:http://crl.example.com/issuing/",
        "Not Before: May 31 23:00:00 2026 GMT",
        "Not After : Aug 29 22:59:59 2026 GMT",
    ] {
        assert!(plain.contains(expected), "{expected:?} is not in\n{plain}");
    }
    assert!(!plain.contains("Subject Key Identifier") && !plain.contains("Basic Constraints"), "{plain}");

    let all = SubscriberProfile {
        key_encipherment: true,
        common_name: true,
        subject_key_id: true,
        backdate_seconds: 0,
        purposes: vec![Purpose::ServerAuth, Purpose::ClientAuth],
        public: false,
        ..tls
    };
    let all = text(&all);
    for expected in [
        "Subject: CN = example.com\n",
        "X509v3 Subject Alternative Name: \n",
        "Digital Signature, Key Encipherment\n",
        "TLS Web Server Authentication, TLS Web Client Authentication\n",
        "X509v3 Subject Key Identifier",
        "Not Before: Jun  1 00:00:00 2026 GMT",
        "Not After : Aug 29 23:59:59 2026 GMT",
    ] {
        assert!(all.contains(expected), "{expected:?} is not in\n{all}");
    }
}

#[test]
fn a_profile_without_addresses_leaves_them_out() {
    let mut ca = Ca::new(KeyAlgorithm::EcP256);
    ca.urls = IssuerUrls::default();
    let profile = SubscriberProfile { public: false, policies: vec![], ..SubscriberProfile::tls(90) };
    let certificate = ca.issue(&profile, &subscriber_key(KeyAlgorithm::EcP256));
    let (_, read) = X509Certificate::from_der(certificate.as_der()).unwrap();
    assert_eq!(read.extensions().len(), 4);
    assert_eq!(ca.openssl_accepts(&certificate, &[], &[]), Ok(()));
}

#[test]
fn ed25519_keys_are_certified_where_the_profile_says_so() {
    let pair = Ed25519KeyPair::generate().unwrap();
    let spki = AsDer::<PublicKeyX509Der<'_>>::as_der(pair.public_key()).unwrap();
    let key = SubscriberKey::from_spki(spki.as_ref()).unwrap();
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let profile = SubscriberProfile { public: false, key_types: vec![KeyType::Ed25519], ..SubscriberProfile::tls(90) };
    let certificate = ca.issue(&profile, &key);
    assert_eq!(certificate.info().unwrap().key_type, "ed25519");
    assert_eq!(ca.webpki_accepts(&certificate, "example.com"), Ok(()));
    assert_eq!(ca.openssl_accepts(&certificate, &[], &[]), Ok(()));
}

#[test]
fn names_come_sorted_once_each_and_a_common_name_fits() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let key = subscriber_key(KeyAlgorithm::EcP256);
    let profile = SubscriberProfile { common_name: true, ..SubscriberProfile::tls(90) };
    let validity = Validity::days(NOW, 90).unwrap();
    let long = format!("{}.example.com", "a".repeat(60));
    let draft = |names: &[Identifier], wished: Option<&Identifier>| {
        let terms = Terms { issuer: &ca.issuer, profile: &profile, urls: &ca.urls, names, key: &key, now: NOW };
        let draft = Draft::subscriber(&terms, validity, serial(), wished)?;
        Ok::<_, PkiError>(ca.issuer.sign(draft.lint(&terms).unwrap())?.certificate().clone())
    };
    let names = identifiers(&[&long, "b.example.com", "a.example.com", "b.example.com"]);
    let certificate = draft(&names, None).unwrap();
    assert_eq!(certificate.info().unwrap().subject, "CN=b.example.com");
    let (_, read) = X509Certificate::from_der(certificate.as_der()).unwrap();
    let found = read.subject_alternative_name().unwrap().unwrap().value.general_names.clone();
    assert_eq!(found, ["a.example.com", &long, "b.example.com"].map(GeneralName::DNSName));

    let subject =
        |wished: &str| draft(&names, Some(&Identifier::parse(wished).unwrap())).unwrap().info().unwrap().subject;
    assert_eq!(subject("a.example.com"), "CN=a.example.com");
    assert_eq!(subject(&long), "CN=b.example.com", "too long for a common name");
    assert_eq!(subject("c.example.com"), "CN=b.example.com", "not one of the names");
    assert_eq!(draft(&identifiers(&[&long]), None).unwrap().info().unwrap().subject, "");
    assert!(matches!(draft(&[], None), Err(PkiError::Name(NameError::NoNames))));
}

#[test]
fn a_draft_never_outlives_its_issuer() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let (key, names) = (subscriber_key(KeyAlgorithm::EcP256), identifiers(&NAMES));
    let profile = SubscriberProfile::tls(90);
    let terms = Terms { issuer: &ca.issuer, profile: &profile, urls: &ca.urls, names: &names, key: &key, now: NOW };
    let draft = Draft::subscriber(&terms, Validity::days(NOW, 2000).unwrap(), serial(), None);
    assert!(matches!(draft, Err(PkiError::Issuer(IssuerError::OutlivesIssuer { .. }))));
}

#[test]
fn names_for_internal_use_are_certified_where_the_profile_says_so() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let key = subscriber_key(KeyAlgorithm::EcP256);
    let names = NameRules { internal_names: true, special_addresses: true, ..NameRules::default() };
    let profile = SubscriberProfile { public: false, names, ..SubscriberProfile::tls(90) };
    let certificate = ca.issue_for(&profile, &key, &["hello.test", "localhost", "127.0.0.1", "::1"]);
    for name in ["hello.test", "localhost", "127.0.0.1", "::1"] {
        assert_eq!(ca.webpki_accepts(&certificate, name), Ok(()), "{name}");
    }
}

#[test]
fn openssl_reads_a_chain_as_pkcs_7_in_its_order() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let profile = SubscriberProfile { common_name: true, public: false, ..SubscriberProfile::tls(90) };
    let certificate = ca.issue(&profile, &subscriber_key(KeyAlgorithm::EcP256));
    let chain = [&certificate, ca.issuer.certificate()];
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("chain.p7b"), chain_to_pkcs7(chain).unwrap()).unwrap();
    let printed = crate::common::openssl(dir.path(), &["pkcs7", "-inform", "DER", "-in", "chain.p7b", "-print_certs"]);
    assert_eq!(chancery_pki::Certificate::chain_from_pem(&printed).unwrap(), chain.map(Clone::clone));
}
