//! The library of a token: loaded once in a process, and never let go of.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use cryptoki::{
    context::{CInitializeArgs, CInitializeFlags, Pkcs11},
    error::{Error, RvError},
};
use parking_lot::Mutex;

use crate::error::KeyError;

/// Each library, and whether it has begun. A second beginning is refused by some, and others do not survive it.
static LOADED: Mutex<BTreeMap<PathBuf, (Pkcs11, bool)>> = Mutex::new(BTreeMap::new());

/// The library at this path. One that could not begin is asked again.
pub(super) fn load(path: &Path) -> Result<Pkcs11, KeyError> {
    let mut loaded = LOADED.lock();
    let failed =
        |error: &Error| KeyError::Token(format!("cannot load the PKCS #11 module {}: {}", path.display(), said(error)));
    if !loaded.contains_key(path) {
        let module = Pkcs11::new(path).map_err(|error| failed(&error))?;
        loaded.insert(path.to_owned(), (module, false));
    }
    let (module, begun) = loaded.get_mut(path).ok_or(KeyError::Unsupported)?;
    if !*begun {
        match module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
            Ok(()) | Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => *begun = true,
            Err(error) => return Err(failed(&error)),
        }
    }
    Ok(module.clone())
}

/// What a module answered, without the poetry of its standard.
pub(super) fn said(error: &Error) -> String {
    match error {
        Error::Pkcs11(RvError::PinIncorrect | RvError::PinInvalid | RvError::PinLenRange, _) => {
            "the PIN is wrong".to_owned()
        }
        Error::Pkcs11(RvError::PinLocked, _) => "the PIN is locked; its security officer can set a new one".to_owned(),
        Error::Pkcs11(RvError::UserPinNotInitialized, _) => "it has no user PIN yet".to_owned(),
        Error::Pkcs11(code, function) => format!("C_{function:?} answered {code:?}"),
        other => other.to_string(),
    }
}
