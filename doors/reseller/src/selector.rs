//! What several requests have in common: the way to an account, a list of names, and times.

use chancery_domain::{Identifier, Problems, Timestamp};
use chancery_service::AccountLookup;
use chancery_wire as wire;

/// The one way to an account that a request names; it must name exactly one.
pub(crate) fn one_account(
    lookup: Option<String>,
    email: Option<String>,
    kid: Option<String>,
    problems: &mut Problems,
) -> AccountLookup {
    match (lookup, email, kid) {
        (Some(lookup), None, None) => AccountLookup::parse(&lookup),
        (None, Some(email), None) => AccountLookup::by_email(&email),
        (None, None, Some(kid)) => AccountLookup::by_credential(&kid),
        _ => {
            let message = "exactly one of account_lookup, customer_email and eab_kid must be given";
            problems.add("account_lookup", "exactly_one", message);
            AccountLookup::Nothing(String::new())
        }
    }
}

/// A time, if there is one.
pub(crate) fn read_time(field: &str, text: Option<String>, problems: &mut Problems) -> Option<Timestamp> {
    let time = Timestamp::parse(&text?);
    if time.is_none() {
        problems.add(field, "invalid", "must be a time such as 2026-11-15T00:00:00Z");
    }
    time
}

/// Names and addresses, each a text or an object with its type.
pub(crate) fn read_identifiers(inputs: &[wire::IdentifierInput], problems: &mut Problems) -> Vec<Identifier> {
    let mut identifiers = Vec::with_capacity(inputs.len());
    for (place, input) in inputs.iter().enumerate() {
        let (kind, value) = match input {
            wire::IdentifierInput::Text(value) => (None, value),
            wire::IdentifierInput::Typed(typed) => (Some(typed.kind.as_str()), &typed.value),
        };
        let field = format!("identifiers[{place}]");
        let parsed = problems.take(&field, Identifier::parse(value));
        let fits = match (&parsed, kind) {
            (None, _) | (_, None) | (Some(Identifier::Dns(_)), Some("dns")) | (Some(Identifier::Ip(_)), Some("ip")) => {
                true
            }
            (Some(_), Some(_)) => false,
        };
        if !fits {
            problems.add(field, "wrong_type", "type must be `dns` for a name and `ip` for an address");
        }
        identifiers.extend(parsed);
    }
    identifiers
}
