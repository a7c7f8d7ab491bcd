//! Small texts: e-mail addresses, contacts, labels, scopes, times, profiles, idempotency keys.
//!
//! What is accepted is accepted again as it is shown, and two spellings of one address have one key.

use chancery_domain::{
    Contact, Description, EmailAddress, ExternalId, Label, Name, ProfileName, ResellerCode, ScopeSet, Timestamp,
};
use chancery_service::IdempotencyKey;

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "text", run, form: Form::Text, words: include_str!("../../words/text.dict") };

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(email) = EmailAddress::parse(text) {
        assert_eq!(email.as_str(), text);
        assert!(email.key().is_ascii() && email.key().len() <= 254);
        let key = EmailAddress::parse(email.key()).expect("the key of an address is an address");
        assert_eq!(key.key(), email.key());
        let shouted = EmailAddress::parse(&email.key().to_ascii_uppercase()).expect("case does not matter");
        assert_eq!(shouted.key(), email.key());
    }
    if let Ok(contact) = Contact::parse(text) {
        assert!(text.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:")), "{text:?} is a contact");
        assert_eq!(Contact::parse(&contact.to_string()), Ok(contact));
    }
    if let Ok(scopes) = text.parse::<ScopeSet>() {
        assert_eq!(scopes.to_string().parse(), Ok(scopes));
    }
    if let Ok(name) = Name::parse(text) {
        assert_eq!((name.as_str(), text.trim()), (text, text));
        assert!(!text.is_empty() && !text.contains(['\0', '\n', '\u{202e}']));
    }
    let _ = (Description::parse(text).is_ok(), ExternalId::parse(text).is_ok(), Label::parse(text).is_ok());
    if let Ok(profile) = ProfileName::parse(text) {
        assert_eq!(profile.as_str(), text);
        assert!(text.is_ascii(), "a profile is a part of a URL");
    }
    let _ = ResellerCode::parse(text).is_ok();
    if IdempotencyKey::parse(text).is_some() {
        assert!((1..=255).contains(&text.len()) && text.is_ascii());
    }
    check_time(text, Timestamp::parse(text));
}

/// A time that was read is shown as the same second.
pub(super) fn check_time(text: &str, read: Option<Timestamp>) {
    let Some(read) = read else { return };
    let shown = read.to_string();
    let again = Timestamp::parse(&shown).unwrap_or_else(|| panic!("{text:?} is shown as {shown:?}, which is no time"));
    assert_eq!(again.as_secs(), read.as_secs(), "{text:?} is shown as {shown:?}");
}
