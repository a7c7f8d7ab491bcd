//! Whatever comes in, nothing panics.

use crate::build::{ALL_KEY_TYPES, Key, Parts, common_name, dns, extension, name, oid, request, rules, sequence, tlv};
use chancery_pki::{CertificateRequest, CsrError, CsrRules, KeyAlgorithm, NameRules, NoKnownBadKeys};
use proptest::prelude::*;

fn look(bytes: &[u8]) {
    if let Ok(request) = CertificateRequest::parse(bytes) {
        let _ = request.check(&rules(), &NoKnownBadKeys);
        let _ =
            request.check(&CsrRules { key_types: &ALL_KEY_TYPES[..1], names: NameRules::default() }, &NoKnownBadKeys);
        let _ = (request.identifiers(), request.common_name());
    }
}

#[test]
fn broken_structures_are_refused_with_what_is_wrong() {
    let key = Key::new(KeyAlgorithm::EcP256);
    let good = Parts::new(&key, &[dns("example.com")]);
    let refused = |der: Vec<u8>| match CertificateRequest::parse(der) {
        Err(CsrError::Der(why)) => why,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was read"),
    };
    let changed = |change: &dyn Fn(&mut Parts)| {
        let mut parts = good.clone();
        change(&mut parts);
        refused(parts.sign(&key))
    };
    assert_eq!(changed(&|parts| parts.version = tlv(0x02, &[&[2]])), "its version is not 1");
    assert_eq!(changed(&|parts| parts.subject = tlv(0x30, &[])), "its subject cannot be read");
    assert_eq!(changed(&|parts| parts.extensions.push(parts.extensions[0].clone())), "it has the same extension twice");
    assert_eq!(changed(&|parts| parts.extensions.push(tlv(0x30, &[]))), "its extensions cannot be read");
    let not_ascii = extension("2.5.29.17", false, &sequence(&[&name(2, "ä.example.com".as_bytes())]));
    assert!(changed(&|parts| parts.extensions = vec![not_ascii.clone()]).contains("not ASCII"));
    let no_usage = extension("2.5.29.37", false, &sequence(&[&tlv(0x02, &[&[1]])]));
    let why = changed(&|parts| parts.extensions.push(no_usage.clone()));
    assert_eq!(why, "its extended key usages cannot be read");
    let twice = sequence(&[&oid("1.2.840.113549.1.9.14"), &tlv(0x31, &[&sequence(&[])])]).repeat(2);
    assert_eq!(refused(good.sign_with_attributes(&key, &twice)), "it has two lists of extensions");
    assert_eq!(refused(good.sign_with_attributes(&key, b"\x05\x00")), "its attributes cannot be read");
    assert_eq!(refused(b"\x30\x00".to_vec()), "it does not have its three parts");
}

#[test]
fn no_truncated_or_altered_request_panics() {
    let key = Key::new(KeyAlgorithm::EcP256);
    let mut parts = Parts::new(&key, &[dns("example.com"), name(7, &[1, 1, 1, 1])]);
    parts.subject = common_name(0x0c, b"example.com");
    for der in [parts.sign(&key), request(&Key::new(KeyAlgorithm::Rsa2048))] {
        for length in 0..der.len() {
            assert!(CertificateRequest::parse(&der[..length]).is_err());
        }
        for at in 0..der.len() {
            let mut altered = der.clone();
            altered[at] = !altered[at];
            look(&altered);
        }
    }
}

proptest! {
    #[test]
    fn i12_no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        look(&bytes);
        look(&tlv(0x30, &[&bytes]));
    }

    #[test]
    fn no_text_panics(text in ".{0,200}") {
        look(text.as_bytes());
        look(format!("-----BEGIN CERTIFICATE REQUEST-----{text}-----END CERTIFICATE REQUEST-----").as_bytes());
    }

    #[test]
    fn no_name_and_no_key_panics(
        subject in proptest::collection::vec(any::<u8>(), 0..40),
        names in proptest::collection::vec((0_u8..0x30, proptest::collection::vec(any::<u8>(), 0..30)), 0..4),
        spki in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        // The signature is never right, and need not be.
        let names: Vec<_> = names.iter().map(|(kind, value)| tlv(0x80 | kind, &[value])).collect();
        let parts = |spki: &[u8]| sequence(&[
            &tlv(0x02, &[&[0]]),
            &sequence(&[&common_name(0x0c, &subject)]),
            spki,
            &tlv(0xa0, &[&sequence(&[
                &oid("1.2.840.113549.1.9.14"),
                &tlv(0x31, &[&sequence(&[&crate::build::san(&names)])]),
            ])]),
        ]);
        let algorithm = sequence(&[&oid("1.2.840.113549.1.1.11"), b"\x05\x00"]);
        let rsa = sequence(&[&sequence(&[&oid("1.2.840.113549.1.1.1"), b"\x05\x00"]), &tlv(0x03, &[&[0], &spki])]);
        for key in [rsa, spki] {
            look(&sequence(&[&parts(&key), &algorithm, b"\x03\x03\x00\x01\x02"]));
        }
    }

    #[test]
    fn no_mutation_of_a_good_request_panics(at in 0_usize..400, byte in any::<u8>(), length in 0_usize..600) {
        thread_local! {
            static GOOD: Vec<u8> = request(&Key::new(KeyAlgorithm::EcP256));
        }
        let mut der = GOOD.with(Clone::clone);
        let at = at % der.len();
        der[at] = byte;
        look(&der);
        der.truncate(length);
        look(&der);
    }
}
