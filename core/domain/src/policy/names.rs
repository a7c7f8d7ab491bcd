//! Checks the names of a request against the rules of one policy after the other.

use super::name_index::{NameIndex, NameSet};
use super::{CompiledRules, PatternIndex, Violations};
use crate::identifier::Identifier;
use crate::problem::Problem;

const ALLOW_WILDCARDS: &str = "allow_wildcards";
const ALLOW_IP_ADDRESSES: &str = "allow_ip_addresses";
const ALLOWED_DOMAINS: &str = "allowed_domains";
const DENIED_DOMAINS: &str = "denied_domains";

/// The names of a request.
pub(super) struct Names<'a> {
    identifiers: &'a [Identifier],
    wildcards: usize,
    addresses: usize,
    /// Built for the first policy that lists domains.
    index: Option<NameIndex<'a>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(identifiers: &'a [Identifier]) -> Self {
        let count = |is: fn(&Identifier) -> bool| identifiers.iter().filter(|each| is(each)).count();
        let addresses = count(|each| matches!(each, Identifier::Ip(_)));
        Self { identifiers, wildcards: count(Identifier::is_wildcard), addresses, index: None }
    }

    /// Checks all names; `blame` says in a problem whose rules they are. First the refused names are counted: few policies refuse
    /// any, and if there is no room for descriptions, the numbers are all that is needed.
    pub(super) fn check(
        &mut self,
        rules: &CompiledRules,
        blame: impl Fn(Problem) -> Problem,
        violations: &mut Violations,
    ) {
        let has_lists = rules.allowed_domains.is_some() || rules.denied_domains.is_some();
        let matched = has_lists.then(|| {
            let index = self.index.get_or_insert_with(|| NameIndex::new(self.identifiers));
            Matched::new(rules, index)
        });
        let refused = self.refused(rules, matched.as_ref());
        if refused.iter().all(|(_, count)| *count == 0) {
            return;
        }
        if !violations.has_room() {
            refused.into_iter().for_each(|(rule, count)| violations.omit(rule, count));
            return;
        }
        let matched = matched.map(|matched| matched.by_place(self.identifiers.len(), self.index.as_ref()));
        for (place, identifier) in self.identifiers.iter().enumerate() {
            let (is_allowed, is_denied) = matched.as_ref().map_or((true, false), |matched| matched[place]);
            check_name(rules, identifier, is_allowed, is_denied, |rule, message| {
                violations.add(rule, || blame(Problem::of_name(place, rule, message())));
            });
        }
    }

    /// How many names each rule refuses.
    fn refused(&self, rules: &CompiledRules, matched: Option<&Matched>) -> [(&'static str, usize); 4] {
        let if_so = |refuses: bool, count: usize| if refuses { count } else { 0 };
        let names = self.identifiers.len() - self.addresses;
        let (unlisted, denied) = matched.map_or((0, 0), |matched| {
            let allowed = matched.allowed.as_ref().map_or(names, NameSet::len);
            (names - allowed, matched.denied.as_ref().map_or(0, NameSet::len))
        });
        [
            (ALLOW_WILDCARDS, if_so(rules.allow_wildcards == Some(false), self.wildcards)),
            (ALLOW_IP_ADDRESSES, if_so(rules.allow_ip_addresses == Some(false), self.addresses)),
            (ALLOWED_DOMAINS, unlisted + if_so(lists_no_addresses(rules), self.addresses)),
            (DENIED_DOMAINS, denied + if_so(denies_everything(rules), self.addresses)),
        ]
    }
}

/// The names that the lists of one policy match; no set if there is no such list.
struct Matched {
    allowed: Option<NameSet>,
    denied: Option<NameSet>,
}

impl Matched {
    fn new(rules: &CompiledRules, names: &NameIndex<'_>) -> Self {
        let matches = |list: &PatternIndex| {
            let mut matched = NameSet::new(names.len());
            list.add_matches(names, &mut matched);
            matched
        };
        Self {
            allowed: rules.allowed_domains.as_ref().map(matches),
            denied: rules.denied_domains.as_ref().map(matches),
        }
    }

    /// For each name of the request, whether it is allowed and whether it is denied by its domain.
    fn by_place(&self, count: usize, names: Option<&NameIndex<'_>>) -> Vec<(bool, bool)> {
        let mut found = vec![(true, false); count];
        for (position, place) in names.iter().flat_map(|names| names.places()).enumerate() {
            let is_in = |set: &Option<NameSet>| set.as_ref().map(|set| set.contains(position));
            found[place] = (is_in(&self.allowed).unwrap_or(true), is_in(&self.denied).unwrap_or(false));
        }
        found
    }
}

/// The rules that refuse a name, each with its message.
fn check_name(
    rules: &CompiledRules,
    identifier: &Identifier,
    is_allowed: bool,
    is_denied: bool,
    mut refuse: impl FnMut(&'static str, &dyn Fn() -> String),
) {
    match identifier {
        Identifier::Ip(address) => {
            if rules.allow_ip_addresses == Some(false) {
                refuse(ALLOW_IP_ADDRESSES, &|| format!("IP addresses such as {address} are not allowed"));
            }
            if lists_no_addresses(rules) {
                let hint = "set allow_ip_addresses to let addresses in";
                refuse(ALLOWED_DOMAINS, &|| format!("{address} is not among the allowed domains; {hint}"));
            }
            if denies_everything(rules) {
                refuse(DENIED_DOMAINS, &|| format!("{address} is denied by **"));
            }
        }
        Identifier::Dns(name) => {
            if name.is_wildcard() && rules.allow_wildcards == Some(false) {
                refuse(ALLOW_WILDCARDS, &|| format!("wildcards such as {name} are not allowed"));
            }
            if !is_allowed {
                refuse(ALLOWED_DOMAINS, &|| format!("{name} is not among the allowed domains"));
            }
            if is_denied {
                refuse(DENIED_DOMAINS, &|| {
                    let list = rules.denied_domains.as_ref();
                    let pattern = list.and_then(|list| list.broadest_match(name)).unwrap_or_default();
                    format!("{name} is denied by {pattern}")
                });
            }
        }
    }
}

/// A list of allowed domains is the whole list: without a rule about addresses it refuses them.
fn lists_no_addresses(rules: &CompiledRules) -> bool {
    rules.allowed_domains.is_some() && rules.allow_ip_addresses.is_none()
}

/// `**` among the denied domains denies addresses, too.
fn denies_everything(rules: &CompiledRules) -> bool {
    rules.denied_domains.as_ref().is_some_and(PatternIndex::is_everything)
}
