//! The patterns of policies, against names. The first line is a pattern, the others are names.
//!
//! A pattern is written as it is read. One that covers a name also touches it; names and patterns that are the same
//! cover each other.

use chancery_domain::DnsName;
use chancery_domain::policy::DomainPattern;

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "pattern", run, form: Form::Text, words: include_str!("../../words/pattern.dict") };

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut lines = text.lines();
    let Some(Ok(pattern)) = lines.next().map(DomainPattern::parse) else { return };
    let written = pattern.to_string();
    assert_eq!(DomainPattern::parse(&written).expect("what we write can be read").to_string(), written);
    for name in lines.take(20).filter_map(|line| DnsName::parse(line).ok()) {
        let covers = pattern.covers(&name);
        assert!(!covers || pattern.touches(&name), "{written} covers {name} and does not touch it");
        // Said once more, by hand.
        let expected = match written.strip_prefix("*.") {
            _ if written == "**" => true,
            Some(parent) => name.as_str().ends_with(&format!(".{parent}")),
            None => name.as_str() == written,
        };
        assert_eq!(covers, expected, "{written} and {name}");
    }
}
