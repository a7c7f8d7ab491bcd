//! Keys that sign: the software ones, and the door for others.

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der},
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair,
        RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use zeroize::Zeroizing;

use crate::{error::KeyError, public_key::KeyAlgorithm};

/// A key that signs, wherever it lives: in this process, or in a module that keeps it.
pub trait Signer: Send + Sync {
    /// What kind of key it is.
    fn algorithm(&self) -> KeyAlgorithm;

    /// Its public key, a SubjectPublicKeyInfo in DER.
    fn spki(&self) -> &[u8];

    /// Signs the message (hashing it as its [`KeyAlgorithm`] says): for ECDSA a DER `ECDSA-Sig-Value`,
    /// for RSA the PKCS#1 v1.5 octets.
    ///
    /// Callers do not trust the answer: a certificate's signature is checked before it is given out.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError>;

    /// Whether it has to be waited for: it signs in another place, and not on the thread that asks.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// Whether it could sign now.
    fn check(&self) -> Result<(), KeyError> {
        Ok(())
    }
}

/// A private key in this process. It has no `Debug` and wipes itself.
pub struct PrivateKey {
    algorithm: KeyAlgorithm,
    pair: Pair,
    spki: Vec<u8>,
}

enum Pair {
    Ec(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl PrivateKey {
    /// A new random key. RSA takes from tenths of a second (2048) to seconds (4096).
    pub fn generate(algorithm: KeyAlgorithm) -> Result<Self, KeyError> {
        let ec = |curve| EcdsaKeyPair::generate(curve).map(Pair::Ec);
        let rsa = |size| RsaKeyPair::generate(size).map(Pair::Rsa);
        let pair = match algorithm {
            KeyAlgorithm::EcP256 => ec(&ECDSA_P256_SHA256_ASN1_SIGNING),
            KeyAlgorithm::EcP384 => ec(&ECDSA_P384_SHA384_ASN1_SIGNING),
            KeyAlgorithm::Rsa2048 => rsa(KeySize::Rsa2048),
            KeyAlgorithm::Rsa3072 => rsa(KeySize::Rsa3072),
            KeyAlgorithm::Rsa4096 => rsa(KeySize::Rsa4096),
        };
        Self::new(pair.map_err(|_| KeyError::Generation)?)
    }

    /// Reads an unencrypted PKCS#8 key; any kind in [`KeyAlgorithm`], nothing else.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, KeyError> {
        let ec = |curve: &'static EcdsaSigningAlgorithm| EcdsaKeyPair::from_pkcs8(curve, der).map(Pair::Ec);
        let pair = ec(&ECDSA_P256_SHA256_ASN1_SIGNING)
            .or_else(|_| ec(&ECDSA_P384_SHA384_ASN1_SIGNING))
            .or_else(|_| RsaKeyPair::from_pkcs8(der).map(Pair::Rsa));
        Self::new(pair.map_err(|_| KeyError::Unsupported)?)
    }

    /// The key as PKCS#8 version 1 in DER, which [`from_pkcs8`](Self::from_pkcs8) reads back. Unencrypted: seal it.
    pub fn to_pkcs8(&self) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        let copied = |der: &[u8]| Zeroizing::new(der.to_vec());
        match &self.pair {
            Pair::Ec(pair) => pair.to_pkcs8v1().map(|der| copied(der.as_ref())),
            Pair::Rsa(pair) => AsDer::<Pkcs8V1Der<'_>>::as_der(pair).map(|der| copied(der.as_ref())),
        }
        .map_err(|_| KeyError::Encoding)
    }

    /// The public key, a SubjectPublicKeyInfo in DER.
    pub fn public_key_info(&self) -> &[u8] {
        &self.spki
    }

    fn new(pair: Pair) -> Result<Self, KeyError> {
        let spki = match &pair {
            Pair::Ec(pair) => AsDer::<PublicKeyX509Der<'_>>::as_der(pair.public_key()),
            Pair::Rsa(pair) => AsDer::<PublicKeyX509Der<'_>>::as_der(pair.public_key()),
        };
        let spki = spki.map_err(|_| KeyError::Encoding)?.as_ref().to_vec();
        let algorithm = KeyAlgorithm::of(&spki).ok_or(KeyError::Unsupported)?;
        Ok(Self { algorithm, pair, spki })
    }
}

impl Signer for PrivateKey {
    fn algorithm(&self) -> KeyAlgorithm {
        self.algorithm
    }

    fn spki(&self) -> &[u8] {
        &self.spki
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ec(pair) => pair.sign(&random, message).map(|signature| signature.as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map(|()| signature)
            }
        }
        .map_err(|_| KeyError::Signing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::public_key::verify;

    #[test]
    fn every_kind_of_key_signs_the_same_after_it_was_stored() {
        for algorithm in KeyAlgorithm::ALL {
            let key = PrivateKey::generate(algorithm).unwrap();
            let again = PrivateKey::from_pkcs8(&key.to_pkcs8().unwrap()).unwrap();
            assert_eq!(again.algorithm(), algorithm);
            assert_eq!(again.public_key_info(), key.public_key_info());
            let mut signature = again.sign(b"message").unwrap();
            assert_eq!(verify(key.spki(), b"message", &signature), Ok(()));
            assert_eq!(verify(key.spki(), b"massage", &signature), Err(KeyError::BadSignature));
            *signature.last_mut().unwrap() ^= 1;
            assert_eq!(verify(key.spki(), b"message", &signature), Err(KeyError::BadSignature));
        }
    }

    #[test]
    fn what_is_not_a_key_of_ours_is_refused() {
        use aws_lc_rs::signature::{ECDSA_P521_SHA512_ASN1_SIGNING, Ed25519KeyPair};
        let p521 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P521_SHA512_ASN1_SIGNING, &SystemRandom::new()).unwrap();
        let ed25519 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        for der in [p521.as_ref(), ed25519.as_ref(), b"", b"not a key"] {
            assert_eq!(PrivateKey::from_pkcs8(der).err(), Some(KeyError::Unsupported));
        }
    }
}
