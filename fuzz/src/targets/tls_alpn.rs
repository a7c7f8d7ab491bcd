//! Certificates that answer tls-alpn-01 (RFC 8737).
//!
//! One that answers is accepted by our other check of the same as well, and is refused for another name, for another
//! digest, and with any bit of it changed.

use chancery_dcv::parsers::acme_certificate;
use chancery_domain::Identifier;
use chancery_pki::check_acme_identifier;

use crate::fixed::{DIGEST, NAME, signed};
use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "tls_alpn", run, form: Form::Der, words: include_str!("../../words/tls_alpn.dict") };

fn run(input: &[u8]) {
    look(input);
    // What is signed, signed by the key that the seeds hold.
    if input.first() == Some(&0x30) {
        look(&signed(input));
    }
}

fn look(certificate: &[u8]) {
    let name = Identifier::parse(NAME).expect("it is a name");
    let address = Identifier::parse("192.0.2.1").expect("it is an address");
    let other = Identifier::parse("other.test").expect("it is a name");
    let accepted: Vec<_> =
        [&name, &address].into_iter().filter(|wanted| acme_certificate(certificate, wanted, &DIGEST).is_ok()).collect();
    assert!(accepted.len() <= 1, "it answers for two");
    let _ = check_acme_identifier(certificate, &name, &DIGEST);
    let Some(wanted) = accepted.first() else { return };
    assert_eq!(check_acme_identifier(certificate, wanted, &DIGEST), Ok(()), "the other check refuses it");
    assert!(acme_certificate(certificate, &other, &DIGEST).is_err());
    assert!(acme_certificate(certificate, wanted, &[0; 32]).is_err());
    // Which bit follows from the input, so that a failure can be repeated.
    let at = certificate.iter().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
    let mut changed = certificate.to_vec();
    changed[at / 8 % certificate.len()] ^= 1 << (at % 8);
    assert!(acme_certificate(&changed, wanted, &DIGEST).is_err(), "accepted with bit {at} changed");
}
