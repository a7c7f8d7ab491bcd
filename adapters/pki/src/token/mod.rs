//! Keys that never leave the module that made them: PKCS #11.

mod encoding;
mod key;
mod module;
mod seats;

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use chancery_domain::{Entropy, Secret};
use cryptoki::{
    context::Pkcs11,
    error::{Error, RvError},
    mechanism::Mechanism,
    object::{Attribute, ObjectHandle},
    session::{Session, UserType},
    slot::Slot,
    types::AuthPin,
};
use der::Encode;

pub use self::key::{KeyReference, TokenKey};
use self::{
    encoding::Shape,
    module::{load, said},
    seats::{Seats, find},
};
use crate::{
    error::KeyError,
    keys::Signer,
    public_key::{KeyAlgorithm, verify},
};

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

/// A token that holds keys. Nothing is asked of it before a key is needed, and it may go away and come back.
pub struct Token {
    choice: TokenChoice,
    seats: Seats,
    /// A PIN that was refused is not tried again: after a few times tokens lock themselves.
    refused: Mutex<Option<Secret>>,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("module", &self.choice.module).field("label", &self.choice.label).finish()
    }
}

impl Token {
    /// That token, without asking for it yet.
    pub fn new(choice: TokenChoice) -> Arc<Self> {
        Arc::new(Self { choice, seats: Seats::default(), refused: Mutex::default() })
    }

    /// Its label.
    pub fn label(&self) -> &str {
        &self.choice.label
    }

    /// Makes a key that cannot be taken out, and has it sign once, so that one that does not is found now. The name is for
    /// those who look into the token with other tools.
    pub fn generate(
        self: &Arc<Self>,
        algorithm: KeyAlgorithm,
        name: &str,
        entropy: &dyn Entropy,
    ) -> Result<TokenKey, KeyError> {
        let reference = KeyReference::new(entropy.bytes::<16>().to_vec());
        let session = self.session(Pkcs11::open_rw_session)?;
        let (public, _) = make(&session, algorithm, name, reference.id()).map_err(|error| self.trouble(&error))?;
        let tried = || {
            let spki = encoding::public_key(&session, public, algorithm)?;
            let key = TokenKey::new(Some(self.clone()), reference.clone(), &spki)?;
            verify(&spki, PROBE, &key.sign(PROBE)?)?;
            Ok(key)
        };
        tried().inspect_err(|_| {
            // Of no use to anybody. A token that does not let go of it keeps it, under its name.
            let _ = self.destroy(&reference);
        })
    }

    /// Takes a key away that was made for nothing.
    pub fn destroy(&self, reference: &KeyReference) -> Result<(), KeyError> {
        let session = self.session(Pkcs11::open_rw_session)?;
        let objects = session.find_objects(&[Attribute::Id(reference.id().to_vec())]);
        let gone = objects.and_then(|objects| objects.into_iter().try_for_each(|each| session.destroy_object(each)));
        gone.map_err(|error| self.trouble(&error))
    }

    /// Whether it can be reached, and lets us in.
    pub fn check(&self) -> Result<(), KeyError> {
        self.session(Pkcs11::open_ro_session).map(drop)
    }

    /// Has a key sign what was hashed before.
    fn sign(&self, key: &KeyReference, mechanism: &Mechanism<'_>, hashed: &[u8]) -> Result<Vec<u8>, KeyError> {
        let signature = self.seats.with(
            || self.session(Pkcs11::open_ro_session),
            |seat| seat.sign(key, mechanism, hashed),
            |error| self.trouble(error),
        )?;
        signature.ok_or_else(|| self.lacks(key))
    }

    /// Whether it has the key, and lets us use it.
    fn require(&self, key: &KeyReference) -> Result<(), KeyError> {
        let found = find(&self.session(Pkcs11::open_ro_session)?, key).map_err(|error| self.trouble(&error))?;
        found.map(drop).ok_or_else(|| self.lacks(key))
    }

    fn lacks(&self, reference: &KeyReference) -> KeyError {
        KeyError::Token(format!("the token {:?} has no private key with the id {}", self.label(), reference.hex()))
    }

    /// A session that is logged in.
    fn session(&self, open: fn(&Pkcs11, Slot) -> Result<Session, Error>) -> Result<Session, KeyError> {
        let module = load(&self.choice.module)?;
        let session = open(&module, self.slot(&module)?).map_err(|error| self.trouble(&error))?;
        self.log_in(&session)?;
        Ok(session)
    }

    /// Where the token is plugged in now.
    fn slot(&self, module: &Pkcs11) -> Result<Slot, KeyError> {
        let slots = module.get_slots_with_token().map_err(|error| self.trouble(&error))?;
        let ours =
            |slot: &Slot| module.get_token_info(*slot).is_ok_and(|token| token.label().trim_end() == self.label());
        let mut found = slots.into_iter().filter(ours);
        match (found.next(), found.next()) {
            (Some(slot), None) => Ok(slot),
            (Some(_), Some(_)) => Err(KeyError::Token(format!("several tokens have the label {:?}", self.label()))),
            (None, _) => Err(KeyError::Token(format!("there is no token with the label {:?}", self.label()))),
        }
    }

    /// All sessions of a process are logged in when one is.
    fn log_in(&self, session: &Session) -> Result<(), KeyError> {
        let pin = (self.choice.pin)().map_err(KeyError::Token)?;
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.as_ref().is_some_and(|refused| refused.reveal() == pin.reveal()) {
            let label = self.label();
            return Err(KeyError::Token(format!(
                "the token {label:?} has refused the PIN, which is not tried again: put the right one into its place"
            )));
        }
        match session.login(UserType::User, Some(&AuthPin::new(pin.reveal().into()))) {
            Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => Ok(()),
            Err(error @ Error::Pkcs11(RvError::PinIncorrect | RvError::PinLenRange | RvError::PinInvalid, _)) => {
                *refused = Some(pin);
                Err(self.trouble(&error))
            }
            Err(error) => Err(self.trouble(&error)),
        }
    }

    fn trouble(&self, error: &Error) -> KeyError {
        KeyError::Token(format!("the token {:?} did not do it: {}", self.label(), said(error)))
    }
}

/// What a new key signs, to show that it does.
const PROBE: &[u8] = b"a key that was just made";

fn make(
    session: &Session,
    algorithm: KeyAlgorithm,
    name: &str,
    id: &[u8],
) -> Result<(ObjectHandle, ObjectHandle), Error> {
    let named = [Attribute::Token(true), Attribute::Label(name.into()), Attribute::Id(id.to_vec())];
    let mut public = named.to_vec();
    public.extend([
        Attribute::Private(false),
        Attribute::Verify(true),
        Attribute::Encrypt(false),
        Attribute::Wrap(false),
    ]);
    let mechanism = match Shape::of(algorithm) {
        Shape::Curve(curve) => {
            public.push(Attribute::EcParams(curve.to_der().map_err(|_| Error::InvalidValue)?));
            Mechanism::EccKeyPairGen
        }
        Shape::Bits(bits) => {
            public.extend([Attribute::ModulusBits(bits.into()), Attribute::PublicExponent(vec![1, 0, 1])]);
            Mechanism::RsaPkcsKeyPairGen
        }
    };
    let mut private = named.to_vec();
    private.extend([
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(false),
        Attribute::Sign(true),
        Attribute::Decrypt(false),
        Attribute::Unwrap(false),
    ]);
    session.generate_key_pair(&mechanism, &public, &private)
}
