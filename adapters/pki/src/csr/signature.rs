//! The signature of a request: proof that whoever asks has the private key (RFC 2986 section 4.2).

use aws_lc_rs::{
    digest,
    signature::{
        ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P256_SHA512_ASN1, ECDSA_P384_SHA256_ASN1,
        ECDSA_P384_SHA384_ASN1, ECDSA_P384_SHA512_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256,
        RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, UnparsedPublicKey, VerificationAlgorithm,
    },
};
use der::{
    Decode,
    oid::db::{rfc5912, rfc8410::ID_ED_25519},
};
use num_bigint::BigUint;
use spki::AlgorithmIdentifierRef;

use crate::key::{Material, SubscriberKey};

/// What is wrong with a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignatureProblem {
    /// An algorithm that is broken, unknown, or not one of the key's.
    Unsupported,
    /// It was not made by this key over these bytes.
    Wrong,
}

#[derive(Clone, Copy)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

pub(super) fn verify(
    key: &SubscriberKey,
    algorithm: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), SignatureProblem> {
    use Hash::{Sha256, Sha384, Sha512};
    let oid = AlgorithmIdentifierRef::from_der(algorithm).map_err(|_| SignatureProblem::Unsupported)?.oid;
    let with: &dyn VerificationAlgorithm = match &key.material {
        Material::Rsa { modulus, exponent } => {
            let hash = match oid {
                rfc5912::SHA_256_WITH_RSA_ENCRYPTION => Sha256,
                rfc5912::SHA_384_WITH_RSA_ENCRYPTION => Sha384,
                rfc5912::SHA_512_WITH_RSA_ENCRYPTION => Sha512,
                _ => return Err(SignatureProblem::Unsupported),
            };
            // The crypto library takes exponents of up to 33 bits, the rules allow 256.
            if exponent.bits() > 33 {
                return rsa_with_long_exponent(modulus, exponent, hash, message, signature);
            }
            match hash {
                Sha256 => &RSA_PKCS1_2048_8192_SHA256,
                Sha384 => &RSA_PKCS1_2048_8192_SHA384,
                Sha512 => &RSA_PKCS1_2048_8192_SHA512,
            }
        }
        Material::EcP256 => match oid {
            rfc5912::ECDSA_WITH_SHA_256 => &ECDSA_P256_SHA256_ASN1,
            rfc5912::ECDSA_WITH_SHA_384 => &ECDSA_P256_SHA384_ASN1,
            rfc5912::ECDSA_WITH_SHA_512 => &ECDSA_P256_SHA512_ASN1,
            _ => return Err(SignatureProblem::Unsupported),
        },
        Material::EcP384 => match oid {
            rfc5912::ECDSA_WITH_SHA_256 => &ECDSA_P384_SHA256_ASN1,
            rfc5912::ECDSA_WITH_SHA_384 => &ECDSA_P384_SHA384_ASN1,
            rfc5912::ECDSA_WITH_SHA_512 => &ECDSA_P384_SHA512_ASN1,
            _ => return Err(SignatureProblem::Unsupported),
        },
        Material::Ed25519 if oid == ID_ED_25519 => &ED25519,
        Material::Ed25519 => return Err(SignatureProblem::Unsupported),
    };
    UnparsedPublicKey::new(with, key.spki()).verify(message, signature).map_err(|_| SignatureProblem::Wrong)
}

/// RSASSA-PKCS1-v1_5 by its definition (RFC 8017 section 8.2.2): everything in it is public, so timing does not matter.
fn rsa_with_long_exponent(
    modulus: &BigUint,
    exponent: &BigUint,
    hash: Hash,
    message: &[u8],
    signature: &[u8],
) -> Result<(), SignatureProblem> {
    let length = usize::try_from(modulus.bits().div_ceil(8)).map_err(|_| SignatureProblem::Unsupported)?;
    let signature_number = BigUint::from_bytes_be(signature);
    // Bounds the work: longer keys are refused anyway.
    if length > 512 || exponent.bits() > 256 {
        return Err(SignatureProblem::Unsupported);
    }
    if signature.len() != length || signature_number >= *modulus {
        return Err(SignatureProblem::Wrong);
    }
    // DigestInfo up to the digest itself (RFC 8017 section 9.2, note 1).
    let (info, algorithm): (&[u8], _) = match hash {
        Hash::Sha256 => {
            (b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20", &digest::SHA256)
        }
        Hash::Sha384 => {
            (b"\x30\x41\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02\x05\x00\x04\x30", &digest::SHA384)
        }
        Hash::Sha512 => {
            (b"\x30\x51\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x03\x05\x00\x04\x40", &digest::SHA512)
        }
    };
    let digest = digest::digest(algorithm, message);
    let padding = length.checked_sub(3 + info.len() + digest.as_ref().len()).filter(|padding| *padding >= 8);
    let padding = vec![0xff; padding.ok_or(SignatureProblem::Wrong)?];
    let expected = [&[0, 1], padding.as_slice(), &[0], info, digest.as_ref()].concat();
    let recovered = signature_number.modpow(exponent, modulus);
    if recovered == BigUint::from_bytes_be(&expected) { Ok(()) } else { Err(SignatureProblem::Wrong) }
}
