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
    pub const ALL: [Self; 2] = [Self::Database, Self::Token];

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

/// What the database knows of a key without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHome {
    pub place: KeyPlace,
    /// The id that it has in its token, in hexadecimal.
    pub id: Option<String>,
}

/// A key that was just made, and what is going to be kept of it.
pub(crate) struct NewKey {
    pub(crate) signer: Arc<dyn Signer>,
    kept: Zeroizing<Vec<u8>>,
    in_token: Option<InToken>,
}

struct InToken {
    token: Arc<Token>,
    reference: KeyReference,
    name: String,
}

impl NewKey {
    /// Takes it away from its token. Only where it is sure that no CA has it, for nothing brings it back; one that is left
    /// there for nothing, because the token is away by now, does no harm.
    pub(crate) fn discard(self) {
        if let Some(InToken { token, reference, name }) = self.in_token {
            let _ = token.destroy(&reference, &name);
        }
    }
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
            KeyPlace::Token => Arc::new(TokenKey::new(self.token.clone(), reference_in(&kept)?, &certificate.spki()?)?),
        };
        Ok(Issuer::new(certificate, signer)?)
    }

    /// Where the key of a CA is.
    pub(crate) fn home(&self, record: &IssuerRecord) -> Result<KeyHome, AnyError> {
        let kept = self.kept(record)?;
        Ok(match place_of(&kept) {
            KeyPlace::Database => KeyHome { place: KeyPlace::Database, id: None },
            KeyPlace::Token => KeyHome { place: KeyPlace::Token, id: Some(reference_in(&kept)?.hex()) },
        })
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
                Ok(NewKey { kept: key.to_pkcs8()?, signer: Arc::new(key), in_token: None })
            }
            KeyPlace::Token => {
                let none = || KeyError::Token("no token is configured: see `keys.pkcs11`".to_owned());
                let token = self.token.clone().ok_or_else(none)?;
                let key = token.generate(algorithm, name, entropy)?;
                let reference = key.reference().clone();
                let kept = Zeroizing::new(reference.to_string().into_bytes());
                let in_token = Some(InToken { token, reference, name: name.to_owned() });
                Ok(NewKey { kept, signer: Arc::new(key), in_token })
            }
        }
    }

    /// What is kept of a key, sealed for the CA that it belongs to.
    pub(crate) fn seal(&self, issuer: IssuerId, key: &NewKey) -> Vec<u8> {
        self.keyring.seal(&sealed_column("issuers").context(issuer), &key.kept)
    }

    fn kept(&self, record: &IssuerRecord) -> Result<Zeroizing<Vec<u8>>, AnyError> {
        Ok(self.keyring.open(&sealed_column("issuers").context(record.id), &record.sealed)?)
    }
}

fn place_of(kept: &[u8]) -> KeyPlace {
    if KeyReference::is_one(kept) { KeyPlace::Token } else { KeyPlace::Database }
}

fn reference_in(kept: &[u8]) -> Result<KeyReference, AnyError> {
    Ok(std::str::from_utf8(kept)?.parse()?)
}

/// What a token did not do is told to whoever asked for it; everything else is a mistake of ours.
pub(crate) fn unsigned(error: impl Into<PkiError>) -> ServiceError {
    match error.into() {
        PkiError::Key(KeyError::Token(why)) => {
            metrics::counter!("chancery_token_failures_total").increment(1);
            ServiceError::Signer(why)
        }
        other => ServiceError::internal(other),
    }
}
