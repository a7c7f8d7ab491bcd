//! dns-persist-01: a TXT record that stays, and names the CA and the account (draft-ietf-acme-dns-persist-01).
//!
//! Draft -02 has other members; it is not followed.

use chancery_domain::{Attempt, ProblemKind, Timestamp};

use crate::caa_value::IssueValue;
use crate::check::Check;
use crate::dns01::{Texts, record_name, texts};
use crate::refusal::Refusal;
use crate::resolver::Resolver;
use crate::text::shown;

/// No more names than these are told to clients (section 3.1), nor looked for.
pub(crate) const MAX_ISSUERS: usize = 10;

const FOREVER: Timestamp = Timestamp::from_secs(i64::MAX);

/// Looks for a record that lets this account have the name from a CA of any of `our` names, and says until when, where
/// the record does.
pub(crate) async fn look(
    resolver: &Resolver,
    check: &Check,
    our: &[String],
    now: Timestamp,
    attempt: &mut Attempt,
) -> Result<Option<Timestamp>, Refusal> {
    let place = record_name(check)?;
    let our = &our[..our.len().min(MAX_ISSUERS)];
    let applicant = Applicant { our, account_uri: &check.account_uri, wildcard: check.identifier.is_wildcard(), now };
    let expected = applicant.expected();
    attempt.expected = Some(expected.clone());
    let Texts { found, place } = texts(resolver, &place, attempt).await?;
    let (mut permissions, mut objections) = (Vec::new(), Vec::new());
    for text in &found {
        match applicant.judge(text) {
            Ok(until) => permissions.push((text, until)),
            Err(objection) => objections.push((shown(text), objection)),
        }
    }
    // Of several the one that holds longest.
    if let Some((text, until)) = permissions.into_iter().max_by_key(|(_, until)| until.unwrap_or(FOREVER)) {
        attempt.actual = Some(shown(text));
        return Ok(until);
    }
    // What comes closest tells most: records of other CAs are none of our business.
    objections.sort_by_key(|(_, objection)| objection.distance());
    let kind = objections.first().map_or(ProblemKind::Unauthorized, |(_, objection)| objection.kind());
    let close = objections.iter().filter(|(_, objection)| !matches!(objection, Objection::OtherCa(_)));
    let told: Vec<_> = close.take(3).map(|(text, why)| format!("{text:?} {why}")).collect();
    let told = if told.is_empty() { "those there are name other CAs".to_owned() } else { told.join("; ") };
    attempt.actual = objections.first().map(|(text, _)| text.clone());
    Err(Refusal::wrong(kind, format!("no TXT record of {place} says {expected:?}: {told}")))
}

/// Who wants to have the name.
pub(crate) struct Applicant<'a> {
    pub(crate) our: &'a [String],
    pub(crate) account_uri: &'a str,
    pub(crate) wildcard: bool,
    pub(crate) now: Timestamp,
}

/// Why a record does not let them.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Objection {
    #[error("is for the CA {0}")]
    OtherCa(String),
    #[error("does not follow RFC 8659 section 4.2")]
    Unreadable,
    #[error("has {0} twice")]
    Twice(&'static str),
    #[error("has no accounturi")]
    NoAccount,
    #[error("has a persistUntil that is not a number of seconds")]
    NoTime,
    #[error("is for another account")]
    OtherAccount,
    #[error("was good until {0}")]
    Over(String),
    #[error("does not say policy=wildcard")]
    NoWildcard,
}

impl Applicant<'_> {
    /// Until when a record does, where it says so; or why it does not (section 4.1). What has a tag that we do not know
    /// is passed over.
    pub(crate) fn judge(&self, record: &[u8]) -> Result<Option<Timestamp>, Objection> {
        let value = IssueValue::parse(record).ok_or(Objection::Unreadable)?;
        if !self.our.iter().any(|ours| ours.eq_ignore_ascii_case(value.issuer)) {
            return Err(Objection::OtherCa(value.issuer.to_owned()));
        }
        let account = once(&value, "accounturi")?.ok_or(Objection::NoAccount)?;
        let (policy, until) = (once(&value, "policy")?, once(&value, "persistUntil")?);
        let until = until.map(|text| seconds(text).ok_or(Objection::NoTime)).transpose()?;
        // As they stand (RFC 3986 section 6.2.1).
        if account != self.account_uri {
            return Err(Objection::OtherAccount);
        }
        if let Some(until) = until
            && self.now.as_secs() > until
        {
            return Err(Objection::Over(Timestamp::from_secs(until).to_string()));
        }
        // Any other policy is as good as none.
        if self.wildcard && !policy.is_some_and(|policy| policy.eq_ignore_ascii_case("wildcard")) {
            return Err(Objection::NoWildcard);
        }
        Ok(until.map(Timestamp::from_secs))
    }

    fn expected(&self) -> String {
        let (issuer, wildcard) = (self.our.first().map_or("", String::as_str), self.wildcard);
        format!("{issuer}; accounturi={}{}", self.account_uri, if wildcard { "; policy=wildcard" } else { "" })
    }
}

impl Objection {
    fn kind(&self) -> ProblemKind {
        match self {
            Self::Unreadable | Self::Twice(_) | Self::NoAccount | Self::NoTime => ProblemKind::Malformed,
            Self::OtherCa(_) | Self::OtherAccount | Self::Over(_) | Self::NoWildcard => ProblemKind::Unauthorized,
        }
    }

    /// How far the record is from doing.
    fn distance(&self) -> u8 {
        match self {
            Self::Over(_) | Self::NoWildcard => 0,
            Self::Twice(_) | Self::NoAccount | Self::NoTime => 1,
            Self::OtherAccount => 2,
            Self::Unreadable => 3,
            Self::OtherCa(_) => 4,
        }
    }
}

/// The value of a parameter that may be there once.
fn once<'a>(value: &IssueValue<'a>, tag: &'static str) -> Result<Option<&'a str>, Objection> {
    let mut values = value.values(tag);
    match (values.next(), values.next()) {
        (first, None) => Ok(first),
        (_, Some(_)) => Err(Objection::Twice(tag)),
    }
}

/// A whole number without a sign; one that is too great for a clock is never reached.
fn seconds(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const URI: &str = "https://ca.test/acme/account/1";

    fn objection(record: &str, wildcard: bool) -> Option<Objection> {
        let our = ["ca.test".to_owned(), "pki.test".to_owned()];
        let now = Timestamp::from_secs(1000);
        Applicant { our: &our, account_uri: URI, wildcard, now }.judge(record.as_bytes()).err()
    }

    #[test]
    fn a_record_may_say_until_when() {
        let our = ["ca.test".to_owned()];
        let applicant = Applicant { our: &our, account_uri: URI, wildcard: false, now: Timestamp::from_secs(1000) };
        for (end, until) in [("", None), ("; persistUntil=1000", Some(1000)), ("; persistUntil=2000", Some(2000))] {
            let record = format!("ca.test; accounturi={URI}{end}");
            assert_eq!(applicant.judge(record.as_bytes()), Ok(until.map(Timestamp::from_secs)), "{end}");
        }
    }

    #[test]
    fn a_record_names_us_and_the_account() {
        for good in [
            "ca.test; accounturi=https://ca.test/acme/account/1",
            "ca.test;accounturi=https://ca.test/acme/account/1",
            " CA.test ;\taccounturi = https://ca.test/acme/account/1 ",
            "pki.test; accounturi=https://ca.test/acme/account/1; policy=wildcard",
            "ca.test; accounturi=https://ca.test/acme/account/1; policy=other; unknown=x; unknown=y",
            "ca.test; persistUntil=1000; accounturi=https://ca.test/acme/account/1",
            "ca.test; persistUntil=99999999999999999999999; accounturi=https://ca.test/acme/account/1",
        ] {
            assert_eq!(objection(good, false), None, "{good}");
        }
    }

    #[test]
    fn anything_else_is_told() {
        let with = |more: &str| format!("ca.test; accounturi={URI}{more}");
        for (bad, why) in [
            (
                "other.test; accounturi=https://ca.test/acme/account/1".to_owned(),
                Objection::OtherCa("other.test".into()),
            ),
            (String::new(), Objection::OtherCa(String::new())),
            ("ca.test".to_owned(), Objection::NoAccount),
            ("ca.test; accounturi=".to_owned(), Objection::OtherAccount),
            ("ca.test; accounturi=https://ca.test/acme/account/10".to_owned(), Objection::OtherAccount),
            ("ca.test; accounturi=https://CA.test/acme/account/1".to_owned(), Objection::OtherAccount),
            (with("; accounturi=x"), Objection::Twice("accounturi")),
            (with("; policy=wildcard; Policy=wildcard"), Objection::Twice("policy")),
            (with("; persistUntil=2000; persistUntil=2000"), Objection::Twice("persistUntil")),
            (with("; persistUntil=999"), Objection::Over("1970-01-01T00:16:39Z".into())),
            (with("; persistUntil=0"), Objection::Over("1970-01-01T00:00:00Z".into())),
            (with("; persistUntil="), Objection::NoTime),
            (with("; persistUntil=-1"), Objection::NoTime),
            (with("; persistUntil=+2000"), Objection::NoTime),
            (with("; persistUntil=0x7d0"), Objection::NoTime),
            (with("; persistUntil=2027-01-01T00:00:00Z"), Objection::NoTime),
            (with(";"), Objection::Unreadable),
            (with("; policy"), Objection::Unreadable),
            (with(" policy=wildcard"), Objection::Unreadable),
            ("ca.test, accounturi=https://ca.test/acme/account/1".to_owned(), Objection::Unreadable),
        ] {
            assert_eq!(objection(&bad, false), Some(why), "{bad}");
        }
    }

    #[test]
    fn a_wildcard_needs_leave_of_its_own() {
        let with = |more: &str| format!("ca.test; accounturi={URI}{more}");
        for good in ["; policy=wildcard", "; policy=WildCard", ";policy = wildcard;x=y"] {
            assert_eq!(objection(&with(good), true), None, "{good}");
        }
        for bad in ["", "; policy=", "; policy=wildcards", "; wildcard=policy", "; policy=*"] {
            assert_eq!(objection(&with(bad), true), Some(Objection::NoWildcard), "{bad}");
        }
    }
}
