//! The payloads of signed requests.
//!
//! What is read is the same when it is written and read again; contacts and names likewise. Refusals are the client's
//! fault, never ours.

use chancery_acme::parsers::{new_account, payload};
use chancery_domain::{Contact, Timestamp};
use chancery_wire::acme as wire;
use serde_json::{Value, to_vec};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "acme_payload", run, form: Form::Json, words: include_str!("../../words/acme_payload.dict") };

macro_rules! each {
    ($input:expr, $($kind:ident)*) => {$(
        match payload::<wire::$kind>($input) {
            Ok(read) => {
                let text = to_vec(&read).expect("wire types are JSON");
                assert_eq!(payload::<wire::$kind>(&text).expect("what we write can be read"), read);
            }
            Err(status) => assert_eq!(status, 400),
        }
    )*};
}

fn run(input: &[u8]) {
    each!(input, NewAccount AccountUpdate NewOrder NewAuthorization AuthorizationUpdate Finalize Revocation KeyChange);
    if payload::<Value>(input).is_ok() {
        assert!(input.trim_ascii_start().starts_with(b"{"), "only objects are payloads");
    }
    if let Ok(asked) = payload::<wire::NewAccount>(input) {
        match new_account(asked) {
            Ok((contacts, _)) => {
                for contact in contacts {
                    assert_eq!(Contact::parse(&contact).map(|same| same.to_string()), Ok(contact));
                }
            }
            Err(status) => assert_eq!(status, 400),
        }
    }
    if let Ok(asked) = payload::<wire::NewOrder>(input) {
        for text in [asked.not_before, asked.not_after].into_iter().flatten() {
            super::text::check_time(&text, Timestamp::parse(&text));
        }
    }
}
