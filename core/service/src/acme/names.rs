//! Names as ACME clients ask for them (RFC 8555 section 9.7.7, RFC 8738 section 3).

use std::net::IpAddr;

use chancery_domain::{Identifier, Problem, Profile};
use chancery_pki::{NameProblem, read_dns_name};

use super::{AcmeError, RejectedName, Rejection};
use crate::settings::Settings;

/// A name as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedName {
    pub kind: String,
    pub value: String,
}

/// Each name once, in order, or everything that is wrong with them. Asking for a name twice, in whatever spelling, is
/// asking once.
pub(super) fn read(settings: &Settings, profile: &Profile, asked: &[AskedName]) -> Result<Vec<Identifier>, AcmeError> {
    if asked.is_empty() {
        return Err(AcmeError::Malformed("`identifiers` names nothing; name at least one identifier".to_owned()));
    }
    let (mut names, mut rejected) = (Vec::with_capacity(asked.len()), Vec::new());
    for name in asked {
        match read_one(name) {
            Ok(name) => names.push(name),
            Err(refusal) => rejected.push(refusal),
        }
    }
    names.sort();
    names.dedup();
    let rules = settings.issuing.names_of(profile);
    if names.len() > rules.max_names {
        let (found, most) = (names.len(), rules.max_names);
        return Err(AcmeError::Malformed(format!(
            "there are {found} names, and a certificate may have {most}; split them over several orders"
        )));
    }
    for name in &names {
        let problems = rules.problems(std::slice::from_ref(name));
        rejected.extend(problems.iter().map(|problem: &NameProblem| RejectedName {
            identifier: Some(name.clone()),
            kind: Rejection::Forbidden,
            detail: problem.to_string(),
        }));
    }
    if rejected.is_empty() { Ok(names) } else { Err(AcmeError::Rejected(rejected)) }
}

/// What policies have against an order, name by name where it is about a name.
pub(super) fn rejected(violations: Vec<Problem>, names: &[Identifier]) -> AcmeError {
    let of = |problem: &Problem| {
        let place = problem.field.strip_prefix("identifiers[")?.strip_suffix(']')?;
        names.get(place.parse::<usize>().ok()?).cloned()
    };
    let told = |problem: Problem| RejectedName {
        identifier: of(&problem),
        kind: Rejection::Forbidden,
        detail: format!("{} ({})", problem.message, problem.code),
    };
    AcmeError::Rejected(violations.into_iter().map(told).collect())
}

fn read_one(asked: &AskedName) -> Result<Identifier, RejectedName> {
    let refuse = |kind, detail| Err(RejectedName { identifier: None, kind, detail });
    let shown = || asked.value.chars().take(100).collect::<String>();
    match asked.kind.as_str() {
        "dns" if asked.value.parse::<IpAddr>().is_ok() => {
            let detail = format!(
                "{:?} is an IP address, and was asked for as a host name: its type is ip, not dns (RFC 8738); where the \
                 client cannot be told so, it is too old for this",
                shown()
            );
            refuse(Rejection::Malformed, detail)
        }
        "dns" => read_dns_name(&asked.value).or_else(|problem| refuse(Rejection::Malformed, problem.to_string())),
        "ip" => match asked.value.parse() {
            Ok(address) => Ok(Identifier::Ip(address)),
            Err(_) => refuse(Rejection::Malformed, format!("{:?} is not an IP address", shown())),
        },
        other => {
            let other: String = other.chars().take(100).collect();
            let detail = format!("{other:?} is not a type of identifier that we certify; ask for dns or ip");
            refuse(Rejection::Unsupported, detail)
        }
    }
}
