//! CAA records: each line is the flags, the tag and the value, with a blank between.
//!
//! A value that is read is the same when it is written and read again. Records let us issue only if they name us, or
//! name nobody; what holds for a condition that is not ours never lets us issue; and nobody but those who are named
//! gains by another record with a critical tag that is unknown.

use chancery_dcv::parsers::{caa_permits, caa_value};
use chancery_domain::ChallengeType;

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "caa", run, form: Form::Text, words: include_str!("../../words/caa.dict") };

const ACCOUNT: &str = "https://ca.test/account/1";

fn run(input: &[u8]) {
    if let Some((issuer, parameters)) = caa_value(input) {
        let parts = parameters.iter().map(|(tag, value)| format!("; {tag}={value}"));
        let written = issuer.clone() + &parts.collect::<String>();
        assert_eq!(caa_value(written.as_bytes()), Some((issuer, parameters)), "{written}");
    }
    let records: Vec<_> = input.split(|byte| *byte == b'\n').take(20).filter_map(record).collect();
    if records.is_empty() {
        return;
    }
    let ours = ["ca.test".to_owned()];
    for wildcard in [false, true] {
        for method in [ChallengeType::Dns01, ChallengeType::Http01] {
            match caa_permits(&records, &ours, Some(ACCOUNT), method, wildcard) {
                Ok(()) => permitted(&records, wildcard),
                Err(objections) => {
                    assert!(!objections.is_empty(), "a refusal without a reason");
                    assert!(
                        caa_permits(&records, &[], Some(ACCOUNT), method, wildcard).is_err(),
                        "nobody may more than we"
                    );
                }
            }
            let mut more = records.clone();
            more.push((0x80, "unheardof".to_owned(), Vec::new()));
            assert!(caa_permits(&more, &ours, Some(ACCOUNT), method, wildcard).is_err());
        }
    }
}

/// Either nothing is said about issuing, or a record names us.
fn permitted(records: &[(u8, String, Vec<u8>)], wildcard: bool) {
    let tagged = |tag: &str| records.iter().filter(|record| record.1.eq_ignore_ascii_case(tag)).collect::<Vec<_>>();
    let mut relevant = if wildcard { tagged("issuewild") } else { Vec::new() };
    if relevant.is_empty() {
        relevant = tagged("issue");
    }
    let names_us = |value: &[u8]| caa_value(value).is_some_and(|(issuer, _)| issuer.eq_ignore_ascii_case("ca.test"));
    assert!(relevant.is_empty() || relevant.iter().any(|record| names_us(&record.2)), "{records:?}");
}

fn record(line: &[u8]) -> Option<(u8, String, Vec<u8>)> {
    let mut parts = line.splitn(3, |byte| *byte == b' ');
    let flags = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
    let tag = std::str::from_utf8(parts.next()?).ok()?.to_owned();
    Some((flags, tag, parts.next()?.to_vec()))
}
