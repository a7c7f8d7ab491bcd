//! dns-01: a TXT record beside a name (RFC 8555 section 8.4).

use aws_lc_rs::digest::{SHA256, digest};
use chancery_domain::{Attempt, Identifier, ProblemKind};
use data_encoding::BASE64URL_NOPAD;
use hickory_proto::rr::{RData, RecordType};

use crate::answer::spelled;
use crate::check::Check;
use crate::refusal::Refusal;
use crate::resolver::Resolver;
use crate::text::shown;

/// More than these are not shown; all are looked at.
const MAX_SHOWN: usize = 20;

pub(crate) async fn look(resolver: &Resolver, check: &Check, attempt: &mut Attempt) -> Result<(), Refusal> {
    let Identifier::Dns(name) = &check.identifier else {
        return Err(Refusal::wrong(ProblemKind::RejectedIdentifier, "an address has no TXT record"));
    };
    let expected = BASE64URL_NOPAD.encode(digest(&SHA256, check.key_authorization.as_bytes()).as_ref());
    attempt.expected = Some(expected.clone());
    let place = format!("_acme-challenge.{}", name.base());
    let answer = match resolver.lookup(&place, RecordType::TXT).await {
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
    if let Some(right) = found.iter().find(|text| **text == expected.as_bytes()) {
        attempt.actual = Some(shown(right));
        return Ok(());
    }
    let aka = if answer.aliases.is_empty() { String::new() } else { format!(" (an alias of {owner})") };
    if !answer.exists {
        return Err(Refusal::missing(ProblemKind::Dns, format!("{place}{aka} does not exist (NXDOMAIN)")));
    }
    if found.is_empty() {
        return Err(Refusal::missing(ProblemKind::Unauthorized, format!("{place}{aka} has no TXT record")));
    }
    let all: Vec<_> = found.iter().take(MAX_SHOWN).map(|text| shown(text)).collect();
    attempt.actual = Some(all.join(", "));
    let detail = format!("no TXT record of {place}{aka} is {expected:?}; found: {}", all.join(", "));
    Err(Refusal::wrong(ProblemKind::IncorrectResponse, detail))
}

/// One record can hold several strings; they are read as one.
pub(crate) fn joined(data: &RData) -> Option<Vec<u8>> {
    if let RData::TXT(text) = data { Some(text.txt_data.concat()) } else { None }
}
