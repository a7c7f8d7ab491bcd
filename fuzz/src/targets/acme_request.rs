//! Signed requests of ACME clients, up to where an account or a nonce would be looked up.
//!
//! What is let through is for this URL, names its key once, and is signed by it if the key is inside. What is not is
//! the client's fault, never ours.

use chancery_acme::parsers::{key_change, request};
use chancery_jose::jws::sign_flattened;
use chancery_jose::{SigningKey, json_object};

use crate::fixed::{JOSE, URL};
use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "acme_request", run, form: Form::Json, words: include_str!("../../words/acme_request.dict") };

fn run(input: &[u8]) {
    look(input);
    let Ok(mut header) = json_object(input) else { return };
    let key: &SigningKey = &JOSE;
    // Half of the time the key is the one that signs.
    if input.len().is_multiple_of(2) && header.contains_key("jwk") {
        header.insert("jwk".to_owned(), key.public().to_value());
    }
    let signed = sign_flattened(header, input, key).expect("the fixed key signs").to_string();
    look(signed.as_bytes());
    match key_change(signed.as_bytes(), URL) {
        Ok((new, _)) => assert_eq!(new, *key.public()),
        Err(status) => assert!((400..500).contains(&status), "{status}"),
    }
}

fn look(body: &[u8]) {
    match request(body, URL) {
        Ok(read) => {
            let header = read.jws.header();
            assert!(!header.alg.is_hmac());
            assert_eq!(header.members["url"], URL);
            assert_eq!(header.members["nonce"], read.nonce.as_str());
            assert_ne!(header.kid.is_some(), header.jwk.is_some(), "the key is named once");
            if let Ok(key) = &read.key {
                assert!(read.jws.verify(key).is_ok());
            }
        }
        Err(status) => assert!((400..500).contains(&status), "{status}"),
    }
}
