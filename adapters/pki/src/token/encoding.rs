//! Between what tokens speak and what stands in certificates.

use aws_lc_rs::digest::{SHA256, digest};
use cryptoki::{
    error::Error,
    object::{Attribute, AttributeType, ObjectHandle},
    session::Session,
};
use der::{
    Any, Decode, Encode, Sequence,
    asn1::{BitString, Null, ObjectIdentifier, OctetStringRef, UintRef},
    oid::db::rfc5912,
};
use spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};

use super::module::said;
use crate::{error::KeyError, public_key::KeyAlgorithm};

/// What a token has to be told to make such a key.
pub(super) enum Shape {
    Curve(ObjectIdentifier),
    /// RSA, of so many bits.
    Bits(u64),
}

impl Shape {
    pub(super) fn of(algorithm: KeyAlgorithm) -> Self {
        match algorithm {
            KeyAlgorithm::EcP256 => Self::Curve(rfc5912::SECP_256_R_1),
            KeyAlgorithm::EcP384 => Self::Curve(rfc5912::SECP_384_R_1),
            KeyAlgorithm::Rsa2048 => Self::Bits(2048),
            KeyAlgorithm::Rsa3072 => Self::Bits(3072),
            KeyAlgorithm::Rsa4096 => Self::Bits(4096),
        }
    }
}

/// The public key of a pair, a SubjectPublicKeyInfo in DER.
pub(super) fn public_key(
    session: &Session,
    public: ObjectHandle,
    algorithm: KeyAlgorithm,
) -> Result<Vec<u8>, KeyError> {
    let read = |wanted: &[AttributeType]| session.get_attributes(public, wanted).map_err(|error| unreadable(&error));
    let (algorithm, key) = match Shape::of(algorithm) {
        Shape::Curve(curve) => {
            let found = read(&[AttributeType::EcPoint])?.into_iter().find_map(|attribute| match attribute {
                Attribute::EcPoint(point) => Some(point),
                _ => None,
            });
            let parameters = Any::encode_from(&curve).map_err(|_| KeyError::Encoding)?;
            let algorithm = AlgorithmIdentifierOwned { oid: rfc5912::ID_EC_PUBLIC_KEY, parameters: Some(parameters) };
            (algorithm, point(found.unwrap_or_default()))
        }
        Shape::Bits(_) => {
            let (mut modulus, mut exponent) = (Vec::new(), Vec::new());
            for attribute in read(&[AttributeType::Modulus, AttributeType::PublicExponent])? {
                match attribute {
                    Attribute::Modulus(octets) => modulus = octets,
                    Attribute::PublicExponent(octets) => exponent = octets,
                    _ => {}
                }
            }
            let oid = rfc5912::RSA_ENCRYPTION;
            let algorithm = AlgorithmIdentifierOwned { oid, parameters: Some(Any::from(Null)) };
            (algorithm, integers(&modulus, &exponent)?)
        }
    };
    let subject_public_key = BitString::from_bytes(&key).map_err(|_| KeyError::Encoding)?;
    SubjectPublicKeyInfoOwned { algorithm, subject_public_key }.to_der().map_err(|_| KeyError::Encoding)
}

/// Two numbers of the same length, one behind the other, as `ECDSA-Sig-Value` has them.
pub(super) fn ecdsa_signature(raw: &[u8]) -> Result<Vec<u8>, KeyError> {
    match raw.split_at_checked(raw.len() / 2) {
        Some((r, s)) if r.len() == s.len() && !r.is_empty() => integers(r, s),
        Some(_) | None => Err(KeyError::Signing),
    }
}

/// The SHA-256 of a message as RSA signs it (RFC 8017 section 9.2): `DigestInfo` in DER.
pub(super) fn digest_info(message: &[u8]) -> Vec<u8> {
    const BEFORE: [u8; 19] = [48, 49, 48, 13, 6, 9, 96, 134, 72, 1, 101, 3, 4, 2, 1, 5, 0, 4, 32];
    [&BEFORE[..], digest(&SHA256, message).as_ref()].concat()
}

/// A point, which is not compressed, comes in an octet string; some tokens leave that away, and what they give may look
/// like one.
fn point(found: Vec<u8>) -> Vec<u8> {
    match <&OctetStringRef>::from_der(&found) {
        Ok(inside) if matches!(inside.as_bytes(), [4, rest @ ..] if [64, 96].contains(&rest.len())) => {
            inside.as_bytes().to_vec()
        }
        Ok(_) | Err(_) => found,
    }
}

fn integers(first: &[u8], second: &[u8]) -> Result<Vec<u8>, KeyError> {
    let encoded = || Two { first: UintRef::new(first)?, second: UintRef::new(second)? }.to_der();
    encoded().map_err(|_: der::Error| KeyError::Encoding)
}

fn unreadable(error: &Error) -> KeyError {
    KeyError::Token(format!("the public key of what it has made cannot be read: {}", said(error)))
}

/// An `RSAPublicKey`, or an `ECDSA-Sig-Value`.
#[derive(Sequence)]
struct Two<'a> {
    first: UintRef<'a>,
    second: UintRef<'a>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_needless_zeros_and_are_positive() {
        assert_eq!(ecdsa_signature(&[0, 1, 0x80, 0]).unwrap(), [0x30, 8, 2, 1, 1, 2, 3, 0, 0x80, 0]);
        for broken in [&[][..], &[1], &[1, 2, 3]] {
            assert_eq!(ecdsa_signature(broken), Err(KeyError::Signing));
        }
    }

    #[test]
    fn a_point_is_found_in_its_octet_string_and_without() {
        let bare = [&[4][..], &[7; 64]].concat();
        assert_eq!(point([&[4, 65][..], &bare].concat()), bare);
        assert_eq!(point(bare.clone()), bare);
        // As long as it says that it is.
        let misleading = [&[4, 63][..], &[7; 63]].concat();
        assert_eq!(point(misleading.clone()), misleading);
    }
}
