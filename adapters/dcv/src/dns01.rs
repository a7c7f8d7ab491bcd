//! dns-01: a TXT record beside a name (RFC 8555 section 8.4); dns-account-01: the same, at a place of the account's own
//! (draft-ietf-acme-dns-account-label section 3.1).

use aws_lc_rs::digest::{SHA256, digest};
use chancery_domain::{Attempt, ChallengeType, Identifier, ProblemKind};
use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use hickory_proto::rr::{RData, RecordType};

use crate::answer::spelled;
use crate::check::Check;
use crate::refusal::Refusal;
use crate::resolver::Resolver;
use crate::text::shown;

/// More than these are not shown; all are looked at.
const MAX_SHOWN: usize = 20;

pub(crate) async fn look(resolver: &Resolver, check: &Check, attempt: &mut Attempt) -> Result<(), Refusal> {
    let place = record_name(check)?;
    let expected = BASE64URL_NOPAD.encode(digest(&SHA256, check.key_authorization.as_bytes()).as_ref());
    attempt.expected = Some(expected.clone());
    let Texts { found, place } = texts(resolver, &place, attempt).await?;
    if let Some(right) = found.iter().find(|text| **text == expected.as_bytes()) {
        attempt.actual = Some(shown(right));
        return Ok(());
    }
    let all: Vec<_> = found.iter().take(MAX_SHOWN).map(|text| shown(text)).collect();
    attempt.actual = Some(all.join(", "));
    let detail = format!("no TXT record of {place} is {expected:?}; found: {}", all.join(", "));
    Err(Refusal::wrong(ProblemKind::IncorrectResponse, detail))
}

/// Where the record is that shows control.
pub(crate) fn record_name(check: &Check) -> Result<String, Refusal> {
    let (Some(label), Identifier::Dns(name)) = (check.kind.record_label(), &check.identifier) else {
        return Err(Refusal::wrong(ProblemKind::RejectedIdentifier, "an address has no TXT record"));
    };
    let of_name = format!("{label}.{}", name.base());
    let of_account = check.kind == ChallengeType::DnsAccount01;
    Ok(if of_account { format!("{}.{of_name}", account_label(&check.account_uri)) } else { of_name })
}

/// What was found at a place, at least one text.
pub(crate) struct Texts {
    pub found: Vec<Vec<u8>>,
    /// The place as it is told, with what it is an alias of.
    pub place: String,
}

/// The TXT records at a place.
pub(crate) async fn texts(resolver: &Resolver, place: &str, attempt: &mut Attempt) -> Result<Texts, Refusal> {
    let answer = match resolver.lookup(place, RecordType::TXT).await {
        Ok(answer) => answer,
        Err(error) => {
            attempt.dnssec = error.dnssec();
            return Err(error.into());
        }
    };
    attempt.dnssec = Some(answer.security.as_str().to_owned());
    attempt.dns_answers.extend(answer.aliases_shown());
    let found: Vec<_> = answer.data.iter().filter_map(joined).collect();
    let owner = spelled(&answer.owner);
    let records = found.iter().take(MAX_SHOWN).map(|text| format!("{owner} TXT {:?}", shown(text)));
    attempt.dns_answers.extend(records);
    let place = if answer.aliases.is_empty() { place.to_owned() } else { format!("{place} (an alias of {owner})") };
    if !answer.exists {
        return Err(Refusal::missing(ProblemKind::Dns, format!("{place} does not exist (NXDOMAIN)")));
    }
    if found.is_empty() {
        return Err(Refusal::missing(ProblemKind::Unauthorized, format!("{place} has no TXT record")));
    }
    Ok(Texts { found, place })
}

/// A label that no other account has: ten bytes of the hash of its URL, in base 32.
fn account_label(account_uri: &str) -> String {
    let hash = digest(&SHA256, account_uri.as_bytes());
    format!("_{}", BASE32_NOPAD.encode(&hash.as_ref()[..10]).to_ascii_lowercase())
}

/// One record can hold several strings; they are read as one.
pub(crate) fn joined(data: &RData) -> Option<Vec<u8>> {
    if let RData::TXT(text) = data { Some(text.txt_data.concat()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_a_label_of_its_own() {
        // The example of the draft.
        assert_eq!(account_label("https://example.com/acme/acct/ExampleAccount"), "_ujmmovf2vn55tgye");
    }
}
