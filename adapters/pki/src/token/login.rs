//! The way into a token: its module, its slot, its PIN.

use chancery_domain::Secret;
use cryptoki::{
    context::Pkcs11,
    error::{Error, RvError},
    session::{Session, UserType},
    slot::{Slot, TokenInfo},
    types::AuthPin,
};
use parking_lot::Mutex;

use super::{
    TokenChoice,
    module::{load, said},
};
use crate::error::KeyError;

pub(super) struct Login {
    pub(super) choice: TokenChoice,
    /// A PIN that was refused is not tried again: after a few times tokens lock themselves.
    refused: Mutex<Option<Secret>>,
}

impl Login {
    pub(super) fn new(choice: TokenChoice) -> Self {
        Self { choice, refused: Mutex::default() }
    }

    /// A session that is logged in, and can sign.
    pub(super) fn enter(&self) -> Result<Session, KeyError> {
        self.session(Pkcs11::open_ro_session)
    }

    /// One in which keys can be made and taken away.
    pub(super) fn enter_to_change(&self) -> Result<Session, KeyError> {
        self.session(Pkcs11::open_rw_session)
    }

    pub(super) fn trouble(&self, error: &Error) -> KeyError {
        KeyError::Token(format!("the token {:?} did not do it: {}", self.choice.label, said(error)))
    }

    fn session(&self, open: fn(&Pkcs11, Slot) -> Result<Session, Error>) -> Result<Session, KeyError> {
        let module = load(&self.choice.module)?;
        let (slot, token) = self.find(&module)?;
        let session = open(&module, slot).map_err(|error| self.trouble(&error))?;
        self.log_in(&session, &token)?;
        Ok(session)
    }

    /// Where the token is plugged in now.
    fn find(&self, module: &Pkcs11) -> Result<(Slot, TokenInfo), KeyError> {
        let label = &self.choice.label;
        let (mut found, mut silent) = (Vec::new(), None);
        for slot in module.get_slots_with_token().map_err(|error| self.trouble(&error))? {
            match module.get_token_info(slot) {
                Ok(token) if token.label().trim_end() == label => found.push((slot, token)),
                Ok(_) => {}
                Err(error) => silent = Some(error),
            }
        }
        match (found.pop(), found.is_empty(), silent) {
            (Some(one), true, _) => Ok(one),
            (Some(_), false, _) => Err(KeyError::Token(format!("several tokens have the label {label:?}"))),
            (None, _, None) => Err(KeyError::Token(format!("there is no token with the label {label:?}"))),
            (None, _, Some(error)) => Err(KeyError::Token(format!(
                "no token says that it is {label:?}, and one says nothing: {}",
                said(&error)
            ))),
        }
    }

    /// All sessions of a process are logged in when one is.
    fn log_in(&self, session: &Session, token: &TokenInfo) -> Result<(), KeyError> {
        let (pin, label) = ((self.choice.pin)().map_err(KeyError::Token)?, &self.choice.label);
        let mut refused = self.refused.lock();
        if refused.as_ref().is_some_and(|refused| refused.reveal() == pin.reveal()) {
            return Err(KeyError::Token(format!(
                "the token {label:?} has refused the PIN, which is not tried again: put the right one into its file, or \
                 restart where it is the token's that was changed"
            )));
        }
        if token.user_pin_final_try() && !token.user_pin_locked() {
            return Err(KeyError::Token(format!(
                "the token {label:?} locks itself after one more wrong PIN: log in by its own tool first"
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
}
