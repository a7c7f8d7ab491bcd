//! Sealed values, as they come from the store.
//!
//! Nothing that was not sealed by us opens; what was does, in its own context only, and not once it is changed.

use std::sync::LazyLock;

use chancery_seal::{Keyring, key_id};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "sealed", run, form: Form::Bytes, words: include_str!("../../words/sealed.dict") };

static KEYRING: LazyLock<Keyring> = LazyLock::new(|| {
    Keyring::from_base64("QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=").expect("it is 32 bytes in base64")
});

fn run(input: &[u8]) {
    let _ = key_id(input);
    if let Ok(text) = std::str::from_utf8(input) {
        let _ = Keyring::from_base64(text).is_ok();
    }
    // A seed may be a value of ours, and then opens; a changed one never does.
    let opened = KEYRING.open("fuzz", input);
    assert!(opened.is_err() || key_id(input).is_ok());
    let mut sealed = KEYRING.seal("fuzz", input);
    assert_eq!(KEYRING.open("fuzz", &sealed).expect("it was sealed here").as_slice(), input);
    assert!(KEYRING.open("other", &sealed).is_err());
    let at = input.iter().fold(0, |sum, byte| sum + usize::from(*byte)) % sealed.len();
    sealed[at] ^= 1;
    assert!(KEYRING.open("fuzz", &sealed).is_err());
}
