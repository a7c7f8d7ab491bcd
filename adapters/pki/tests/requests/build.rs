//! Requests of every kind, also such as no software would make.

use aws_lc_rs::{
    digest,
    encoding::{AsDer, PublicKeyX509Der},
    signature::{Ed25519KeyPair, KeyPair},
};
use chancery_domain::KeyType;
use chancery_pki::{
    CertificateRequest, CsrProblem, CsrRules, KeyAlgorithm, NameRules, NoKnownBadKeys, PrivateKey, Signer,
};
use num_bigint::BigUint;

pub(crate) const ALL_KEY_TYPES: &[KeyType] =
    &[KeyType::Rsa2048, KeyType::Rsa3072, KeyType::Rsa4096, KeyType::EcP256, KeyType::EcP384, KeyType::Ed25519];

/// A tag, a length in the shortest form, and the parts one after the other.
pub(crate) fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let value = parts.concat();
    let length = match value.len() {
        short @ 0..128 => vec![u8::try_from(short).unwrap()],
        128..256 => vec![0x81, u8::try_from(value.len()).unwrap()],
        long => [&[0x82], &u16::try_from(long).unwrap().to_be_bytes()[..]].concat(),
    };
    [&[tag], length.as_slice(), &value].concat()
}

pub(crate) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tlv(0x30, parts)
}

pub(crate) fn oid(text: &str) -> Vec<u8> {
    der::Encode::to_der(&text.parse::<der::asn1::ObjectIdentifier>().unwrap()).unwrap()
}

pub(crate) fn common_name(tag: u8, text: &[u8]) -> Vec<u8> {
    tlv(0x31, &[&sequence(&[&oid("2.5.4.3"), &tlv(tag, &[text])])])
}

pub(crate) fn extension(id: &str, critical: bool, value: &[u8]) -> Vec<u8> {
    let critical: &[u8] = if critical { b"\x01\x01\xff" } else { b"" };
    sequence(&[&oid(id), critical, &tlv(0x04, &[value])])
}

/// A subject alternative name: 1 an e-mail address, 2 a host name, 7 an address, …
pub(crate) fn name(kind: u8, value: &[u8]) -> Vec<u8> {
    tlv(0x80 | kind, &[value])
}

pub(crate) fn dns(text: &str) -> Vec<u8> {
    name(2, text.as_bytes())
}

pub(crate) fn san(names: &[Vec<u8>]) -> Vec<u8> {
    extension("2.5.29.17", false, &sequence(&[&names.concat()]))
}

/// Who signs a request.
pub(crate) enum Key {
    Ours(PrivateKey),
    Ed25519(Ed25519KeyPair),
    Rsa { modulus: BigUint, exponent: BigUint, private: BigUint },
}

impl Key {
    pub(crate) fn new(algorithm: KeyAlgorithm) -> Self {
        Self::Ours(PrivateKey::generate(algorithm).unwrap())
    }

    pub(crate) fn ed25519() -> Self {
        Self::Ed25519(Ed25519KeyPair::generate().unwrap())
    }

    pub(crate) fn rsa(p: &str, q: &str, exponent: &BigUint) -> Self {
        Self::try_rsa(p, q, exponent).expect("an exponent with an inverse")
    }

    /// An RSA key of these primes, if the exponent has an inverse.
    pub(crate) fn try_rsa(p: &str, q: &str, exponent: &BigUint) -> Option<Self> {
        let number = |text: &str| BigUint::parse_bytes(text.as_bytes(), 16).unwrap();
        let (p, q) = (number(p), number(q));
        let private = exponent.modinv(&((&p - 1_u32) * (&q - 1_u32)))?;
        Some(Self::Rsa { modulus: p * q, exponent: exponent.clone(), private })
    }

    pub(crate) fn spki(&self) -> Vec<u8> {
        match self {
            Self::Ours(key) => key.spki().to_vec(),
            Self::Ed25519(key) => AsDer::<PublicKeyX509Der<'_>>::as_der(key.public_key()).unwrap().as_ref().to_vec(),
            Self::Rsa { modulus, exponent, .. } => rsa_spki(modulus, exponent),
        }
    }

    fn sign(&self, message: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let null: &[u8] = b"\x05\x00";
        let rsa = || sequence(&[&oid("1.2.840.113549.1.1.11"), null]);
        match self {
            Self::Ours(key) => {
                let algorithm = match key.algorithm() {
                    KeyAlgorithm::EcP256 => sequence(&[&oid("1.2.840.10045.4.3.2")]),
                    KeyAlgorithm::EcP384 => sequence(&[&oid("1.2.840.10045.4.3.3")]),
                    KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => rsa(),
                };
                (algorithm, key.sign(message).unwrap())
            }
            Self::Ed25519(key) => (sequence(&[&oid("1.3.101.112")]), key.sign(message).as_ref().to_vec()),
            Self::Rsa { modulus, private, .. } => {
                let info = sequence(&[&oid("2.16.840.1.101.3.4.2.1"), null]);
                let digest = digest::digest(&digest::SHA256, message);
                let info = sequence(&[&info, &tlv(0x04, &[digest.as_ref()])]);
                let length = usize::try_from(modulus.bits().div_ceil(8)).unwrap();
                let padding = vec![0xff; length - 3 - info.len()];
                let padded = BigUint::from_bytes_be(&[&[0, 1], padding.as_slice(), &[0], &info].concat());
                let signature = padded.modpow(private, modulus).to_bytes_be();
                (rsa(), [vec![0; length - signature.len()], signature].concat())
            }
        }
    }
}

pub(crate) fn rsa_spki(modulus: &BigUint, exponent: &BigUint) -> Vec<u8> {
    let integer = |number: &BigUint| {
        let bytes = number.to_bytes_be();
        let sign: &[u8] = if bytes[0] >= 0x80 { &[0] } else { &[] };
        tlv(0x02, &[sign, &bytes])
    };
    let key = sequence(&[&integer(modulus), &integer(exponent)]);
    sequence(&[&sequence(&[&oid("1.2.840.113549.1.1.1"), b"\x05\x00"]), &tlv(0x03, &[&[0], &key])])
}

/// The parts of a request before they are put together.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) version: Vec<u8>,
    pub(crate) subject: Vec<u8>,
    pub(crate) spki: Vec<u8>,
    pub(crate) extensions: Vec<Vec<u8>>,
    pub(crate) signature_algorithm: Option<Vec<u8>>,
}

impl Parts {
    pub(crate) fn new(key: &Key, names: &[Vec<u8>]) -> Self {
        Self {
            version: tlv(0x02, &[&[0]]),
            subject: Vec::new(),
            spki: key.spki(),
            extensions: vec![san(names)],
            signature_algorithm: None,
        }
    }

    pub(crate) fn sign(&self, key: &Key) -> Vec<u8> {
        let extensions = sequence(&[&self.extensions.concat()]);
        let attribute = sequence(&[&oid("1.2.840.113549.1.9.14"), &tlv(0x31, &[&extensions])]);
        self.sign_with_attributes(key, &attribute)
    }

    pub(crate) fn sign_with_attributes(&self, key: &Key, attributes: &[u8]) -> Vec<u8> {
        let info = sequence(&[&self.version, &sequence(&[&self.subject]), &self.spki, &tlv(0xa0, &[attributes])]);
        let (algorithm, signature) = key.sign(&info);
        let algorithm = self.signature_algorithm.clone().unwrap_or(algorithm);
        sequence(&[&info, &algorithm, &tlv(0x03, &[&[0], &signature])])
    }
}

/// A good request for `example.com` with this key.
pub(crate) fn request(key: &Key) -> Vec<u8> {
    Parts::new(key, &[dns("example.com")]).sign(key)
}

pub(crate) fn read(der: &[u8]) -> CertificateRequest {
    CertificateRequest::parse(der).expect("a request")
}

pub(crate) fn rules() -> CsrRules<'static> {
    CsrRules { key_types: ALL_KEY_TYPES, names: NameRules::default() }
}

pub(crate) fn problems(der: &[u8]) -> Vec<CsrProblem> {
    read(der).check(&rules(), &NoKnownBadKeys)
}

/// The codes of its problems under rules that allow every kind of key.
pub(crate) fn codes(der: &[u8]) -> Vec<&'static str> {
    problems(der).iter().map(CsrProblem::code).collect()
}
