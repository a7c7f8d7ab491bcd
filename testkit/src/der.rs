//! Certificates made by hand, so that they can be wrong in every way.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

/// A self-signed P-256 certificate that says what the fields say. Change a field to make it wrong.
#[derive(Clone, Debug)]
pub struct HandMade {
    /// As it is encoded: 2 is version 3.
    pub version: u8,
    /// Encoded extensions; see [`extension`].
    pub extensions: Vec<Vec<u8>>,
    /// Whether its own key signs it, and not another.
    pub self_signed: bool,
    /// Common names.
    pub issuer: String,
    pub subject: String,
}

impl HandMade {
    pub fn new(extensions: Vec<Vec<u8>>) -> Self {
        let name = "Chancery test".to_owned();
        Self { version: 2, extensions, self_signed: true, issuer: name.clone(), subject: name }
    }

    /// The certificate, and the PKCS#8 form of its key.
    pub fn make(&self) -> (Vec<u8>, Vec<u8>) {
        let key = generate();
        let key_algorithm = tlv(0x30, &[&oid(&[1, 2, 840, 10045, 2, 1]), &oid(&[1, 2, 840, 10045, 3, 1, 7])]);
        let public = key.public_key().as_ref();
        let algorithm = tlv(0x30, &[&oid(&[1, 2, 840, 10045, 4, 3, 2])]);
        let validity = tlv(0x30, &[&tlv(0x17, &[b"200101000000Z"]), &tlv(0x17, &[b"491231235959Z"])]);
        let mut tbs = Vec::new();
        if self.version > 0 {
            tbs.push(tlv(0xa0, &[&tlv(0x02, &[&[self.version]])]));
        }
        tbs.extend([
            tlv(0x02, &[&[0x2a]]),
            algorithm.clone(),
            name(&self.issuer),
            validity,
            name(&self.subject),
            tlv(0x30, &[&key_algorithm, &tlv(0x03, &[&[0], public])]),
        ]);
        if !self.extensions.is_empty() {
            tbs.push(tlv(0xa3, &[&tlv(0x30, &[&self.extensions.concat()])]));
        }
        let tbs = tlv(0x30, &[&tbs.concat()]);
        let other = generate();
        let signer = if self.self_signed { &key } else { &other };
        let signature = signer.sign(&SystemRandom::new(), &tbs).expect("a key signs");
        let certificate = tlv(0x30, &[&tbs, &algorithm, &tlv(0x03, &[&[0], signature.as_ref()])]);
        (certificate, key.to_pkcs8v1().expect("a key has this form").as_ref().to_vec())
    }
}

/// An extension with these bytes as its value.
pub fn extension(id: &[u32], critical: bool, value: &[u8]) -> Vec<u8> {
    let critical: &[u8] = if critical { &[0x01, 0x01, 0xff] } else { &[] };
    tlv(0x30, &[&oid(id), critical, &tlv(0x04, &[value])])
}

/// The extension subjectAltName with these general names; see [`dns_name`] and [`ip_address`].
pub fn alt_names(names: &[Vec<u8>]) -> Vec<u8> {
    extension(&[2, 5, 29, 17], false, &tlv(0x30, &[&names.concat()]))
}

pub fn dns_name(name: &str) -> Vec<u8> {
    tlv(0x82, &[name.as_bytes()])
}

pub fn ip_address(octets: &[u8]) -> Vec<u8> {
    tlv(0x87, &[octets])
}

/// A tag, the length of the parts together, and the parts.
pub fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = u16::try_from(content.len()).expect("tests make small things").to_be_bytes();
    let mut encoded = vec![tag];
    match content.len() {
        0..=0x7f => encoded.push(length[1]),
        0x80..=0xff => encoded.extend([0x81, length[1]]),
        _ => encoded.extend([0x82, length[0], length[1]]),
    }
    encoded.extend(content);
    encoded
}

fn name(common_name: &str) -> Vec<u8> {
    let attribute = tlv(0x30, &[&oid(&[2, 5, 4, 3]), &tlv(0x0c, &[common_name.as_bytes()])]);
    tlv(0x30, &[&tlv(0x31, &[&attribute])])
}

fn oid(arcs: &[u32]) -> Vec<u8> {
    let mut content = vec![u8::try_from(arcs[0] * 40 + arcs[1]).expect("the first two arcs are small")];
    for arc in &arcs[2..] {
        let septets = (0..5).rev().map(|index| arc >> (7 * index) & 0x7f).skip_while(|septet| *septet == 0);
        let mut septets: Vec<_> = septets.map(|septet| u8::try_from(septet).expect("seven bits") | 0x80).collect();
        match septets.last_mut() {
            Some(last) => *last &= 0x7f,
            None => septets.push(0),
        }
        content.extend(septets);
    }
    tlv(0x06, &[&content])
}

fn generate() -> EcdsaKeyPair {
    EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("the system gives random bytes")
}
