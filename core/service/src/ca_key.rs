//! The keys of CAs: sealed in the database, or in a token of which the database knows which key it is.

use std::error::Error;
use std::sync::Arc;

use chancery_domain::{Entropy, IssuerId};
use chancery_pki::{
    Certificate, Issuer, KeyAlgorithm, KeyError, KeyReference, PkiError, PrivateKey, Signer, Token, TokenKey,
};
use chancery_seal::Keyring;
use chancery_store::IssuerRecord;
use zeroize::Zeroizing;

use crate::error::ServiceError;
use crate::kernel::sealed_column;

type AnyError = Box<dyn Error + Send + Sync>;

/// Where the key of a CA is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// In the database, sealed with a key that is not there.
    Database,
    /// In a token, which it never leaves.
    Token,
}

impl KeyPlace {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Token => "token",
        }
    }
}

/// All that is needed to sign with them.
#[derive(Clone)]
pub struct CaKeys {
    keyring: Keyring,
    token: Option<Arc<Token>>,
}

/// A key that was just made, and what is going to be kept of it.
pub(crate) struct NewKey {
    pub(crate) signer: Arc<dyn Signer>,
    kept: Zeroizing<Vec<u8>>,
}

impl CaKeys {
    pub fn new(keyring: Keyring, token: Option<Arc<Token>>) -> Self {
        Self { keyring, token }
    }

    /// The token, where there is one.
    pub fn token(&self) -> Option<&Arc<Token>> {
        self.token.as_ref()
    }

    /// Where new keys are made unless somebody says otherwise.
    pub(crate) fn usual_place(&self) -> KeyPlace {
        if self.token.is_some() { KeyPlace::Token } else { KeyPlace::Database }
    }

    /// A CA with its key, to sign with. A token is not asked yet.
    pub fn open(&self, record: &IssuerRecord) -> Result<Issuer, AnyError> {
        let kept = self.kept(record)?;
        let certificate = Certificate::from_der(&record.certificate)?;
        let signer: Arc<dyn Signer> = match place_of(&kept) {
            KeyPlace::Database => Arc::new(PrivateKey::from_pkcs8(&kept)?),
            KeyPlace::Token => {
                let reference: KeyReference = std::str::from_utf8(&kept)?.parse()?;
                Arc::new(TokenKey::new(self.token.clone(), reference, &certificate.spki()?)?)
            }
        };
        Ok(Issuer::new(certificate, signer)?)
    }

    /// Where the key of a CA is.
    pub(crate) fn place(&self, record: &IssuerRecord) -> Result<KeyPlace, AnyError> {
        Ok(place_of(&self.kept(record)?))
    }

    /// Makes a key for the CA with this name. An RSA key takes from tenths of a second to seconds.
    pub(crate) fn make(
        &self,
        place: KeyPlace,
        algorithm: KeyAlgorithm,
        name: &str,
        entropy: &dyn Entropy,
    ) -> Result<NewKey, KeyError> {
        match place {
            KeyPlace::Database => {
                let key = PrivateKey::generate(algorithm)?;
                Ok(NewKey { kept: key.to_pkcs8()?, signer: Arc::new(key) })
            }
            KeyPlace::Token => {
                let none = || KeyError::Token("no token is configured: see `keys.pkcs11`".to_owned());
                let key = self.token.as_ref().ok_or_else(none)?.generate(algorithm, name, entropy)?;
                let kept = Zeroizing::new(key.reference().to_string().into_bytes());
                Ok(NewKey { kept, signer: Arc::new(key) })
            }
        }
    }

    /// What is kept of a key, sealed for the CA that it belongs to.
    pub(crate) fn seal(&self, issuer: IssuerId, key: &NewKey) -> Vec<u8> {
        self.keyring.seal(&sealed_column("issuers").context(issuer), &key.kept)
    }

    /// Takes away what a token has of a CA that was not made after all. What cannot be taken away stays there, of no use.
    pub(crate) fn drop_unused(&self, record: &IssuerRecord) {
        let reference = || -> Result<KeyReference, AnyError> { Ok(std::str::from_utf8(&self.kept(record)?)?.parse()?) };
        if let (Some(token), Ok(reference)) = (&self.token, reference())
            && let Err(error) = token.destroy(&reference)
        {
            tracing::warn!(%error, key = reference.hex(), "a key that was made for nothing stays in the token");
        }
    }

    fn kept(&self, record: &IssuerRecord) -> Result<Zeroizing<Vec<u8>>, AnyError> {
        Ok(self.keyring.open(&sealed_column("issuers").context(record.id), &record.sealed)?)
    }
}

fn place_of(kept: &[u8]) -> KeyPlace {
    if KeyReference::is_one(kept) { KeyPlace::Token } else { KeyPlace::Database }
}

/// What a token did not do is told to whoever asked for it; everything else is a mistake of ours.
pub(crate) fn unsigned(error: impl Into<PkiError>) -> ServiceError {
    match error.into() {
        PkiError::Key(KeyError::Token(why)) => ServiceError::Signer(why),
        other => ServiceError::internal(other),
    }
}
