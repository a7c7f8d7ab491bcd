//! Kinds of keys, told from a public key, and signatures checked with one.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P256_SHA512_ASN1, ECDSA_P384_SHA256_ASN1,
    ECDSA_P384_SHA384_ASN1, ECDSA_P384_SHA512_ASN1, ECDSA_P521_SHA256_ASN1, ECDSA_P521_SHA384_ASN1,
    ECDSA_P521_SHA512_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, UnparsedPublicKey, VerificationAlgorithm,
};
use chancery_domain::KeyType;
use der::{
    Any, Decode, Sequence,
    asn1::{ObjectIdentifier, UintRef},
    oid::db::{rfc5912, rfc8410::ID_ED_25519},
};
use spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoRef};

use crate::error::KeyError;

/// The keys that may sign certificates here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyAlgorithm {
    /// ECDSA on NIST P-256, signing with SHA-256.
    EcP256,
    /// ECDSA on NIST P-384, signing with SHA-384.
    EcP384,
    /// RSA of 2048 bits, signing PKCS#1 v1.5 with SHA-256.
    Rsa2048,
    /// RSA of 3072 bits, signing PKCS#1 v1.5 with SHA-256.
    Rsa3072,
    /// RSA of 4096 bits, signing PKCS#1 v1.5 with SHA-256.
    Rsa4096,
}

impl KeyAlgorithm {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::EcP256, Self::EcP384, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];

    /// The kind of this public key (a DER SubjectPublicKeyInfo), if it is one of ours.
    pub fn of(spki: &[u8]) -> Option<Self> {
        match Shape::of(SubjectPublicKeyInfoRef::from_der(spki).ok()?) {
            Shape::Ec(rfc5912::SECP_256_R_1) => Some(Self::EcP256),
            Shape::Ec(rfc5912::SECP_384_R_1) => Some(Self::EcP384),
            Shape::Rsa(2048) => Some(Self::Rsa2048),
            Shape::Rsa(3072) => Some(Self::Rsa3072),
            Shape::Rsa(4096) => Some(Self::Rsa4096),
            Shape::Ec(_) | Shape::Rsa(_) | Shape::Other(_) => None,
        }
    }

    /// How certificates name the signatures of such a key: RFC 5758 section 3.2 for ECDSA (no
    /// parameters), RFC 4055 section 5 for RSA (NULL parameters).
    pub(crate) fn signature_algorithm(self) -> AlgorithmIdentifierOwned {
        let (oid, parameters) = match self {
            Self::EcP256 => (rfc5912::ECDSA_WITH_SHA_256, None),
            Self::EcP384 => (rfc5912::ECDSA_WITH_SHA_384, None),
            Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096 => (rfc5912::SHA_256_WITH_RSA_ENCRYPTION, Some(Any::null())),
        };
        AlgorithmIdentifierOwned { oid, parameters }
    }

    fn verification(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::EcP256 => &ECDSA_P256_SHA256_ASN1,
            Self::EcP384 => &ECDSA_P384_SHA384_ASN1,
            Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096 => &RSA_PKCS1_2048_8192_SHA256,
        }
    }
}

/// A subscriber may have a key of a kind that no CA of ours signs with.
impl TryFrom<KeyType> for KeyAlgorithm {
    type Error = KeyError;

    fn try_from(key_type: KeyType) -> Result<Self, KeyError> {
        match key_type {
            KeyType::EcP256 => Ok(Self::EcP256),
            KeyType::EcP384 => Ok(Self::EcP384),
            KeyType::Rsa2048 => Ok(Self::Rsa2048),
            KeyType::Rsa3072 => Ok(Self::Rsa3072),
            KeyType::Rsa4096 => Ok(Self::Rsa4096),
            KeyType::Ed25519 => Err(KeyError::Unsupported),
        }
    }
}

impl From<KeyAlgorithm> for KeyType {
    fn from(algorithm: KeyAlgorithm) -> Self {
        match algorithm {
            KeyAlgorithm::EcP256 => Self::EcP256,
            KeyAlgorithm::EcP384 => Self::EcP384,
            KeyAlgorithm::Rsa2048 => Self::Rsa2048,
            KeyAlgorithm::Rsa3072 => Self::Rsa3072,
            KeyAlgorithm::Rsa4096 => Self::Rsa4096,
        }
    }
}

/// Checks a signature with the public key (a DER SubjectPublicKeyInfo) and the hash that goes with
/// its kind.
pub fn verify(spki: &[u8], message: &[u8], signature: &[u8]) -> Result<(), KeyError> {
    let algorithm = KeyAlgorithm::of(spki).ok_or(KeyError::Unsupported)?;
    UnparsedPublicKey::new(algorithm.verification(), spki)
        .verify(message, signature)
        .map_err(|_| KeyError::BadSignature)
}

/// Whether a signature of anybody's CA verifies; none for a kind of key or signature that we do not know.
pub(crate) fn verify_any(spki: &[u8], algorithm: ObjectIdentifier, message: &[u8], signature: &[u8]) -> Option<bool> {
    use rfc5912::{
        ECDSA_WITH_SHA_256, ECDSA_WITH_SHA_384, ECDSA_WITH_SHA_512, SECP_256_R_1, SECP_384_R_1, SECP_521_R_1,
        SHA_256_WITH_RSA_ENCRYPTION, SHA_384_WITH_RSA_ENCRYPTION, SHA_512_WITH_RSA_ENCRYPTION,
    };
    let shape = Shape::of(SubjectPublicKeyInfoRef::from_der(spki).ok()?);
    let with: &dyn VerificationAlgorithm = match (shape, algorithm) {
        (Shape::Rsa(2048..=8192), SHA_256_WITH_RSA_ENCRYPTION) => &RSA_PKCS1_2048_8192_SHA256,
        (Shape::Rsa(2048..=8192), SHA_384_WITH_RSA_ENCRYPTION) => &RSA_PKCS1_2048_8192_SHA384,
        (Shape::Rsa(2048..=8192), SHA_512_WITH_RSA_ENCRYPTION) => &RSA_PKCS1_2048_8192_SHA512,
        (Shape::Ec(SECP_256_R_1), ECDSA_WITH_SHA_256) => &ECDSA_P256_SHA256_ASN1,
        (Shape::Ec(SECP_256_R_1), ECDSA_WITH_SHA_384) => &ECDSA_P256_SHA384_ASN1,
        (Shape::Ec(SECP_256_R_1), ECDSA_WITH_SHA_512) => &ECDSA_P256_SHA512_ASN1,
        (Shape::Ec(SECP_384_R_1), ECDSA_WITH_SHA_256) => &ECDSA_P384_SHA256_ASN1,
        (Shape::Ec(SECP_384_R_1), ECDSA_WITH_SHA_384) => &ECDSA_P384_SHA384_ASN1,
        (Shape::Ec(SECP_384_R_1), ECDSA_WITH_SHA_512) => &ECDSA_P384_SHA512_ASN1,
        (Shape::Ec(SECP_521_R_1), ECDSA_WITH_SHA_256) => &ECDSA_P521_SHA256_ASN1,
        (Shape::Ec(SECP_521_R_1), ECDSA_WITH_SHA_384) => &ECDSA_P521_SHA384_ASN1,
        (Shape::Ec(SECP_521_R_1), ECDSA_WITH_SHA_512) => &ECDSA_P521_SHA512_ASN1,
        (Shape::Other(ID_ED_25519), ID_ED_25519) => &ED25519,
        (Shape::Rsa(_) | Shape::Ec(_) | Shape::Other(_), _) => return None,
    };
    Some(UnparsedPublicKey::new(with, spki).verify(message, signature).is_ok())
}

/// The kind of any public key, as [`KeyType`] spells it ("ec-p256", "rsa-2048"), or an object identifier.
pub(crate) fn describe(spki: SubjectPublicKeyInfoRef<'_>) -> String {
    match Shape::of(spki) {
        Shape::Ec(rfc5912::SECP_256_R_1) => KeyType::EcP256.to_string(),
        Shape::Ec(rfc5912::SECP_384_R_1) => KeyType::EcP384.to_string(),
        Shape::Ec(rfc5912::SECP_521_R_1) => "ec-p521".to_owned(),
        Shape::Ec(curve) => format!("ec-{curve}"),
        Shape::Rsa(bits) => format!("rsa-{bits}"),
        Shape::Other(ID_ED_25519) => KeyType::Ed25519.to_string(),
        Shape::Other(oid) => oid.to_string(),
    }
}

/// What a SubjectPublicKeyInfo says about its key.
enum Shape {
    Ec(ObjectIdentifier),
    Rsa(usize),
    Other(ObjectIdentifier),
}

/// RFC 8017 appendix A.1.1.
#[derive(Sequence)]
struct RsaPublicKey<'a> {
    modulus: UintRef<'a>,
    #[allow(dead_code, reason = "part of the structure")]
    public_exponent: UintRef<'a>,
}

impl Shape {
    fn of(spki: SubjectPublicKeyInfoRef<'_>) -> Self {
        let oid = spki.algorithm.oid;
        let shape = match oid {
            rfc5912::ID_EC_PUBLIC_KEY => spki.algorithm.parameters_oid().ok().map(Self::Ec),
            rfc5912::RSA_ENCRYPTION => spki
                .subject_public_key
                .as_bytes()
                .and_then(|key| RsaPublicKey::from_der(key).ok())
                .map(|key| Self::Rsa(bits(key.modulus.as_bytes()))),
            _ => None,
        };
        shape.unwrap_or(Self::Other(oid))
    }
}

fn bits(big_endian: &[u8]) -> usize {
    let significant = big_endian.iter().skip_while(|byte| **byte == 0);
    significant.clone().next().map_or(0, |first| significant.count() * 8 - first.leading_zeros() as usize)
}
