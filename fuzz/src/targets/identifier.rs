//! Names and addresses.
//!
//! What is accepted is in its one canonical form: ASCII, lower case, without a dot at the end, and it is accepted
//! again as itself. The checks of names give the same names.

use chancery_domain::{DnsName, Identifier};
use chancery_pki::{NameRules, read_dns_name};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "identifier", run, form: Form::Text, words: include_str!("../../words/identifier.dict") };

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(read) = Identifier::parse(text) else {
        // A name that is no name is none to the checks either.
        assert!(read_dns_name(text).is_err());
        return;
    };
    let written = read.to_string();
    assert_eq!(Identifier::parse(&written).as_ref(), Ok(&read), "{written} is not itself");
    if let Identifier::Dns(name) = &read {
        look(name);
        if let Ok(same) = read_dns_name(text) {
            assert_eq!(same, read);
        }
    }
    for rules in
        [NameRules::default(), NameRules { internal_names: true, special_addresses: true, ..NameRules::default() }]
    {
        let problems = rules.problems(std::slice::from_ref(&read));
        assert!(problems.iter().all(|problem| !problem.code().is_empty() && !problem.to_string().is_empty()));
        assert!(problems.len() <= 1);
        assert_eq!(rules.problems(&[read.clone(), read.clone()]).len(), problems.len() + 1, "a repetition is told");
    }
}

fn look(name: &DnsName) {
    let text = name.as_str();
    assert!(text.len() <= 253 && !text.ends_with('.'));
    let base = name.base();
    assert_eq!(name.is_wildcard(), text.starts_with("*."));
    assert!(!base.is_empty() && !base.contains('*'));
    assert!(base.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase() || b"-.".contains(&byte)));
    assert!(
        base.split('.')
            .all(|label| (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-'))
    );
    assert_eq!(name.is_below(base), name.is_wildcard());
    assert!(!name.is_below(text));
}
