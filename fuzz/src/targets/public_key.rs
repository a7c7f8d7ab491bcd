//! Public keys to be certified, and the operator's list of those that must not be.
//!
//! A key that is read has one encoding, the one that it came in. Looking for weaknesses takes no longer than reading a
//! large key should. What a list holds it finds again.

use chancery_pki::{KeyBlocklist, KnownBadKeys as _, SubscriberKey};
use data_encoding::HEXLOWER;
use x509_parser::prelude::{FromDer as _, SubjectPublicKeyInfo};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "public_key", run, form: Form::Der, words: include_str!("../../words/public_key.dict") };

fn run(input: &[u8]) {
    if let Ok(key) = SubscriberKey::from_spki(input) {
        assert_eq!(key.spki(), input);
        let (rest, _) = SubjectPublicKeyInfo::from_der(input).expect("others can read it");
        assert!(rest.is_empty());
        assert!(!key.describe().is_empty());
        assert_eq!(key.debian_hash().is_some(), key.is_rsa());
        assert!(key.weaknesses().iter().all(|problem| !problem.to_string().is_empty()));
        let list = HEXLOWER.encode(key.sha256());
        let list = KeyBlocklist::read(list.as_bytes()).expect("it is a list of one");
        assert!(list.verdict(&key).is_some(), "a listed key is not found");
    }
    if let Ok(list) = KeyBlocklist::read(input) {
        assert!(list.len() <= input.len() / 20 + 1);
    }
}
