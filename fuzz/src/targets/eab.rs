//! External account bindings (RFC 8555 section 7.3.4).
//!
//! A binding that the holder of the secret made binds the key that it names, for its URL, and no other; changed, it
//! binds nothing.

use chancery_acme::parsers::new_account;
use chancery_jose::jws::sign_flattened;
use chancery_jose::{Algorithm, HmacKey, Jwk, Jws, json_object};
use chancery_service::parsers::{binding_binds, binding_names};
use chancery_wire::acme::NewAccount;
use serde_json::Value;

use crate::fixed::{JOSE, SECRET, URL};
use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "eab", run, form: Form::Json, words: include_str!("../../words/eab.dict") };

fn run(input: &[u8]) {
    let key = JOSE.public();
    if let Ok(value) = serde_json::from_slice::<Value>(input) {
        let asked = NewAccount { external_account_binding: Some(value), ..NewAccount::default() };
        if let Ok((_, Some(binding))) = new_account(asked) {
            look(&binding, key);
        }
    }
    // Whatever the header and the payload: with the right MAC.
    let Ok(header) = json_object(input) else { return };
    let alg = [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512][input.len() % 3];
    let mac = HmacKey::of_one_secret(alg, &SECRET).expect("the secret is long enough");
    let right = key.to_canonical_json();
    for payload in [right.as_bytes(), input] {
        let signed = sign_flattened(header.clone(), payload, &mac).expect("an HMAC can be made of anything");
        let Ok(binding) = Jws::flattened(signed.to_string().as_bytes(), usize::MAX) else { return };
        look(&binding, key);
        let bound = Jwk::parse(payload);
        assert_eq!(binding_binds(&binding, &SECRET, key).is_ok(), bound.is_ok_and(|bound| bound == *key));
        assert!(binding_binds(&binding, &[0; 32], key).is_err(), "another secret makes it too");
    }
}

fn look(binding: &Jws, key: &Jwk) {
    let header = binding.header();
    if let Ok(kid) = binding_names(binding, URL) {
        assert!(header.alg.is_hmac() && header.kid.as_deref() == Some(kid));
        assert!(!header.members.contains_key("nonce"));
        assert_eq!(header.members["url"], URL);
        assert!(binding_names(binding, "https://elsewhere.test/").is_err());
    }
    if binding_binds(binding, &SECRET, key).is_ok() {
        assert!(header.alg.is_hmac());
    }
}
