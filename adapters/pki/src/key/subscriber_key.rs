//! A public key to be certified.

use std::sync::OnceLock;

use aws_lc_rs::{
    digest,
    signature::{ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519, ParsedPublicKey, VerificationAlgorithm},
};
use chancery_domain::KeyType;
use data_encoding::BASE64URL_NOPAD;
use der::{
    Decode, Encode, Sequence,
    asn1::{AnyRef, BitStringRef, UintRef},
};
use num_bigint::BigUint;
use spki::SubjectPublicKeyInfoRef;

use super::{close_primes::has_close_primes, problem::KeyProblem, roca, small_factors::smallest_factor};
use crate::public_key::describe;

/// `AlgorithmIdentifier`s as the Baseline Requirements want them, byte for byte (section 7.1.3.1).
const RSA: &[u8] = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
const P256: &[u8] = b"\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
const P384: &[u8] = b"\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22";
/// RFC 8410 section 3.
const ED25519_ALGORITHM: &[u8] = b"\x30\x05\x06\x03\x2b\x65\x70";

/// A subscriber's public key: well formed, in the one encoding its kind has, and of a kind that can be certified.
///
/// Whether it is strong enough is what [`weaknesses`](Self::weaknesses) tells.
#[derive(Clone)]
pub struct SubscriberKey {
    spki: Vec<u8>,
    sha256: [u8; 32],
    modulus_sha256: Option<[u8; 32]>,
    pub(crate) material: Material,
    weaknesses: OnceLock<Vec<KeyProblem>>,
}

#[derive(Clone)]
pub(crate) enum Material {
    Rsa { modulus: BigUint, exponent: BigUint },
    EcP256,
    EcP384,
    Ed25519,
}

impl SubscriberKey {
    /// Reads a SubjectPublicKeyInfo in DER. Points must be on their curve and uncompressed.
    pub fn from_spki(spki: &[u8]) -> Result<Self, KeyProblem> {
        let parts = Parts::from_der(spki).map_err(|_| KeyProblem::Invalid("it is not a SubjectPublicKeyInfo"))?;
        let key = parts.key.as_bytes().ok_or(KeyProblem::Invalid("it does not end on a whole byte"))?;
        let algorithm = parts.algorithm.to_der().map_err(|_| KeyProblem::Invalid("its algorithm cannot be read"))?;
        let material = match algorithm.as_slice() {
            RSA => rsa(key)?,
            P256 => point(spki, key, 65, &ECDSA_P256_SHA256_ASN1, Material::EcP256)?,
            P384 => point(spki, key, 97, &ECDSA_P384_SHA384_ASN1, Material::EcP384)?,
            ED25519_ALGORITHM if key.len() == 32 => {
                parsed(spki, &ED25519)?;
                Material::Ed25519
            }
            ED25519_ALGORITHM => return Err(KeyProblem::Invalid("an Ed25519 key has 32 bytes")),
            // The algorithm alone, whatever follows it.
            _ if algorithm.get(2..13) == Some(&RSA[2..13]) => {
                return Err(KeyProblem::Invalid(
                    "the parameters of rsaEncryption must be NULL, by RFC 3279 section 2.3.1",
                ));
            }
            _ => return Err(KeyProblem::Unsupported(name_of(spki))),
        };
        let modulus_sha256 = match &material {
            Material::Rsa { modulus, .. } => {
                Some(sha256(&[b"RSA modulus ", modulus.to_bytes_be().as_slice()].concat()))
            }
            Material::EcP256 | Material::EcP384 | Material::Ed25519 => None,
        };
        Ok(Self { spki: spki.to_vec(), sha256: sha256(spki), modulus_sha256, material, weaknesses: OnceLock::new() })
    }

    /// The SubjectPublicKeyInfo in DER.
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// The SHA-256 of the SubjectPublicKeyInfo. The same key always has the same one.
    pub fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }

    /// A SHA-256 that all RSA keys with the same modulus have in common, and no other key.
    pub fn modulus_sha256(&self) -> Option<&[u8; 32]> {
        self.modulus_sha256.as_ref()
    }

    /// By what it is found among keys that others have.
    pub fn hashes(&self) -> impl Iterator<Item = &[u8; 32]> {
        std::iter::once(&self.sha256).chain(&self.modulus_sha256)
    }

    /// The thumbprint that it has as a JWK (RFC 7638), by which ACME accounts are known.
    pub fn thumbprint(&self) -> String {
        let coordinates = |name: &str, len: usize| {
            let (x, y) = self.spki[self.spki.len() - 2 * len..].split_at(len);
            let (x, y) = (BASE64URL_NOPAD.encode(x), BASE64URL_NOPAD.encode(y));
            format!(r#"{{"crv":"{name}","kty":"EC","x":"{x}","y":"{y}"}}"#)
        };
        let members = match &self.material {
            Material::Rsa { modulus, exponent } => {
                let [e, n] = [exponent, modulus].map(|integer| BASE64URL_NOPAD.encode(&integer.to_bytes_be()));
                format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#)
            }
            Material::EcP256 => coordinates("P-256", 32),
            Material::EcP384 => coordinates("P-384", 48),
            Material::Ed25519 => {
                let x = BASE64URL_NOPAD.encode(&self.spki[self.spki.len() - 32..]);
                format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#)
            }
        };
        BASE64URL_NOPAD.encode(digest::digest(&digest::SHA256, members.as_bytes()).as_ref())
    }

    /// The kind of key. An RSA key of a size between two of the list counts as the lower one.
    pub fn key_type(&self) -> KeyType {
        match &self.material {
            Material::Rsa { modulus, .. } => match modulus.bits() {
                ..3072 => KeyType::Rsa2048,
                3072..4096 => KeyType::Rsa3072,
                4096.. => KeyType::Rsa4096,
            },
            Material::EcP256 => KeyType::EcP256,
            Material::EcP384 => KeyType::EcP384,
            Material::Ed25519 => KeyType::Ed25519,
        }
    }

    /// Whether it is an RSA key, which may be used to encipher keys.
    pub fn is_rsa(&self) -> bool {
        matches!(self.material, Material::Rsa { .. })
    }

    /// The kind and size as text: `rsa-2560`, `ec-p256`.
    pub fn describe(&self) -> String {
        name_of(&self.spki)
    }

    /// How Debian's list of weak keys names an RSA key: the last 80 bits of the SHA-1 of `Modulus=`, the modulus in
    /// upper-case hexadecimal, and a line feed.
    pub fn debian_hash(&self) -> Option<[u8; 10]> {
        let Material::Rsa { modulus, .. } = &self.material else { return None };
        let line = format!("Modulus={modulus:X}\n");
        let sha1 = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, line.as_bytes());
        sha1.as_ref()[10..].try_into().ok()
    }

    /// Everything that makes the key too weak; empty for a good one. Takes tenths of a millisecond for RSA, once.
    pub fn weaknesses(&self) -> &[KeyProblem] {
        self.weaknesses.get_or_init(|| self.find_weaknesses())
    }

    fn find_weaknesses(&self) -> Vec<KeyProblem> {
        let Material::Rsa { modulus, exponent } = &self.material else { return Vec::new() };
        let mut found = Vec::new();
        match modulus.bits() {
            bits @ ..2048 => found.push(KeyProblem::Weak(bits)),
            bits @ 2048..=4096 if bits.is_multiple_of(8) => {}
            bits => found.push(KeyProblem::OddSize(bits)),
        }
        if *exponent < BigUint::from(65537_u32) {
            found.push(KeyProblem::SmallExponent);
        } else if !exponent.bit(0) || exponent.bits() > 256 {
            found.push(KeyProblem::BadExponent);
        }
        // The rest costs time that grows with the size.
        if modulus.bits() > 4096 {
            return found;
        }
        found.extend(smallest_factor(modulus).map(KeyProblem::SmallFactor));
        if roca::has_fingerprint(modulus) {
            found.push(KeyProblem::Roca);
        }
        if has_close_primes(modulus) {
            found.push(KeyProblem::ClosePrimes);
        }
        found
    }
}

#[derive(Sequence)]
struct Parts<'a> {
    algorithm: AnyRef<'a>,
    key: BitStringRef<'a>,
}

/// RFC 8017 appendix A.1.1.
#[derive(Sequence)]
struct RsaPublicKey<'a> {
    modulus: UintRef<'a>,
    exponent: UintRef<'a>,
}

fn rsa(key: &[u8]) -> Result<Material, KeyProblem> {
    let key = RsaPublicKey::from_der(key).map_err(|_| KeyProblem::Invalid("it is not a modulus and an exponent"))?;
    Ok(Material::Rsa {
        modulus: BigUint::from_bytes_be(key.modulus.as_bytes()),
        exponent: BigUint::from_bytes_be(key.exponent.as_bytes()),
    })
}

/// A point must be uncompressed (so that a key has one encoding only), on the curve, and not at infinity.
fn point(
    spki: &[u8],
    key: &[u8],
    length: usize,
    curve: &'static dyn VerificationAlgorithm,
    material: Material,
) -> Result<Material, KeyProblem> {
    if key.len() != length || key[0] != 4 {
        return Err(KeyProblem::Invalid("the point is not in uncompressed form"));
    }
    parsed(spki, curve)?;
    Ok(material)
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    digest::digest(&digest::SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn parsed(spki: &[u8], algorithm: &'static dyn VerificationAlgorithm) -> Result<(), KeyProblem> {
    ParsedPublicKey::new(algorithm, spki).map(|_| ()).map_err(|_| KeyProblem::Invalid("it is not a point on its curve"))
}

fn name_of(spki: &[u8]) -> String {
    SubjectPublicKeyInfoRef::from_der(spki).map_or_else(|_| "unknown".to_owned(), describe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyAlgorithm, PrivateKey};

    #[test]
    fn keys_of_every_kind_are_read_and_found_good() {
        for algorithm in KeyAlgorithm::ALL {
            let key = PrivateKey::generate(algorithm).unwrap();
            let read = SubscriberKey::from_spki(key.public_key_info()).unwrap();
            assert_eq!(read.key_type(), KeyType::from(algorithm));
            assert_eq!(read.describe(), KeyType::from(algorithm).as_str());
            assert_eq!(read.weaknesses(), []);
            assert_eq!(read.debian_hash().is_some(), read.is_rsa());
        }
    }

    #[test]
    fn keys_of_one_modulus_are_known_by_it() {
        let key = PrivateKey::generate(KeyAlgorithm::Rsa2048).unwrap();
        let one = SubscriberKey::from_spki(key.public_key_info()).unwrap();
        // The exponent comes last: 65537, and then 65539.
        let mut spki = key.public_key_info().to_vec();
        assert_eq!(spki[spki.len() - 3..], [1, 0, 1]);
        *spki.last_mut().unwrap() = 3;
        let other = SubscriberKey::from_spki(&spki).unwrap();
        assert_eq!(other.weaknesses(), []);
        assert_ne!(one.sha256(), other.sha256());
        assert_eq!(one.modulus_sha256(), other.modulus_sha256());
        assert_eq!((one.hashes().count(), one.hashes().nth(1)), (2, one.modulus_sha256()));
        let ec = PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
        assert_eq!(SubscriberKey::from_spki(ec.public_key_info()).unwrap().hashes().count(), 1);
    }

    #[test]
    fn rsa_without_its_parameters_is_told_what_it_lacks() {
        let key = PrivateKey::generate(KeyAlgorithm::Rsa2048).unwrap();
        let spki = key.public_key_info();
        // Without the NULL, which is the last two bytes of the algorithm: two bytes less in it and in all.
        let at = spki.windows(RSA.len()).position(|window| window == RSA).unwrap();
        let mut bare = [&spki[..at], &RSA[..RSA.len() - 2], &spki[at + RSA.len()..]].concat();
        bare[at + 1] -= 2;
        bare[at - 1] -= 2;
        let problem = SubscriberKey::from_spki(&bare).err().unwrap().to_string();
        assert!(problem.contains("must be NULL"), "{problem}");
    }

    #[test]
    fn a_point_off_the_curve_compressed_or_at_infinity_is_no_key() {
        let key = PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
        let good = key.public_key_info();
        let (prefix, point) = good.split_at(good.len() - 65);
        let mut off = good.to_vec();
        *off.last_mut().unwrap() ^= 1;
        assert!(matches!(SubscriberKey::from_spki(&off), Err(KeyProblem::Invalid(_))));

        // The same algorithm with a shorter point: the lengths of the SEQUENCE and of the BIT STRING shrink with it.
        let with_point = |point: &[u8]| {
            let mut spki = prefix.to_vec();
            spki[1] = u8::try_from(prefix.len() - 2 + point.len()).unwrap();
            let at = prefix.len() - 2;
            spki[at] = u8::try_from(point.len() + 1).unwrap();
            [spki.as_slice(), point].concat()
        };
        assert!(SubscriberKey::from_spki(&with_point(point)).is_ok());
        let compressed = [&[2 + (point[64] & 1)], &point[1..33]].concat();
        assert!(matches!(SubscriberKey::from_spki(&with_point(&compressed)), Err(KeyProblem::Invalid(_))));
        assert!(matches!(SubscriberKey::from_spki(&with_point(&[0])), Err(KeyProblem::Invalid(_))));
        assert!(matches!(SubscriberKey::from_spki(&with_point(&[])), Err(KeyProblem::Invalid(_))));
        assert!(matches!(SubscriberKey::from_spki(b"\x30\x00"), Err(KeyProblem::Invalid(_))));
    }

    #[test]
    fn debian_names_a_key_by_the_end_of_a_sha_1() {
        // printf 'Modulus=C5\n' | sha1sum
        let key = SubscriberKey {
            spki: Vec::new(),
            sha256: [0; 32],
            modulus_sha256: None,
            material: Material::Rsa { modulus: BigUint::from(0xc5_u32), exponent: BigUint::from(3_u32) },
            weaknesses: OnceLock::new(),
        };
        assert_eq!(key.debian_hash(), Some(*b"\x8f\xaa\xc7\xe7\x95\xb2\xab\x19\xcf\xc2"));
    }
}
