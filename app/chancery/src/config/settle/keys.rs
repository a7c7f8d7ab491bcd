//! The key-encryption key, and the token that has the keys of CAs.

use std::sync::Arc;

use chancery_domain::Secret;
use chancery_pki::{Token, TokenChoice};
use chancery_seal::Keyring;

use super::Check;
use crate::config::types::{Keys, Pkcs11};
use crate::files::read_secret;
use crate::installation::Kek;

pub fn settle(keys: &Keys, check: &mut Check<'_>) -> Option<Kek> {
    match (&keys.kek_file, &keys.kek) {
        (Some(_), Some(_)) => {
            check.problems.add("keys.kek_file", "is set, and so is the key itself (keys.kek); keep one of them");
            None
        }
        (None, Some(text)) => {
            check.problems.take("keys.kek", Keyring::from_base64(text))?;
            Some(Kek::Text(Secret::new(text.clone())))
        }
        (file, None) => {
            let path = check.path(file.as_deref().unwrap_or("kek.json"));
            // One that is not there yet is made by `init`; one that is there must be good.
            if path.exists() {
                check.problems.take("keys.kek_file", Keyring::load(&path))?;
            }
            Some(Kek::File(path))
        }
    }
}

/// The token, where one is named. It is not asked: that it is away at the moment is not wrong with the configuration.
pub fn settle_token(pkcs11: &Pkcs11, check: &mut Check<'_>) -> Option<Arc<Token>> {
    let Pkcs11 { module, token, pin_file } = pkcs11;
    if [module, token, pin_file].iter().all(|setting| setting.is_none()) {
        return None;
    }
    let mut required = |name: &str, setting: &Option<String>| {
        if setting.is_none() {
            check
                .problems
                .add(format!("keys.pkcs11.{name}"), "is missing: a token needs `module`, `token` and `pin_file`");
        }
        setting.clone()
    };
    let (module, token, pin_file) =
        (required("module", module), required("token", token), required("pin_file", pin_file));
    let (module, label, pin_file) = (check.path(&module?), token?, check.path(&pin_file?));
    let message = format!("is to be the library that came with the HSM, and there is no file {}", module.display());
    check.problems.require(module.is_file(), "keys.pkcs11.module", message);
    let fits = !label.is_empty() && label.len() <= LONGEST_LABEL && label.trim() == label;
    let message = format!("must be the label of a token: 1 to {LONGEST_LABEL} octets without blanks at its ends");
    check.problems.require(fits, "keys.pkcs11.token", message);
    check.problems.take("keys.pkcs11.pin_file", read_secret(&pin_file))?;
    let pin = Arc::new(move || read_secret(&pin_file));
    Some(Token::new(TokenChoice { module, label, pin }))
}

/// PKCS #11 has no room for more.
const LONGEST_LABEL: usize = 32;
