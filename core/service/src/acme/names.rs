//! Names as ACME clients ask for them (RFC 8555 section 9.7.7, RFC 8738 section 3).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use chancery_domain::policy::{MAX_VIOLATIONS, Violations};
use chancery_domain::{DnsName, Identifier, Problem, Profile, cut};
use chancery_pki::{NameProblem, is_owned_with, is_public_suffix, read_dns_name, registrable_domain};

use super::{AcmeError, RejectedName, Rejection, ToldName};
use crate::settings::Settings;

/// A name of this many bytes can be told back with its type.
const LONGEST_TOLD: usize = 300;

/// A name as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskedName {
    pub kind: String,
    pub value: String,
    /// A name above it at which control can be shown (RFC 9444 section 4.3).
    pub ancestor: Option<String>,
    /// Whether control is to be shown of all names below it as well (RFC 9444 section 4.2).
    pub subdomains: bool,
}

impl AskedName {
    /// As it came; what is longer than any name is not told back.
    fn told(&self) -> Option<ToldName> {
        let Self { kind, value, .. } = self;
        let fits = kind.len() + value.len() <= LONGEST_TOLD;
        fits.then(|| ToldName::Unread { kind: kind.clone(), value: value.clone() })
    }
}

/// Drops identifiers that repeat another one word for word: a request has room for thousands of them.
pub(super) fn drop_repeated(asked: &mut Vec<AskedName>) {
    let mut seen = BTreeSet::new();
    asked.retain(|name| seen.insert(name.clone()));
}

/// Each name once, in order, or everything that is wrong with them. Asking for a name twice, in whatever spelling, is
/// asking once.
pub(super) fn read(settings: &Settings, profile: &Profile, asked: &[AskedName]) -> Result<Vec<Identifier>, AcmeError> {
    if asked.is_empty() {
        return Err(AcmeError::Malformed("`identifiers` names nothing; name at least one identifier".to_owned()));
    }
    let (mut names, mut rejected) = (Vec::with_capacity(asked.len()), Vec::new());
    let mut unread = BTreeSet::new();
    for name in asked {
        match read_one(name) {
            Ok(name) => names.push(name),
            Err(refusal) if unread.insert((&name.kind, &name.value)) => rejected.push(refusal),
            Err(_) => {}
        }
    }
    names.sort();
    names.dedup();
    let rules = settings.issuing.names_of(profile);
    let (found, most) = (names.len() + rejected.len(), rules.max_names);
    if found > most {
        return Err(AcmeError::Malformed(format!(
            "there are {found} names, and a certificate may have {most}; split them over several orders"
        )));
    }
    for name in &names {
        let problems = rules.problems(std::slice::from_ref(name));
        rejected.extend(problems.iter().map(|problem: &NameProblem| RejectedName {
            name: Some(ToldName::Read(name.clone())),
            kind: Rejection::Forbidden,
            detail: problem.to_string(),
        }));
    }
    if rejected.is_empty() {
        return Ok(names);
    }
    let untold = rejected.len().saturating_sub(MAX_VIOLATIONS);
    rejected.truncate(MAX_VIOLATIONS);
    Err(AcmeError::Rejected(rejected, untold))
}

/// The names above those that are ordered at which control is to be shown, where the client has named any.
pub(super) fn ancestors(settings: &Settings, asked: &[AskedName]) -> Result<BTreeMap<Identifier, DnsName>, AcmeError> {
    let mut ancestors = BTreeMap::new();
    for name in asked.iter().filter(|_| settings.acme.subdomains) {
        let (Some(ancestor), Ok(identifier)) = (&name.ancestor, read_one(name)) else { continue };
        let ancestor = ancestor_of(&identifier, ancestor)?;
        let known = ancestors.entry(identifier).or_insert_with(|| ancestor.clone());
        if *known != ancestor {
            let detail = format!("{} is asked for twice, with different names as its `ancestorDomain`", name.value);
            return Err(AcmeError::Malformed(detail));
        }
    }
    // Public suffixes are looked up once for each name, however often it is repeated.
    ancestors.iter().try_for_each(|(identifier, ancestor)| require_same_owner(identifier, ancestor))?;
    Ok(ancestors)
}

/// That a name can be one whose whole namespace somebody controls.
pub(super) fn require_namespace(name: &DnsName) -> Result<(), AcmeError> {
    nobodys(name).map_or(Ok(()), |why| Err(forbidden(name, why)))
}

/// Why nobody controls all names below one, where that is so.
fn nobodys(name: &DnsName) -> Option<String> {
    is_public_suffix(name.as_str()).then(|| format!("{name} is a public suffix: nobody controls all names below it"))
}

/// Why an ancestor shows nothing of a name, where it has another owner than the name has.
fn anothers(name: &DnsName, ancestor: &DnsName) -> Option<String> {
    let highest = registrable_domain(name.as_str()).unwrap_or(name.as_str());
    (!is_owned_with(name.as_str(), ancestor.as_str()))
        .then(|| format!("there is a public suffix between {name} and {ancestor}; name {highest} or one below it"))
}

fn forbidden(name: &DnsName, detail: String) -> AcmeError {
    let name = Some(ToldName::Read(Identifier::Dns(name.clone())));
    AcmeError::Rejected(vec![RejectedName { name, kind: Rejection::Forbidden, detail }], 0)
}

/// RFC 9444 section 4.3: what is no ancestor is malformed.
fn ancestor_of(identifier: &Identifier, text: &str) -> Result<DnsName, AcmeError> {
    let malformed = |why: &str| {
        let shown = cut(text, 100);
        AcmeError::Malformed(format!("`ancestorDomain` {shown:?} of {identifier} {why}"))
    };
    let Identifier::Dns(name) = identifier else { return Err(malformed("cannot be: an address has none")) };
    if name.is_wildcard() {
        return Err(malformed("cannot be: control of a wildcard is shown at its own name; leave it out"));
    }
    let ancestor = match read_dns_name(text) {
        Ok(Identifier::Dns(ancestor)) if !ancestor.is_wildcard() => ancestor,
        Ok(_) => return Err(malformed("is not a host name")),
        Err(problem) => return Err(malformed(&format!("is not a host name: {problem}"))),
    };
    if !name.is_below(ancestor.as_str()) {
        return Err(malformed("is not a name above it"));
    }
    Ok(ancestor)
}

/// That the owner of a name can show control of it at an ancestor.
fn require_same_owner(identifier: &Identifier, ancestor: &DnsName) -> Result<(), AcmeError> {
    let Identifier::Dns(name) = identifier else { return Ok(()) };
    // Told of the name that was ordered (RFC 8555 section 6.7.1): the ancestor is none of the order's names.
    match nobodys(ancestor).or_else(|| anothers(name, ancestor)) {
        Some(why) => Err(forbidden(name, format!("`ancestorDomain` of {name}: {why}"))),
        None => Ok(()),
    }
}

/// What policies have against an order, name by name where it is about a name.
pub(super) fn rejected(violations: Violations, names: &[Identifier]) -> AcmeError {
    let told = |problem: Problem| RejectedName {
        name: problem.name.and_then(|place| names.get(place).cloned()).map(ToldName::Read),
        kind: Rejection::Forbidden,
        detail: format!("{} ({})", problem.message, problem.code),
    };
    let (problems, omitted) = violations.into_parts();
    AcmeError::Rejected(problems.into_iter().map(told).collect(), omitted)
}

fn read_one(asked: &AskedName) -> Result<Identifier, RejectedName> {
    let refuse = |kind, detail| Err(RejectedName { name: asked.told(), kind, detail });
    let shown = cut(&asked.value, 100);
    match asked.kind.as_str() {
        "dns" if asked.value.parse::<IpAddr>().is_ok() => {
            let detail = format!(
                "{shown:?} is an IP address, and was asked for as a host name: its type is ip, not dns (RFC 8738); \
                 where the client cannot be told so, it is too old for this"
            );
            refuse(Rejection::Malformed, detail)
        }
        "dns" => read_dns_name(&asked.value).or_else(|problem| refuse(Rejection::Malformed, problem.to_string())),
        "ip" => match asked.value.parse() {
            Ok(address) => Ok(Identifier::Ip(address)),
            Err(_) => refuse(Rejection::Malformed, format!("{shown:?} is not an IP address")),
        },
        other => {
            let other = cut(other, 100);
            let detail = format!("{other:?} is not a type of identifier that we certify; ask for dns or ip");
            refuse(Rejection::Unsupported, detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_identifiers_are_dropped_and_the_others_keep_their_order() {
        let name = |value: &str, ancestor: Option<&str>| AskedName {
            kind: "dns".to_owned(),
            value: value.to_owned(),
            ancestor: ancestor.map(str::to_owned),
            subdomains: false,
        };
        let mut asked = vec![name("b.test", None); 5000];
        asked.push(name("a.test", None));
        asked.push(name("b.test", Some("test")));
        asked.push(name("a.test", None));
        drop_repeated(&mut asked);
        assert_eq!(asked, [name("b.test", None), name("a.test", None), name("b.test", Some("test"))]);
    }
}
