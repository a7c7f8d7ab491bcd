//! What the certificates say, read by an independent parser.

use std::collections::HashSet;

use crate::common::{CA_ISSUERS, CRL, Hierarchy, NOW, days, hierarchy, issuing_of, key, name, names, root_of, serial};
use chancery_pki::{
    CaName, CaPolicy, Certificate, Issuer, IssuerError, IssuingCa, KeyAlgorithm, KeyError, NameError, PkiError,
    PolicyId, Purpose, ServerCertificate, Signer, Validity, chain_to_pem, inspect, issuing, root, server_certificate,
};
use x509_parser::{
    der_parser::asn1_rs::BitString,
    extensions::{DistributionPointName, GeneralName, KeyUsage, ParsedExtension},
    prelude::{FromDer, X509Certificate},
};

fn small() -> Hierarchy {
    hierarchy(KeyAlgorithm::EcP384, KeyAlgorithm::EcP256, KeyAlgorithm::EcP256)
}

fn parsed(certificate: &Certificate) -> X509Certificate<'_> {
    let (rest, parsed) = X509Certificate::from_der(certificate.as_der()).expect("a certificate");
    assert!(rest.is_empty());
    parsed
}

/// Every extension with whether it is critical, in order.
fn extensions(certificate: &X509Certificate<'_>) -> Vec<(String, bool)> {
    certificate.extensions().iter().map(|extension| (extension.oid.to_id_string(), extension.critical)).collect()
}

fn listed(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
    expected.iter().map(|(oid, critical)| ((*oid).to_owned(), *critical)).collect()
}

fn usages(certificate: &X509Certificate<'_>) -> KeyUsage {
    *certificate.key_usage().expect("well formed").expect("present").value
}

fn subject_key_id(certificate: &X509Certificate<'_>) -> Vec<u8> {
    let id = certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
        _ => None,
    });
    id.expect("a subject key identifier")
}

fn authority_key_id(certificate: &X509Certificate<'_>) -> Vec<u8> {
    let id = certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::AuthorityKeyIdentifier(id) => id.key_identifier.as_ref().map(|id| id.0.to_vec()),
        _ => None,
    });
    id.expect("an authority key identifier")
}

const KEY_CERT_SIGN_AND_CRL_SIGN: u16 = 1 << 5 | 1 << 6;
const DIGITAL_SIGNATURE: u16 = 1;

#[test]
fn a_root_says_what_a_root_must_and_no_more() {
    let hierarchy = small();
    let root = parsed(hierarchy.root.certificate());
    assert_eq!(root.version.0, 2);
    let expected = [("2.5.29.19", true), ("2.5.29.15", true), ("2.5.29.14", false), ("2.5.29.35", false)];
    assert_eq!(extensions(&root), listed(&expected));
    let constraints = root.basic_constraints().unwrap().unwrap().value;
    assert!(constraints.ca && constraints.path_len_constraint.is_none());
    assert_eq!(usages(&root).flags, KEY_CERT_SIGN_AND_CRL_SIGN);
    assert_eq!(subject_key_id(&root).len(), 20);
    assert_eq!(authority_key_id(&root), subject_key_id(&root));
    assert_eq!(root.subject(), root.issuer());
    assert_eq!(root.subject().to_string(), "C=XX, O=Chancery Tests, \"Ä\", CN=Test Root");
    assert_eq!(root.validity().not_before.timestamp(), NOW);
    assert_eq!(root.validity().not_after.timestamp(), NOW + 3650 * 86_400 - 1);
}

#[test]
fn an_issuing_ca_signs_server_certificates_and_no_cas() {
    let hierarchy = small();
    let (root, issuing) = (parsed(hierarchy.root.certificate()), parsed(hierarchy.issuing.certificate()));
    assert_eq!(
        extensions(&issuing),
        listed(&[
            ("2.5.29.19", true),
            ("2.5.29.15", true),
            ("2.5.29.37", false),
            ("2.5.29.14", false),
            ("2.5.29.35", false),
            ("2.5.29.32", false),
            ("1.3.6.1.5.5.7.1.1", false),
            ("2.5.29.31", false),
        ])
    );
    let constraints = issuing.basic_constraints().unwrap().unwrap().value;
    assert!(constraints.ca && constraints.path_len_constraint == Some(0));
    assert_eq!(usages(&issuing).flags, KEY_CERT_SIGN_AND_CRL_SIGN);
    let usage = issuing.extended_key_usage().unwrap().unwrap().value;
    assert!(usage.server_auth && !usage.client_auth && !usage.any && usage.other.is_empty());
    assert_eq!(authority_key_id(&issuing), subject_key_id(&root));
    assert_ne!(subject_key_id(&issuing), subject_key_id(&root));
    assert_eq!(issuing.issuer(), root.subject());
    assert_eq!(issuing.validity().not_after.timestamp(), NOW + 1825 * 86_400 - 1);
}

#[test]
fn an_issuing_ca_names_its_policy_and_where_its_issuer_publishes() {
    let hierarchy = small();
    let issuing = parsed(hierarchy.issuing.certificate());
    let mut seen = 0;
    for extension in issuing.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::CertificatePolicies(policies) => {
                assert_eq!(policies.len(), 1);
                assert_eq!(policies[0].policy_id.to_id_string(), "2.23.140.1.2.1");
                assert!(policies[0].policy_qualifiers.is_none());
            }
            ParsedExtension::AuthorityInfoAccess(access) => {
                assert_eq!(access.accessdescs.len(), 1);
                assert_eq!(access.accessdescs[0].access_method.to_id_string(), "1.3.6.1.5.5.7.48.2");
                assert_eq!(access.accessdescs[0].access_location, GeneralName::URI(CA_ISSUERS));
            }
            ParsedExtension::CRLDistributionPoints(points) => {
                assert_eq!(points.points.len(), 1);
                let Some(DistributionPointName::FullName(names)) = &points.points[0].distribution_point else {
                    panic!("no full name");
                };
                assert_eq!(names, &[GeneralName::URI(CRL)]);
            }
            _ => continue,
        }
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[test]
fn an_issuing_ca_of_a_private_hierarchy_needs_no_addresses() {
    let key_pair = key(KeyAlgorithm::EcP256);
    let root = root_of(&key(KeyAlgorithm::EcP256));
    let subject = name("Private Issuing CA");
    let ca = IssuingCa {
        subject: &subject,
        spki: key_pair.spki(),
        validity: days(100),
        serial: serial(),
        policy: CaPolicy::Any,
        purposes: &[],
        ca_issuers_url: None,
        crl_url: None,
    };
    let certificate = issuing(&root, &ca).unwrap();
    let parsed = parsed(&certificate);
    assert_eq!(parsed.extensions().len(), 6);
    assert!(parsed.extensions().iter().any(|extension| matches!(extension.parsed_extension(),
        ParsedExtension::CertificatePolicies(policies) if policies[0].policy_id.to_id_string() == "2.5.29.32.0")));
    let ca = IssuingCa { crl_url: Some("ldap://ca.example/"), ..ca };
    assert!(matches!(issuing(&root, &ca), Err(PkiError::Url(_))));
}

#[test]
fn an_issuing_ca_covers_the_purposes_it_was_made_for_and_no_other() {
    let root = root_of(&key(KeyAlgorithm::EcP256));
    let made = |purposes: &[Purpose]| {
        let key_pair = key(KeyAlgorithm::EcP256);
        let subject = CaName::beside(root.certificate(), "Issuing CA").unwrap();
        let ca = IssuingCa {
            subject: &subject,
            spki: key_pair.spki(),
            validity: days(100),
            serial: serial(),
            policy: CaPolicy::Any,
            purposes,
            ca_issuers_url: None,
            crl_url: None,
        };
        Issuer::new(issuing(&root, &ca).unwrap(), key_pair).unwrap()
    };
    let (server, both) = (made(&[]), made(&Purpose::ALL));
    assert!(server.covers(&[Purpose::ServerAuth]) && !server.covers(&[Purpose::ClientAuth]));
    assert!(!server.covers(&Purpose::ALL));
    assert!(both.covers(&Purpose::ALL));
    let usage = |issuer: &Issuer| {
        let parsed = parsed(issuer.certificate());
        let usage = parsed.extended_key_usage().unwrap().unwrap().value.clone();
        (usage.server_auth, usage.client_auth)
    };
    assert_eq!((usage(&server), usage(&both)), ((true, false), (true, true)));
    let (beside, above) = (server.certificate().info().unwrap().subject, root.certificate().info().unwrap().subject);
    assert_eq!(beside.replace("Issuing CA", ""), above.replace("Test Root", ""));
}

#[test]
fn an_issuing_ca_allows_the_policies_it_has_and_no_other() {
    let root = root_of(&key(KeyAlgorithm::EcP256));
    let made = |policy: CaPolicy| {
        let key_pair = key(KeyAlgorithm::EcP256);
        let ca = IssuingCa {
            subject: &name("Issuing CA"),
            spki: key_pair.spki(),
            validity: days(100),
            serial: serial(),
            policy,
            purposes: &[],
            ca_issuers_url: None,
            crl_url: None,
        };
        issuing(&root, &ca).unwrap()
    };
    let own: PolicyId = "1.3.6.1.4.1.99999.1".parse().unwrap();
    let (plain, any) = (made(CaPolicy::DomainValidated), made(CaPolicy::Any));
    let none: &[PolicyId] = &[];
    let whatever: PolicyId = "2.5.29.32.0".parse().unwrap();
    for policies in [none, &[PolicyId::DOMAIN_VALIDATED], &[whatever]] {
        assert!(plain.allows(policies).unwrap() && any.allows(policies).unwrap(), "{policies:?}");
    }
    for policies in [&[own][..], &[PolicyId::DOMAIN_VALIDATED, own]] {
        assert!(!plain.allows(policies).unwrap() && any.allows(policies).unwrap(), "{policies:?}");
        // It has none, as roots do.
        assert!(root.certificate().allows(policies).unwrap(), "{policies:?}");
    }
}

#[test]
fn a_server_certificate_has_its_names_once_and_no_subject() {
    let hierarchy = small();
    let (issuing, server) = (parsed(hierarchy.issuing.certificate()), parsed(&hierarchy.server));
    assert_eq!(
        extensions(&server),
        listed(&[("2.5.29.15", true), ("2.5.29.37", false), ("2.5.29.35", false), ("2.5.29.17", true)])
    );
    assert_eq!(usages(&server).flags, DIGITAL_SIGNATURE);
    let usage = server.extended_key_usage().unwrap().unwrap().value;
    assert!(usage.server_auth && !usage.client_auth && !usage.any);
    assert_eq!(authority_key_id(&server), subject_key_id(&issuing));
    assert_eq!(server.subject().iter().count(), 0);
    let names = &server.subject_alternative_name().unwrap().unwrap().value.general_names;
    let loopback = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!(
        names,
        &[
            GeneralName::DNSName("ca.example"),
            GeneralName::DNSName("localhost"),
            GeneralName::IPAddress(&[127, 0, 0, 1]),
            GeneralName::IPAddress(&loopback),
        ]
    );
}

#[test]
fn serials_are_positive_twenty_octets_and_never_the_same() {
    let key = key(KeyAlgorithm::EcP256);
    let mut seen = HashSet::new();
    for _ in 0..200 {
        let certificate = root(&*key, &name("Test Root"), days(1), serial()).unwrap();
        let octets = parsed(&certificate).raw_serial().to_vec();
        assert_eq!(octets.len(), 20);
        assert!((0x40..0x80).contains(&octets[0]));
        assert!(seen.insert(octets));
    }
}

#[test]
fn a_signature_is_named_as_its_key_demands() {
    for (algorithm, oid, parameters) in [
        (KeyAlgorithm::EcP256, "1.2.840.10045.4.3.2", false),
        (KeyAlgorithm::EcP384, "1.2.840.10045.4.3.3", false),
        (KeyAlgorithm::Rsa2048, "1.2.840.113549.1.1.11", true),
    ] {
        let root = root_of(&key(algorithm));
        let root = parsed(root.certificate());
        assert_eq!(root.signature_algorithm.algorithm.to_id_string(), oid);
        assert_eq!(root.signature_algorithm, root.tbs_certificate.signature);
        assert_eq!(root.signature_algorithm.parameters.is_some(), parameters);
        let signature: &BitString<'_> = &root.signature_value;
        assert_eq!(signature.unused_bits, 0);
    }
}

#[test]
fn the_issuer_must_be_a_ca_with_its_own_key() {
    let (one, other) = (key(KeyAlgorithm::EcP256), key(KeyAlgorithm::EcP256));
    let root = root_of(&one);
    let wrong_key = Issuer::new(root.certificate().clone(), other.clone());
    assert!(matches!(wrong_key.err(), Some(PkiError::Issuer(IssuerError::WrongKey))));
    let server = crate::common::server_of(&root, &other);
    assert!(matches!(Issuer::new(server, other).err(), Some(PkiError::Issuer(IssuerError::NotACa))));
}

#[test]
fn an_issuer_does_not_overstep_its_own_certificate() {
    let (root_key, issuing_key) = (key(KeyAlgorithm::EcP256), key(KeyAlgorithm::EcP256));
    let root = root_of(&root_key);
    let below = issuing_of(&root, &issuing_key);
    let (subject, same) = (name("Test Issuing CA 2"), name("Test Root"));
    let ca = |subject, validity| IssuingCa {
        subject,
        spki: issuing_key.spki(),
        validity,
        serial: serial(),
        policy: CaPolicy::Any,
        purposes: &[],
        ca_issuers_url: None,
        crl_url: None,
    };
    let refused = |outcome: Result<Certificate, PkiError>| match outcome {
        Err(PkiError::Issuer(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(issuing(&below, &ca(&subject, days(1)))), IssuerError::PathLength);
    assert_eq!(refused(issuing(&root, &ca(&same, days(1)))), IssuerError::SameName);
    assert!(issuing(&root, &ca(&subject, days(3650))).is_ok());
    let issuer_not_after = NOW + 3650 * 86_400 - 1;
    let longer = Validity::lasting(NOW, 3650 * 86_400 + 1).unwrap();
    assert_eq!(refused(issuing(&root, &ca(&subject, longer))), IssuerError::OutlivesIssuer { issuer_not_after });
}

#[test]
fn a_server_certificate_without_names_or_with_a_foreign_key_is_refused() {
    let root = root_of(&key(KeyAlgorithm::EcP256));
    let names = names(&["localhost"]);
    let server = |names, spki| ServerCertificate { names, spki, validity: days(1), serial: serial() };
    let pair = key(KeyAlgorithm::EcP256);
    let none = server_certificate(&root, &server(&[], pair.spki()));
    assert!(matches!(none, Err(PkiError::Name(NameError::NoNames))));
    let broken = server_certificate(&root, &server(&names, b"no key"));
    assert!(matches!(broken, Err(PkiError::Key(KeyError::Unsupported))));
}

#[test]
fn inspecting_tells_what_the_operator_wants_to_know() {
    let hierarchy = small();
    let info = inspect(hierarchy.issuing.certificate().as_der()).unwrap();
    let parsed = parsed(hierarchy.issuing.certificate());
    assert_eq!(info.subject, "CN=Test Issuing CA 1,O=Chancery Tests\\, \\\"Ä\\\",C=XX");
    assert_eq!(info.issuer, "CN=Test Root,O=Chancery Tests\\, \\\"Ä\\\",C=XX");
    assert_eq!(info.serial, parsed.raw_serial_as_string().replace(':', ""));
    assert_eq!((info.not_before, info.not_after), (NOW, NOW + 1825 * 86_400 - 1));
    assert_eq!((info.key_type.as_str(), info.is_ca), ("ec-p256", true));
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, hierarchy.issuing.certificate().as_der());
    assert_eq!(info.sha256, digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>());

    let info = hierarchy.server.info().unwrap();
    assert_eq!((info.subject.as_str(), info.is_ca), ("", false));
    let rsa = root_of(&key(KeyAlgorithm::Rsa2048));
    assert_eq!(rsa.certificate().info().unwrap().key_type, "rsa-2048");
}

#[test]
fn pem_reads_back_with_text_around_it() {
    let hierarchy = small();
    let chain = [hierarchy.server.clone(), hierarchy.issuing.certificate().clone()];
    let pem = chain_to_pem(&chain);
    assert_eq!(Certificate::chain_from_pem(&pem).unwrap(), chain);
    assert_eq!(Certificate::from_pem(&pem).unwrap(), chain[0]);
    let commented = format!("subject=x\n{}\nissuer\r\n{}", chain[0].to_pem(), chain[1].to_pem().replace('\n', "\r\n"));
    assert_eq!(Certificate::chain_from_pem(&commented).unwrap(), chain);
    for bad in ["", "no PEM", &pem[..100], "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(Certificate::chain_from_pem(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn no_truncated_certificate_is_read_and_none_panics() {
    let hierarchy = small();
    let der = hierarchy.issuing.certificate().as_der();
    for len in 0..der.len() {
        assert!(inspect(&der[..len]).is_err());
    }
    assert!(inspect(&[der, b"x"].concat()).is_err());
    for at in 0..der.len() {
        let mut altered = der.to_vec();
        altered[at] = !altered[at];
        let _ = inspect(&altered);
    }
}
