//! A key in a token, and how the database remembers which.

use std::{fmt, str::FromStr, sync::Arc};

use aws_lc_rs::digest::{SHA256, SHA384, digest};
use data_encoding::HEXUPPER;

use super::{
    Token,
    encoding::{digest_info, ecdsa_signature},
};
use crate::{
    error::KeyError,
    keys::Signer,
    public_key::{KeyAlgorithm, verify},
};

/// By which a key is found in its token: a URI of RFC 7512 with nothing but the id, so that a token can be replaced by
/// another with the same keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyReference(Vec<u8>);

const SCHEME: &str = "pkcs11:id=";

impl KeyReference {
    pub(super) fn new(id: Vec<u8>) -> Self {
        Self(id)
    }

    /// The `CKA_ID` of the key.
    pub fn id(&self) -> &[u8] {
        &self.0
    }

    /// The `CKA_ID` of the key in hexadecimal, as tools show it.
    pub fn hex(&self) -> String {
        HEXUPPER.encode(&self.0)
    }

    /// Whether what was kept is a reference, and not a key.
    pub fn is_one(kept: &[u8]) -> bool {
        kept.starts_with(SCHEME.as_bytes())
    }
}

impl fmt::Display for KeyReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        self.0.iter().try_for_each(|octet| write!(f, "%{octet:02X}"))
    }
}

impl FromStr for KeyReference {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let hex = text.strip_prefix(SCHEME).ok_or(KeyError::Unsupported)?;
        let octets = hex.strip_prefix('%').ok_or(KeyError::Unsupported)?.split('%');
        let read = |octet: &str| HEXUPPER.decode(octet.as_bytes()).ok().filter(|read| read.len() == 1);
        let id: Option<Vec<_>> = octets.map(read).collect();
        Ok(Self(id.ok_or(KeyError::Unsupported)?.concat()))
    }
}

/// What a key signs to show that it does.
const PROBE: &[u8] = b"whether this key signs";

/// A key that signs in its token. It is looked for when it has to sign, and not before.
#[derive(Debug)]
pub struct TokenKey {
    token: Option<Arc<Token>>,
    reference: KeyReference,
    algorithm: KeyAlgorithm,
    spki: Vec<u8>,
}

impl TokenKey {
    /// The key with this public key, a SubjectPublicKeyInfo in DER. Without a token it signs nothing, and says why.
    pub fn new(token: Option<Arc<Token>>, reference: KeyReference, spki: &[u8]) -> Result<Self, KeyError> {
        let algorithm = KeyAlgorithm::of(spki).ok_or(KeyError::Unsupported)?;
        Ok(Self { token, reference, algorithm, spki: spki.to_vec() })
    }

    /// By which it is found again.
    pub fn reference(&self) -> &KeyReference {
        &self.reference
    }

    fn token(&self) -> Result<&Token, KeyError> {
        let missing = || KeyError::Token("the key is in a token, and none is configured: see `keys.pkcs11`".to_owned());
        self.token.as_deref().ok_or_else(missing)
    }
}

impl Signer for TokenKey {
    fn algorithm(&self) -> KeyAlgorithm {
        self.algorithm
    }

    fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// What is signed is hashed here: lists of revocations are long, and tokens are slow. What comes back is checked here,
    /// too: another key under the same id is the token's trouble, and not that of what was to be signed.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let token = self.token()?;
        let ecdsa = |hash| {
            let hashed = digest(hash, message).as_ref().to_vec();
            ecdsa_signature(&token.sign(&self.reference, self.algorithm, hashed)?)
        };
        let signature = match self.algorithm {
            KeyAlgorithm::EcP256 => ecdsa(&SHA256),
            KeyAlgorithm::EcP384 => ecdsa(&SHA384),
            KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => {
                token.sign(&self.reference, self.algorithm, digest_info(message))
            }
        }?;
        match verify(&self.spki, message, &signature) {
            Ok(()) => Ok(signature),
            Err(_) => Err(KeyError::Token(format!(
                "the key with the id {} in the token {:?} is another one, or signs wrongly",
                self.reference.hex(),
                token.label()
            ))),
        }
    }

    fn is_elsewhere(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), KeyError> {
        self.sign(PROBE).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_written_in_one_way() {
        let reference = KeyReference::new(vec![0, 0xAB, 0xFF]);
        assert_eq!(reference.to_string(), "pkcs11:id=%00%AB%FF");
        assert_eq!(reference.hex(), "00ABFF");
        assert_eq!(reference.to_string().parse(), Ok(reference));
        assert!(KeyReference::is_one(b"pkcs11:id=%00") && !KeyReference::is_one(b"0\x82\x01"));
        for other in ["", "pkcs11:", "pkcs11:id=", "pkcs11:id=00", "pkcs11:id=%0", "pkcs11:id=%ab", "pkcs11:id=%AB%"] {
            assert_eq!(other.parse::<KeyReference>(), Err(KeyError::Unsupported), "{other}");
        }
    }

    #[test]
    fn without_a_token_it_says_so() {
        let software = crate::PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
        let key = TokenKey::new(None, KeyReference::new(vec![1]), software.spki()).unwrap();
        assert_eq!((key.algorithm(), key.spki()), (KeyAlgorithm::EcP256, software.spki()));
        let said = key.sign(b"message").unwrap_err().to_string();
        assert!(said.contains("none is configured"), "{said}");
        assert_eq!(key.check().unwrap_err().to_string(), said);
    }
}
