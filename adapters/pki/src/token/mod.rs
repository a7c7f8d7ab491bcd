//! Keys that never leave the module that made them: PKCS #11.

mod encoding;
mod key;
mod login;
mod making;
mod module;
mod session;
mod threads;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use chancery_domain::{Entropy, Secret};

pub use self::key::{KeyReference, TokenKey};
use self::{login::Login, session::KeptSession, threads::TokenThreads};
use crate::{error::KeyError, keys::Signer, public_key::KeyAlgorithm};

/// Which token it is, and how to get in.
#[derive(Clone)]
pub struct TokenChoice {
    /// The library that the maker of the HSM brings along.
    pub module: PathBuf,
    /// The label of the token.
    pub label: String,
    /// Asked whenever one has to log in, so that another PIN can take the place of the one there was.
    pub pin: ReadPin,
}

/// Where the PIN comes from, or why it does not.
pub type ReadPin = Arc<dyn Fn() -> Result<Secret, String> + Send + Sync>;

/// How long one waits for a signature.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one waits for a new key: slow tokens take a minute for RSA.
const PATIENCE_FOR_KEYS: Duration = Duration::from_secs(180);

/// A token that holds keys. Nothing is asked of it before a key is needed, and nobody waits for it for ever.
pub struct Token {
    login: Arc<Login>,
    threads: TokenThreads,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TokenChoice { module, label, .. } = &self.login.choice;
        f.debug_struct("Token").field("module", module).field("label", label).finish()
    }
}

impl Token {
    /// That token, without asking for it yet.
    pub fn new(choice: TokenChoice) -> Arc<Self> {
        Arc::new(Self { login: Arc::new(Login::new(choice)), threads: TokenThreads::default() })
    }

    /// Its label.
    pub fn label(&self) -> &str {
        &self.login.choice.label
    }

    /// Makes a key that cannot be taken out, and has it sign once, so that one that does not is found now. The name is for
    /// those who look into the token with other tools.
    pub fn generate(
        self: &Arc<Self>,
        algorithm: KeyAlgorithm,
        name: &str,
        entropy: &dyn Entropy,
    ) -> Result<TokenKey, KeyError> {
        let (login, id, named) = (self.login.clone(), entropy.bytes::<16>().to_vec(), name.to_owned());
        let make = move |kept: &mut Option<KeptSession>| {
            *kept = None;
            making::make(&login, algorithm, &named, &id)
        };
        let (login, named) = (self.login.clone(), name.to_owned());
        let undo = move |(reference, _): (KeyReference, Vec<u8>)| {
            let _ = making::destroy(&login, &reference, &named);
        };
        let (reference, spki) = self.threads.ask_or_undo(PATIENCE_FOR_KEYS, make, undo)?;
        let tried =
            TokenKey::new(Some(self.clone()), reference.clone(), &spki).and_then(|key| key.check().map(|()| key));
        tried.inspect_err(|_| {
            // Of no use to anybody. A token that does not let go of it keeps it, under its name.
            let _ = self.destroy(&reference, name);
        })
    }

    /// Takes a key away that was made for nothing, with its public half.
    pub fn destroy(&self, key: &KeyReference, name: &str) -> Result<(), KeyError> {
        let (login, key, name) = (self.login.clone(), key.clone(), name.to_owned());
        self.threads.ask(PATIENCE, move |kept| {
            *kept = None;
            making::destroy(&login, &key, &name)
        })
    }

    /// Whether it can be reached, and lets us in.
    pub fn check(&self) -> Result<(), KeyError> {
        let login = self.login.clone();
        self.threads.ask(PATIENCE, move |kept| {
            *kept = None;
            login.enter().map(drop)
        })
    }

    /// Has a key sign what was hashed before.
    fn sign(&self, key: &KeyReference, algorithm: KeyAlgorithm, hashed: Vec<u8>) -> Result<Vec<u8>, KeyError> {
        let (login, wanted) = (self.login.clone(), key.clone());
        let sign = move |kept: &mut Option<KeptSession>| KeptSession::sign(kept, &login, &wanted, algorithm, &hashed);
        let lacks = || format!("the token {:?} has no private key with the id {}", self.label(), key.hex());
        self.threads.ask(PATIENCE, sign)?.ok_or_else(|| KeyError::Token(lacks()))
    }
}
