//! Whether CAA records let us issue (RFC 8659 section 4, RFC 8657).

use std::fmt;

use chancery_domain::ChallengeType;
use hickory_proto::rr::rdata::CAA;

use crate::caa_value::IssueValue;
use crate::text::shown;

/// Properties that we know: those we act on, and those that say nothing about certificates for servers (RFC 9495 and
/// the Baseline Requirements, appendix A.1). Being critical they do not stop us.
const KNOWN: [&str; 6] = ["issue", "issuewild", "iodef", "issuemail", "contactemail", "contactphone"];

/// One CAA record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Property {
    pub flags: u8,
    pub tag: String,
    pub value: Vec<u8>,
}

/// Who wants to issue, and for whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Applicant<'a> {
    /// The names that mean us.
    pub ca_domains: &'a [String],
    pub account_uri: Option<&'a str>,
    pub method: ChallengeType,
    pub wildcard: bool,
}

/// A record that does not let us issue, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Objection<'a> {
    pub property: &'a Property,
    pub why: String,
}

/// All objections, if the records do not let us issue. The records are those of one name, which has some.
pub(crate) fn permits<'a>(properties: &'a [Property], applicant: &Applicant<'_>) -> Result<(), Vec<Objection<'a>>> {
    let unknown: Vec<_> = properties
        .iter()
        .filter(|property| property.is_critical() && !KNOWN.iter().any(|known| property.is(known)))
        .map(|property| Objection { property, why: "it is critical and we do not know its tag".to_owned() })
        .collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let tagged = |tag| properties.iter().filter(move |property| property.is(tag)).collect::<Vec<_>>();
    let mut relevant = if applicant.wildcard { tagged("issuewild") } else { Vec::new() };
    if relevant.is_empty() {
        relevant = tagged("issue");
    }
    if relevant.is_empty() {
        return Ok(());
    }
    let mut objections = Vec::new();
    for property in relevant {
        match objection(&property.value, applicant) {
            None => return Ok(()),
            Some(why) => objections.push(Objection { property, why }),
        }
    }
    Err(objections)
}

fn objection(value: &[u8], applicant: &Applicant<'_>) -> Option<String> {
    // RFC 8659 section 4.2: what does not follow the grammar lets nobody issue.
    let Some(value) = IssueValue::parse(value) else {
        return Some("its value does not follow RFC 8659, so it lets nobody issue".to_owned());
    };
    if value.issuer.is_empty() {
        return Some("it lets nobody issue".to_owned());
    }
    if !applicant.ca_domains.iter().any(|ours| ours.eq_ignore_ascii_case(value.issuer)) {
        return Some(format!("it lets {} issue, and we are {}", value.issuer, named(applicant.ca_domains)));
    }
    account_objection(&value, applicant.account_uri).or_else(|| method_objection(&value, applicant.method))
}

/// RFC 8657 section 3. URIs are compared as they stand.
fn account_objection(value: &IssueValue<'_>, ours: Option<&str>) -> Option<String> {
    let uris: Vec<_> = value.values("accounturi").collect();
    match (uris.as_slice(), ours) {
        ([], _) => None,
        ([uri], Some(ours)) if *uri == ours => None,
        ([uri], Some(ours)) => Some(format!("it is for the account {uri}, and this one is {ours}")),
        ([uri], None) => Some(format!("it is for the account {uri}, and this order has no account URI")),
        ([_, _, ..], _) => Some("it has several accounturi parameters, so no account fits".to_owned()),
    }
}

/// RFC 8657 section 4.
fn method_objection(value: &IssueValue<'_>, ours: ChallengeType) -> Option<String> {
    let lists: Vec<_> = value.values("validationmethods").collect();
    let list = match lists.as_slice() {
        [] => return None,
        [list] => *list,
        [_, _, ..] => return Some("it has several validationmethods parameters, so no method fits".to_owned()),
    };
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !list.is_empty() && !list.split(',').all(is_label) {
        return Some("its validationmethods cannot be read, so no method fits".to_owned());
    }
    let allowed = list.split(',').any(|method| method == ours.as_str());
    (!allowed).then(|| format!("it allows validation by {list:?}, and this was {ours}"))
}

fn named(ca_domains: &[String]) -> String {
    if ca_domains.is_empty() { "named by no CAA record".to_owned() } else { ca_domains.join(", ") }
}

impl Property {
    fn is(&self, tag: &str) -> bool {
        self.tag.eq_ignore_ascii_case(tag)
    }

    fn is_critical(&self) -> bool {
        self.flags & 0x80 != 0
    }
}

impl From<&CAA> for Property {
    fn from(record: &CAA) -> Self {
        Self { flags: record.flags(), tag: record.tag.clone(), value: record.value.clone() }
    }
}

/// As it would stand in a zone file, cut where it is long.
impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = shown(&self.value).replace('\\', "\\\\").replace('"', "\\\"");
        write!(f, "CAA {} {} \"{value}\"", self.flags, shown(self.tag.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ACCOUNT: &str = "https://ca.test/acme/acct/1";

    fn property(text: &str) -> Property {
        let (flags, rest) = text.split_once(' ').unwrap();
        let (tag, value) = rest.split_once(' ').unwrap_or((rest, ""));
        Property { flags: flags.parse().unwrap(), tag: tag.to_owned(), value: value.as_bytes().to_vec() }
    }

    fn judge(records: &[&str], wildcard: bool, account_uri: Option<&str>) -> Result<(), Vec<String>> {
        let properties: Vec<_> = records.iter().map(|record| property(record)).collect();
        let ca_domains = ["ca.test".to_owned(), "second.test".to_owned()];
        let method = ChallengeType::Http01;
        let applicant = Applicant { ca_domains: &ca_domains, account_uri, method, wildcard };
        permits(&properties, &applicant).map_err(|objections| objections.into_iter().map(|one| one.why).collect())
    }

    fn name(records: &[&str]) -> bool {
        judge(records, false, Some(ACCOUNT)).is_ok()
    }

    fn wildcard(records: &[&str]) -> bool {
        judge(records, true, Some(ACCOUNT)).is_ok()
    }

    #[test]
    fn any_issue_record_that_names_us_suffices() {
        assert!(name(&["0 issue ca.test"]));
        assert!(name(&["0 issue other.test", "0 issue CA.Test"]));
        assert!(name(&["0 issue second.test"]));
        assert!(name(&["0 issue ;", "0 issue ca.test"]));
        assert!(name(&["0 ISSUE ca.test"]));
        assert!(name(&["128 issue ca.test"]));
        assert!(name(&["1 issue ca.test"]), "reserved flags are ignored");
        assert!(!name(&["0 issue other.test"]));
        assert!(!name(&["0 ISSUE other.test"]));
        assert!(!name(&["0 issue notca.test"]));
        assert!(!name(&["0 issue sub.ca.test"]));
    }

    #[test]
    fn an_empty_or_malformed_value_lets_nobody_issue() {
        for value in ["0 issue ;", "0 issue", "0 issue ca.test.", "0 issue %", "0 issue ca.test; x"] {
            assert!(!name(&[value]), "{value}");
        }
    }

    #[test]
    fn records_that_do_not_restrict_us_do_not_stop_us() {
        assert!(name(&["0 iodef mailto:a@example.test"]));
        assert!(name(&["128 iodef mailto:a@example.test", "128 issuemail ;", "0 contactemail a@example.test"]));
        assert!(name(&["0 unknown x"]));
        assert!(wildcard(&["0 iodef mailto:a@example.test"]));
    }

    #[test]
    fn wildcards_go_by_issuewild_and_else_by_issue() {
        assert!(wildcard(&["0 issue ca.test"]));
        assert!(!wildcard(&["0 issue other.test"]));
        assert!(wildcard(&["0 issue other.test", "0 issuewild ca.test"]));
        assert!(!wildcard(&["0 issue ca.test", "0 issuewild other.test"]));
        assert!(!wildcard(&["0 issue ca.test", "0 issuewild ;"]));
        assert!(name(&["0 issuewild ;"]), "issuewild says nothing about other names");
        assert!(!name(&["0 issue other.test", "0 issuewild ca.test"]));
    }

    #[test]
    fn a_critical_property_that_we_do_not_know_stops_us() {
        assert!(!name(&["128 tbs unknown", "0 issue ca.test"]));
        assert!(!name(&["129 tbs unknown"]));
        assert!(!wildcard(&["128 tbs unknown", "0 issuewild ca.test"]));
        assert!(name(&["127 tbs unknown", "0 issue ca.test"]), "only the first bit is critical");
        let why = judge(&["128 tbs unknown", "0 issue ca.test"], false, None).unwrap_err();
        assert_eq!(why, ["it is critical and we do not know its tag"]);
    }

    #[test]
    fn an_account_uri_must_be_that_of_the_account() {
        let record = format!("0 issue ca.test; accounturi={ACCOUNT}");
        assert!(name(&[&record]));
        assert!(name(&[&record.replace("accounturi", "AccountURI")]));
        assert!(!name(&[&record.replace("acct/1", "acct/2")]));
        assert!(!name(&[&record.replace("acct/1", "ACCT/1")]), "URIs are compared as they stand");
        assert!(!name(&["0 issue ca.test; accounturi="]));
        assert!(!name(&[&format!("{record}; accounturi={ACCOUNT}")]), "two of them fit nobody");
        assert!(judge(&[&record], false, None).is_err());
        assert!(name(&[&record.replace("acct/1", "acct/2"), "0 issue ca.test"]));
    }

    #[test]
    fn validation_methods_must_name_the_one_that_was_used() {
        assert!(name(&["0 issue ca.test; validationmethods=http-01"]));
        assert!(name(&["0 issue ca.test; validationmethods=dns-01,http-01,ca-other"]));
        for list in ["dns-01", "HTTP-01", "", "http-01,", "http-01;validationmethods=http-01", "http_01,http-01"] {
            assert!(!name(&[&format!("0 issue ca.test; validationmethods={list}")]), "{list}");
        }
        let both = format!("0 issue ca.test; validationmethods=http-01; accounturi={ACCOUNT}");
        assert!(name(&[&both]));
        assert!(!name(&[&both.replace("acct/1", "acct/2")]));
        assert!(!name(&[&both.replace("http-01", "dns-01")]));
    }

    #[test]
    fn every_objection_says_why() {
        let why = judge(&["0 issue other.test", "0 issue ;"], false, None).unwrap_err();
        assert_eq!(why, ["it lets other.test issue, and we are ca.test, second.test", "it lets nobody issue"]);
    }

    proptest! {
        #[test]
        fn no_record_makes_it_panic(
            records in prop::collection::vec((any::<u8>(), "[a-zA-Z0-9]{1,15}", any::<Vec<u8>>()), 0..5),
            wildcard: bool,
        ) {
            let properties: Vec<_> =
                records.into_iter().map(|(flags, tag, value)| Property { flags, tag, value }).collect();
            let ca_domains = ["ca.test".to_owned()];
            let method = ChallengeType::Dns01;
            let applicant = Applicant { ca_domains: &ca_domains, account_uri: None, method, wildcard };
            let _ = permits(&properties, &applicant);
            let _: Vec<_> = properties.iter().map(Property::to_string).collect();
        }
    }
}
