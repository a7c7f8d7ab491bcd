//! OCSP: requests of every kind, and the answers to them.

use std::{slice, sync::Arc};

use crate::common::{Ca, DAY, NOW, ca_name, key, serial};
use chancery_domain::RevocationReason;
use chancery_pki::{
    Certificate, CertificateStatus, IssuerError, KeyAlgorithm, OcspError, OcspFailure, OcspRequest, OcspTimes,
    PkiError, PrivateKey, Responder, ResponderCertificate, Serial, Signer, SubscriberProfile, Validity,
    responder_certificate,
};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use proptest::prelude::*;

const SHA1: &[u8] = b"\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00";
const SHA256: &[u8] = b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01";
const SHA512: &[u8] = b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x03";
const TIMES: OcspTimes = OcspTimes { produced_at: NOW, this_update: NOW - 5, next_update: NOW + DAY };

pub(crate) fn responder(ca: &Ca, key: &Arc<PrivateKey>) -> Responder {
    let certificate = responder_of(ca, key);
    Responder::new(ca.issuer.certificate(), certificate, key.clone()).unwrap()
}

pub(crate) fn responder_of(ca: &Ca, key: &Arc<PrivateKey>) -> Certificate {
    let subject = ca_name("Test OCSP Responder 1");
    let validity = Validity::days(ca.now - 3600, 14).unwrap();
    let certificate = ResponderCertificate { subject: &subject, spki: key.spki(), validity, serial: serial() };
    responder_certificate(&ca.issuer, &certificate).unwrap()
}

fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let value = parts.concat();
    let length = match value.len() {
        short @ 0..128 => vec![u8::try_from(short).unwrap()],
        long => [&[0x82], &u16::try_from(long).unwrap().to_be_bytes()[..]].concat(),
    };
    let length = if value.len() > 127 && value.len() < 256 { vec![0x81, length[2]] } else { length };
    [&[tag], length.as_slice(), &value].concat()
}

fn hash(algorithm: &[u8], bytes: &[u8]) -> Vec<u8> {
    use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256 as SHA_256, SHA512 as SHA_512, digest};
    let with = match algorithm {
        SHA1 => &SHA1_FOR_LEGACY_USE_ONLY,
        SHA256 => &SHA_256,
        _ => &SHA_512,
    };
    digest(with, bytes).as_ref().to_vec()
}

/// Names a certificate of this CA.
fn cert_id(ca: &Ca, algorithm: &[u8], serial: &[u8]) -> Vec<u8> {
    use x509_parser::prelude::{FromDer, X509Certificate};
    let (_, issuer) = X509Certificate::from_der(ca.issuer.certificate().as_der()).unwrap();
    let name = hash(algorithm, issuer.subject().as_raw());
    let key = hash(algorithm, &issuer.public_key().subject_public_key.data);
    tlv(0x30, &[algorithm, &tlv(0x04, &[&name]), &tlv(0x04, &[&key]), &tlv(0x02, &[serial])])
}

fn request(ids: &[Vec<u8>], extensions: &[u8]) -> Vec<u8> {
    let list: Vec<_> = ids.iter().map(|id| tlv(0x30, &[id])).collect();
    tlv(0x30, &[&tlv(0x30, &[&tlv(0x30, &[&list.concat()]), extensions])])
}

/// A request about one certificate of this CA, with a nonce.
pub(crate) fn request_for(ca: &Ca, serial: &Serial) -> Vec<u8> {
    let extension = extension(NONCE, false, &tlv(0x04, &[&[7; 32]]));
    request(&[cert_id(ca, SHA1, serial.as_bytes())], &tlv(0xa2, &[&tlv(0x30, &[&extension])]))
}

fn extension(oid: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let critical: &[u8] = if critical { &[1, 1, 0xff] } else { &[] };
    tlv(0x30, &[&tlv(0x06, &[oid]), critical, &tlv(0x04, &[value])])
}

const NONCE: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x30\x01\x02";

fn with_nonce(ca: &Ca, nonce: &[u8]) -> Vec<u8> {
    let extension = extension(NONCE, false, &tlv(0x04, &[nonce]));
    request(&[cert_id(ca, SHA1, serial().as_bytes())], &tlv(0xa2, &[&tlv(0x30, &[&extension])]))
}

fn respond(responder: &Responder, request: &[u8], status: impl FnMut(&Serial) -> CertificateStatus) -> Vec<u8> {
    responder.respond(&OcspRequest::parse(request).unwrap(), TIMES, status).unwrap()
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[test]
fn both_hashes_name_a_certificate_and_other_issuers_are_not_answered_for() {
    let (ca, other) = (Ca::new(KeyAlgorithm::EcP256), Ca::new(KeyAlgorithm::EcP256));
    let responder = responder(&ca, &key(KeyAlgorithm::EcP256));
    let serial = serial();
    for algorithm in [SHA1, SHA256] {
        let id = cert_id(&ca, algorithm, serial.as_bytes());
        let read = OcspRequest::parse(&request(slice::from_ref(&id), &[])).unwrap();
        assert_eq!(responder.asked_about(&read), [serial]);
        let response = responder.respond(&read, TIMES, |_| CertificateStatus::Good).unwrap();
        assert!(contains(&response, &[id.as_slice(), &[0x80, 0]].concat()), "the name is repeated, and it is good");
    }
    for id in [cert_id(&other, SHA1, serial.as_bytes()), cert_id(&ca, SHA512, serial.as_bytes())] {
        let response = respond(&responder, &request(&[id], &[]), |_| panic!("asked"));
        assert_eq!(response, OcspFailure::Unauthorized.to_der());
    }
    // Nor is one of ours beside one of another's: an answer has one signer (RFC 6960 section 2.3).
    let mut both = [cert_id(&ca, SHA1, serial.as_bytes()), cert_id(&other, SHA1, serial.as_bytes())];
    for _ in 0..2 {
        let response = respond(&responder, &request(&both, &[]), |_| panic!("asked"));
        assert_eq!(response, OcspFailure::Unauthorized.to_der());
        both.reverse();
    }
}

#[test]
fn every_certificate_of_a_request_is_answered_and_only_issued_ones_are_good() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let responder = responder(&ca, &key(KeyAlgorithm::EcP256));
    let [good, revoked, unknown] = [serial(), serial(), serial()];
    let ids = [
        cert_id(&ca, SHA1, good.as_bytes()),
        cert_id(&ca, SHA256, revoked.as_bytes()),
        cert_id(&ca, SHA1, unknown.as_bytes()),
        cert_id(&ca, SHA1, &[1]),
    ];
    let response = respond(&responder, &request(&ids, &[]), |serial| match serial {
        serial if *serial == good => CertificateStatus::Good,
        serial if *serial == revoked => {
            CertificateStatus::Revoked { at: NOW - 60, reason: RevocationReason::KeyCompromise }
        }
        _ => CertificateStatus::Unknown,
    });
    let answer = |id: &[u8], status: &[u8]| contains(&response, &[id, status].concat());
    assert!(answer(&ids[0], &[0x80, 0]));
    assert!(answer(&ids[1], b"\xa1\x16\x18\x0f20260531235900Z\xa0\x03\x0a\x01\x01"));
    for id in &ids[2..] {
        assert!(answer(id, &[0x82, 0]));
    }
    let response = respond(&responder, &request(&ids[..1], &[]), |_| CertificateStatus::Revoked {
        at: NOW - 60,
        reason: RevocationReason::Unspecified,
    });
    assert!(contains(&response, &[&ids[0][..], b"\xa1\x11\x18\x0f20260531235900Z\x18"].concat()), "no reason is given");
}

#[test]
fn a_nonce_is_repeated_and_a_bad_one_refused() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let responder = responder(&ca, &key(KeyAlgorithm::EcP256));
    for length in [1, 16, 32, 128] {
        let nonce = vec![0x5a; length];
        let der = with_nonce(&ca, &nonce);
        assert_eq!(OcspRequest::parse(&der).unwrap().nonce, Some(nonce.clone()));
        let response = respond(&responder, &der, |_| CertificateStatus::Good);
        let expected = extension(NONCE, false, &tlv(0x04, &[&nonce]));
        assert!(contains(&response, &expected), "{length}");
    }
    for length in [0, 129] {
        assert_eq!(OcspRequest::parse(&with_nonce(&ca, &vec![1; length])), Err(OcspFailure::MalformedRequest));
    }
    let without = respond(&responder, &request(&[cert_id(&ca, SHA1, &[1])], &[]), |_| CertificateStatus::Good);
    assert!(!contains(&without, NONCE));
}

#[test]
fn what_must_be_understood_and_is_not_is_refused() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let ids = [cert_id(&ca, SHA1, serial().as_bytes())];
    let with = |extensions: &[Vec<u8>]| {
        OcspRequest::parse(&request(&ids, &tlv(0xa2, &[&tlv(0x30, &[&extensions.concat()])]))).map(|_| ())
    };
    let nonce = extension(NONCE, true, &tlv(0x04, &[&[1; 32]]));
    assert_eq!(with(slice::from_ref(&nonce)), Ok(()));
    assert_eq!(with(&[extension(&[0x2a, 3], false, &[5, 0])]), Ok(()));
    assert_eq!(with(&[extension(&[0x2a, 3], true, &[5, 0])]), Err(OcspFailure::MalformedRequest));
    assert_eq!(with(&[nonce.clone(), nonce]), Err(OcspFailure::MalformedRequest));
    assert_eq!(with(&[extension(NONCE, false, &[1; 32])]), Err(OcspFailure::MalformedRequest));
    let single = |critical| {
        let extension = extension(&[0x2a, 3], critical, &[5, 0]);
        let single = tlv(0x30, &[&ids[0], &tlv(0xa0, &[&tlv(0x30, &[&extension])])]);
        OcspRequest::parse(&tlv(0x30, &[&tlv(0x30, &[&tlv(0x30, &[&single])])])).map(|_| ())
    };
    assert_eq!(single(false), Ok(()));
    assert_eq!(single(true), Err(OcspFailure::MalformedRequest));
}

#[test]
fn malformed_and_oversized_requests_are_refused() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let id = cert_id(&ca, SHA1, serial().as_bytes());
    let refused = |der: &[u8]| assert_eq!(OcspRequest::parse(der), Err(OcspFailure::MalformedRequest));
    refused(b"");
    refused(b"hello");
    refused(&request(&[], &[]));
    refused(&request(&vec![id.clone(); 17], &[]));
    assert_eq!(OcspRequest::parse(&request(&vec![id.clone(); 16], &[])).unwrap().certificates.len(), 16);
    refused(&[request(slice::from_ref(&id), &[]), vec![0]].concat());
    refused(&request(&[tlv(0x30, &[SHA1])], &[]));
    refused(&vec![0x30; 5000]);
    let version = |number: u8| {
        let list = tlv(0x30, &[&tlv(0x30, &[&id])]);
        tlv(0x30, &[&tlv(0x30, &[&tlv(0xa0, &[&[2, 1, number]]), &list])])
    };
    refused(&version(1));
    // The same requestor name and signature that strict clients add: they change nothing.
    let name = tlv(0xa1, &[&tlv(0xa4, &[&tlv(0x30, &[])])]);
    let named = tlv(0x30, &[&tlv(0x30, &[&name, &tlv(0x30, &[&tlv(0x30, &[&id])])])]);
    assert!(OcspRequest::parse(&named).is_ok());
}

#[test]
fn what_an_answer_could_not_repeat_in_der_is_refused() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    let read = |algorithm: &[u8], serial: &[u8]| {
        OcspRequest::parse(&request(&[cert_id(&ca, algorithm, serial)], &[])).map(|_| ())
    };
    for serial in [&[0][..], &[0x7f], &[0xff], &[0, 0x80], &[0xff, 0x7f], &[0x80, 0]] {
        assert_eq!(read(SHA1, serial), Ok(()), "{serial:02x?}");
    }
    let drawn = serial();
    for serial in [&[][..], &[0, 0], &[0, 0x7f], &[0xff, 0x80], &[0xff, 0xff], &[&[0], drawn.as_bytes()].concat()] {
        assert_eq!(read(SHA1, serial), Err(OcspFailure::MalformedRequest), "{serial:02x?}");
    }
    let sha1 = |parameters: &[u8]| tlv(0x30, &[b"\x06\x05\x2b\x0e\x03\x02\x1a", parameters]);
    for usual in [&[][..], &[5, 0]] {
        assert_eq!(read(&sha1(usual), drawn.as_bytes()), Ok(()), "{usual:02x?}");
    }
    // A NULL with something in it, and INTEGERs of which one is not minimal.
    for strange in [&[5, 1, 0][..], &[2, 1, 1], &[0x30, 4, 2, 2, 0, 1], &[0x04, 0]] {
        let refused = Err(OcspFailure::MalformedRequest);
        assert_eq!(read(&sha1(strange), drawn.as_bytes()), refused, "{strange:02x?}");
    }
}

#[test]
fn a_request_in_a_path_is_read_however_it_is_escaped() {
    let ca = Ca::new(KeyAlgorithm::EcP256);
    // Until its base64 has both of the characters that paths have trouble with.
    let der = std::iter::repeat_with(|| with_nonce(&ca, serial().as_bytes()))
        .find(|der| BASE64.encode(der).contains('+') && BASE64.encode(der).contains('/') && der.len() % 3 != 0)
        .unwrap();
    let wanted = OcspRequest::parse(&der).unwrap();
    let plain = BASE64.encode(&der);
    let escaped = plain.replace('+', "%2B").replace('/', "%2f").replace('=', "%3D");
    for path in [&plain, &escaped, plain.trim_end_matches('='), &BASE64URL_NOPAD.encode(&der)] {
        assert_eq!(OcspRequest::from_path(path).as_ref(), Ok(&wanted), "{path}");
    }
    for path in ["", "%", "%4", "%zz", "a b", "====", &"A".repeat(20_000)] {
        assert_eq!(OcspRequest::from_path(path), Err(OcspFailure::MalformedRequest), "{path}");
    }
}

#[test]
fn a_responder_needs_its_own_key_a_delegation_and_a_term() {
    let (ca, other) = (Ca::new(KeyAlgorithm::EcP256), Ca::new(KeyAlgorithm::EcP256));
    let pair = key(KeyAlgorithm::EcP256);
    let certificate = responder_of(&ca, &pair);
    let wrong_key = Responder::new(ca.issuer.certificate(), certificate.clone(), key(KeyAlgorithm::EcP256));
    assert!(matches!(wrong_key.err(), Some(PkiError::Issuer(IssuerError::WrongKey))));
    let not_delegated = |outcome: Result<Responder, PkiError>| {
        assert!(matches!(outcome.err(), Some(PkiError::Ocsp(OcspError::NotDelegated))));
    };
    // Two CAs of one name: only the signature tells.
    not_delegated(Responder::new(other.issuer.certificate(), certificate, pair.clone()));
    let subscriber = chancery_pki::SubscriberKey::from_spki(pair.spki()).unwrap();
    let plain = ca.issue(&SubscriberProfile::tls(90), &subscriber);
    not_delegated(Responder::new(ca.issuer.certificate(), plain, pair.clone()));

    let responder = responder(&ca, &pair);
    let read = OcspRequest::parse(&request(&[cert_id(&ca, SHA1, serial().as_bytes())], &[])).unwrap();
    let lasting = |seconds| {
        let times = OcspTimes { next_update: TIMES.this_update + seconds, ..TIMES };
        responder.respond(&read, times, |_| CertificateStatus::Good).map(|_| ())
    };
    assert!(lasting(10 * DAY).is_ok());
    for seconds in [0, -1, 10 * DAY + 1] {
        assert!(matches!(lasting(seconds), Err(PkiError::Ocsp(OcspError::NextUpdate { .. }))));
    }
    let late = OcspTimes { produced_at: NOW + 10 * DAY, this_update: NOW + 10 * DAY, next_update: NOW + 15 * DAY };
    let late = responder.respond(&read, late, |_| CertificateStatus::Good);
    assert!(matches!(late, Err(PkiError::Ocsp(OcspError::NextUpdate { .. }))), "longer than its certificate");
}

#[test]
fn failures_are_five_bytes() {
    for (failure, code) in [
        (OcspFailure::MalformedRequest, 1),
        (OcspFailure::InternalError, 2),
        (OcspFailure::TryLater, 3),
        (OcspFailure::Unauthorized, 6),
    ] {
        assert_eq!(failure.to_der(), [0x30, 3, 0x0a, 1, code]);
    }
}

proptest! {
    #[test]
    fn no_request_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0_usize..200, byte in any::<u8>()) {
        thread_local! {
            static CA: Ca = Ca::new(KeyAlgorithm::EcP256);
        }
        let _ = OcspRequest::parse(&bytes);
        let _ = OcspRequest::parse(&tlv(0x30, &[&tlv(0x30, &[&tlv(0x30, &[&bytes])])]));
        let mut good = CA.with(|ca| with_nonce(ca, &[7; 32]));
        let at = at % good.len();
        good[at] = byte;
        let _ = OcspRequest::parse(&good);
    }

    #[test]
    fn no_path_panics(path in ".{0,100}") {
        let _ = OcspRequest::from_path(&path);
    }
}
