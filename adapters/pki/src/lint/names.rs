//! The names: exactly those that were validated, and each fit for a certificate (Baseline Requirements section
//! 7.1.2.7.12).

use std::collections::BTreeSet;

use chancery_domain::Identifier;
use x509_parser::{certificate::TbsCertificate, extensions::GeneralName, extensions::ParsedExtension};

use super::Findings;
use crate::{
    name_rules::{read_address, read_dns_name},
    subscriber::Terms,
};

pub(super) fn lint(tbs: &TbsCertificate<'_>, terms: &Terms<'_>, findings: &mut Findings) {
    let names = tbs.extensions().iter().filter_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
        _ => None,
    });
    let mut found = Vec::new();
    for name in names.flatten() {
        let read = match name {
            GeneralName::DNSName(text) => read_dns_name(text).map(|read| (read.to_string() == *text, read)),
            GeneralName::IPAddress(octets) => read_address(octets).map(|read| (true, read)),
            other => {
                findings.add("names", format_args!("{other} is neither a host name nor an address"));
                continue;
            }
        };
        match read {
            Ok((canonical, read)) => {
                findings.require(canonical, "names", format_args!("{name} is not in its one spelling"));
                found.push(read);
            }
            Err(problem) => findings.add("names", problem),
        }
    }
    for problem in terms.profile.names.problems(&found) {
        findings.add("names", problem);
    }
    let agreed: BTreeSet<&Identifier> = terms.names.iter().collect();
    let found: BTreeSet<&Identifier> = found.iter().collect();
    for missing in agreed.difference(&found) {
        findings.add("names", format_args!("{missing} was agreed on and is missing"));
    }
    for extra in found.difference(&agreed) {
        findings.add("names", format_args!("{extra} was never agreed on"));
    }
}
