//! Private keys that operators hand in, and those that we keep.
//!
//! What is read is written as the same key, and signs what its public half verifies.

use chancery_jose::{Jws, SigningKey, jws::sign_compact};
use chancery_pki::{PrivateKey, Signer as _, verify};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "private_key", run, form: Form::Der, words: include_str!("../../words/private_key.dict") };

fn run(input: &[u8]) {
    if let Ok(key) = PrivateKey::from_pkcs8(input) {
        let written = key.to_pkcs8().expect("what was read can be written");
        let again = PrivateKey::from_pkcs8(&written).expect("what we write can be read");
        assert_eq!(again.public_key_info(), key.public_key_info());
        assert_eq!(again.algorithm(), key.algorithm());
        let signature = key.sign(b"message").expect("a key that was read signs");
        assert!(verify(key.public_key_info(), b"message", &signature).is_ok());
        assert!(verify(key.public_key_info(), b"another", &signature).is_err());
    }
    if let Ok(key) = SigningKey::from_pkcs8(input) {
        let written = key.to_pkcs8().expect("what was read can be written");
        assert_eq!(SigningKey::from_pkcs8(&written).expect("what we write can be read").public(), key.public());
        let text = sign_compact(serde_json::Map::new(), b"", &key).expect("a key that was read signs");
        assert!(Jws::compact(&text, usize::MAX).expect("it is a JWS").verify(key.public()).is_ok());
    }
}
