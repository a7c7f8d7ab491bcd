//! Certificate signing requests.
//!
//! A request is the same in DER, PEM, base64 and base64url. One that our judge finds no fault with is read by another
//! parser too, and asks for the same names there.

use std::net::IpAddr;

use chancery_domain::Identifier;
use chancery_pki::{CertificateRequest, CsrRules, NameRules, NoKnownBadKeys};
use data_encoding::{BASE64, BASE64_MIME, BASE64URL_NOPAD};
use x509_parser::prelude::{FromDer as _, GeneralName, ParsedExtension, X509CertificationRequest};

use crate::fixed::signed;
use crate::{Form, Target};

/// Where names that a request may hold are not looked at more closely.
const MOST: usize = 100;

pub(super) const TARGET: Target =
    Target { name: "csr", run, form: Form::Der, words: include_str!("../../words/csr.dict") };

fn run(input: &[u8]) {
    look(input);
    // What is signed, signed by the key that most seeds hold: so a changed one gets past the check of its signature.
    if input.first() == Some(&0x30) {
        look(&signed(input));
    }
}

fn look(input: &[u8]) {
    let Ok(request) = CertificateRequest::parse(input) else { return };
    let der = request.as_der();
    let names = request.identifiers();
    let lines = BASE64_MIME.encode(der);
    let pem = format!("-----BEGIN CERTIFICATE REQUEST-----\n{lines}\n-----END CERTIFICATE REQUEST-----\n");
    for form in [der.to_vec(), pem.into_bytes(), BASE64.encode(der).into(), BASE64URL_NOPAD.encode(der).into()] {
        if form.len() <= chancery_pki::MAX_CSR_BYTES {
            let same = CertificateRequest::parse(&form).expect("another form of the same is read too");
            assert_eq!(same.as_der(), der);
            assert_eq!(same.identifiers(), names);
        }
    }
    let rules = NameRules { internal_names: true, special_addresses: true, max_names: MOST, ..NameRules::default() };
    let rules = CsrRules { names: rules, ..CsrRules::default() };
    let problems = request.check(&rules, &NoKnownBadKeys);
    for problem in &problems {
        assert!(!problem.code().is_empty() && !problem.to_string().is_empty());
    }
    let again = request.check_again(&rules, &NoKnownBadKeys);
    assert!(again.iter().all(|problem| problems.contains(problem)), "{again:?} is not in {problems:?}");
    if problems.is_empty() {
        assert!(!names.is_empty() && names.len() <= MOST);
        assert!(request.common_name().is_none_or(|name| names.contains(&name)));
        let (rest, other) = X509CertificationRequest::from_der(der).expect("what we grant is read by others");
        assert!(rest.is_empty());
        assert_eq!(names_of(&other), names);
    }
}

fn names_of(request: &X509CertificationRequest<'_>) -> Vec<Identifier> {
    let extensions = request.requested_extensions().into_iter().flatten();
    let names = extensions.filter_map(|extension| match extension {
        ParsedExtension::SubjectAlternativeName(names) => Some(names.general_names.iter()),
        _ => None,
    });
    let read = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Identifier::parse(name).expect("what we grant is a name"),
        GeneralName::IPAddress(octets) => {
            let address: IpAddr = match octets.len() {
                4 => <[u8; 4]>::try_from(*octets).expect("4 octets").into(),
                _ => <[u8; 16]>::try_from(*octets).expect("an address has 4 or 16 octets").into(),
            };
            Identifier::Ip(address)
        }
        other => panic!("we would grant {other}"),
    };
    names.flatten().map(read).collect()
}
