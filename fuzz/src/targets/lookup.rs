//! The names of things: ids, key ids, account numbers, API keys.
//!
//! An id has one spelling, and is of one kind only. What a lookup is taken for is written as it was sent.

use std::fmt::Display;
use std::str::FromStr;

use chancery_domain::{
    AccountId, AcmeAccountId, ApiKeyId, AuthorizationId, CertificateId, ChallengeId, ClientId, GroupId, IssuerId, Kid,
    OrderId, PolicyId, ResellerId,
};
use chancery_service::{AccountLookup, parsers::api_key_id};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "lookup", run, form: Form::Text, words: include_str!("../../words/lookup.dict") };

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let kinds = [
        is::<AccountId>(text),
        is::<ClientId>(text),
        is::<ApiKeyId>(text),
        is::<GroupId>(text),
        is::<PolicyId>(text),
        is::<OrderId>(text),
        is::<AuthorizationId>(text),
        is::<ChallengeId>(text),
        is::<CertificateId>(text),
        is::<AcmeAccountId>(text),
        is::<IssuerId>(text),
        is::<ResellerId>(text),
    ];
    assert!(kinds.iter().filter(|is| **is).count() <= 1, "{text} is of two kinds");
    if let Ok(kid) = text.parse::<Kid>() {
        assert!(kid.to_string().eq_ignore_ascii_case(text));
        assert_eq!(kid.to_string().parse(), Ok(kid));
    }
    if let Some(id) = api_key_id(text) {
        assert!(text.contains(id.to_string().trim_start_matches("key_")));
    }
    match AccountLookup::parse(text) {
        AccountLookup::Id(id) => assert_eq!(id.to_string(), text),
        AccountLookup::Number(number) => assert_eq!(number.to_string(), text),
        AccountLookup::Kid(kid) => assert!(kid.to_string().eq_ignore_ascii_case(text)),
        AccountLookup::Email(email) => assert_eq!(email.as_str(), text),
        AccountLookup::Nothing(nothing) => assert_eq!(nothing, text),
        AccountLookup::Credential(_) | AccountLookup::NoCredential => panic!("a text is never taken for a credential"),
    }
}

fn is<T: FromStr + Display>(text: &str) -> bool {
    text.parse::<T>().is_ok_and(|id| {
        assert_eq!(id.to_string(), text, "an id has one spelling");
        true
    })
}
