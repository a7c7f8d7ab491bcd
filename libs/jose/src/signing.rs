//! Keys that sign: ES256 key pairs and HMAC secrets. Neither can be printed.

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use zeroize::Zeroizing;

use crate::Algorithm::{ES256, HS256, HS384, HS512};
use crate::{Algorithm, Jwk, JwsError, KeyError, Verifier, jwk};

/// Something that signs the signing input of a JWS.
pub trait Signer {
    /// The one algorithm it signs with; it becomes the `alg` of the header.
    fn algorithm(&self) -> Algorithm;
    /// The signature in its JOSE form.
    fn sign(&self, input: &[u8]) -> Result<Vec<u8>, KeyError>;
}

/// An ES256 key pair.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    public: Jwk,
}

impl SigningKey {
    /// Makes a new key from the randomness of the cryptographic library.
    pub fn generate() -> Result<Self, KeyError> {
        Self::new(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(|_| KeyError::Crypto)?)
    }

    /// Reads a key from PKCS#8 DER; anything but a P-256 key is refused.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        Self::new(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der).map_err(|_| KeyError::Pkcs8)?)
    }

    /// The key as PKCS#8 DER, in memory that is wiped when dropped.
    pub fn to_pkcs8(&self) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let document = self.pair.to_pkcs8v1().map_err(|_| KeyError::Crypto)?;
        Ok(Zeroizing::new(document.as_ref().to_vec()))
    }

    /// The public half.
    pub fn public(&self) -> &Jwk {
        &self.public
    }

    fn new(pair: EcdsaKeyPair) -> Result<Self, KeyError> {
        let public = Jwk::from_point(jwk::P256, pair.public_key().as_ref())?;
        Ok(Self { pair, public })
    }
}

impl Signer for SigningKey {
    fn algorithm(&self) -> Algorithm {
        ES256
    }

    fn sign(&self, input: &[u8]) -> Result<Vec<u8>, KeyError> {
        let signature = self.pair.sign(&SystemRandom::new(), input).map_err(|_| KeyError::Crypto)?;
        Ok(signature.as_ref().to_vec())
    }
}

/// A shared secret bound to one HMAC algorithm, and the only thing that verifies an HMAC.
pub struct HmacKey {
    alg: Algorithm,
    key: hmac::Key,
}

impl HmacKey {
    /// Binds a secret to HS256, HS384 or HS512. It must be as long as the hash, or longer (RFC 7518 section 3.2).
    pub fn new(alg: Algorithm, secret: &[u8]) -> Result<Self, KeyError> {
        let hash = hash_of(alg).filter(|hash| secret.len() >= hash.tag_len()).ok_or(KeyError::Hmac(alg.name()))?;
        Ok(Self { alg, key: hmac::Key::new(hash, secret) })
    }

    /// Binds a secret of 256 bits or more to any of the three: where one secret was handed out for all of them, it may
    /// be shorter than the longest hash, and is still longer than anybody can guess.
    pub fn of_one_secret(alg: Algorithm, secret: &[u8]) -> Result<Self, KeyError> {
        let hash = hash_of(alg).filter(|_| secret.len() >= 32).ok_or(KeyError::Hmac(alg.name()))?;
        Ok(Self { alg, key: hmac::Key::new(hash, secret) })
    }
}

fn hash_of(alg: Algorithm) -> Option<hmac::Algorithm> {
    let hashes = [(HS256, hmac::HMAC_SHA256), (HS384, hmac::HMAC_SHA384), (HS512, hmac::HMAC_SHA512)];
    hashes.into_iter().find(|(own, _)| *own == alg).map(|(_, hash)| hash)
}

impl Signer for HmacKey {
    fn algorithm(&self) -> Algorithm {
        self.alg
    }

    fn sign(&self, input: &[u8]) -> Result<Vec<u8>, KeyError> {
        Ok(hmac::sign(&self.key, input).as_ref().to_vec())
    }
}

impl Verifier for HmacKey {
    /// Compares in constant time.
    fn verify(&self, alg: Algorithm, input: &[u8], signature: &[u8]) -> Result<(), JwsError> {
        if alg != self.alg {
            return Err(JwsError::AlgorithmDoesNotFit(alg.name()));
        }
        hmac::verify(&self.key, input, signature).map_err(|_| JwsError::BadSignature)
    }
}
