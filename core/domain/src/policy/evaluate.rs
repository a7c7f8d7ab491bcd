//! What the policies say to one request. All of them must permit it; every broken rule is named.

use crate::id::PolicyId;
use crate::identifier::{DnsName, Identifier};
use crate::kinds::{ChallengeType, KeyType};
use crate::problem::Problem;
use crate::profile::Profile;
use crate::text::Name;

use super::{DomainPattern, PolicyRules};

/// The rule about keys, which is told as what is wrong with a CSR and not with its names.
pub const ALLOWED_KEY_TYPES: &str = "allowed_key_types";
/// The rule about ways to show control of a name.
pub const ALLOWED_CHALLENGE_TYPES: &str = "allowed_challenge_types";

/// What is asked for. What is not known yet (a key, a challenge) is not judged yet.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub profile: &'a Profile,
    pub identifiers: &'a [Identifier],
    pub key_type: Option<KeyType>,
    pub challenge_type: Option<ChallengeType>,
    /// A validity that was asked for by name; without one the shortest limit applies silently.
    pub validity_days: Option<u32>,
}

impl<'a> Request<'a> {
    /// Names, of which nothing else is known yet.
    pub fn of(profile: &'a Profile, identifiers: &'a [Identifier]) -> Self {
        Self { profile, identifiers, key_type: None, challenge_type: None, validity_days: None }
    }
}

/// The rules of one policy, and whose they are; the operator's default policy has no id.
#[derive(Clone, Debug)]
pub struct Applied<'a> {
    pub id: Option<PolicyId>,
    pub name: &'a Name,
    pub rules: &'a PolicyRules,
}

/// The answer: what is broken, and how long a certificate may live where nothing is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub violations: Vec<Problem>,
    pub validity_days: u32,
    /// How long the profile and the policies allow at most, whatever was asked for.
    pub most_days: u32,
}

/// Judges a request by the profile and by every policy that applies.
pub fn evaluate(request: &Request<'_>, policies: &[Applied<'_>]) -> Verdict {
    let mut violations = by_profile(request);
    violations.extend(unfit(request));
    for policy in policies {
        let broken = by_policy(request, policy.rules).into_iter().map(|mut problem| {
            problem.message = format!("{} (policy {:?})", problem.message, policy.name.as_str());
            problem.policy = policy.id.map(|id| id.to_string());
            problem
        });
        violations.extend(broken);
    }
    let limits = policies.iter().filter_map(|policy| policy.rules.max_validity_days);
    let ceiling = limits.fold(request.profile.validity_days, u32::min);
    let validity_days = request.validity_days.unwrap_or(ceiling).min(ceiling);
    Verdict { violations, validity_days, most_days: ceiling }
}

fn by_profile(request: &Request<'_>) -> Vec<Problem> {
    let Profile { key_types, challenge_types, allow_wildcards, allow_ip_addresses, max_names, validity_days, .. } =
        request.profile;
    let rules = PolicyRules {
        allow_wildcards: Some(*allow_wildcards),
        allow_ip_addresses: Some(*allow_ip_addresses),
        allowed_key_types: Some(key_types.clone()),
        allowed_challenge_types: Some(challenge_types.clone()),
        max_names: Some(*max_names),
        max_validity_days: Some(*validity_days),
        ..PolicyRules::default()
    };
    let name = &request.profile.name;
    let named = |mut problem: Problem| {
        problem.message = format!("{} (profile {name})", problem.message);
        problem
    };
    by_policy(request, &rules).into_iter().map(named).collect()
}

/// The names that cannot be shown in the way that is asked for, whatever profile and policies say.
fn unfit(request: &Request<'_>) -> Vec<Problem> {
    let Some(kind) = request.challenge_type else { return Vec::new() };
    let unfit = request.identifiers.iter().enumerate().filter(|(_, identifier)| !kind.fits(identifier));
    let told = |(place, identifier): (usize, &Identifier)| {
        let message = format!("control of {identifier} cannot be shown by {kind}");
        Problem::of_name(place, ALLOWED_CHALLENGE_TYPES, message)
    };
    unfit.map(told).collect()
}

fn by_policy(request: &Request<'_>, rules: &PolicyRules) -> Vec<Problem> {
    let mut broken = Vec::new();
    let mut say = |field: &str, rule: &'static str, message: String| broken.push(Problem::new(field, rule, message));
    if rules.issuance_enabled == Some(false) {
        say("issuance_enabled", "issuance_enabled", "issuance is switched off".into());
    }
    if let Some(allowed) = &rules.allowed_profiles
        && !allowed.contains(&request.profile.name)
    {
        say("profile", "allowed_profiles", format!("the profile {} is not allowed", request.profile.name));
    }
    if let (Some(allowed), Some(key)) = (&rules.allowed_key_types, request.key_type)
        && !allowed.contains(&key)
    {
        say("key_type", ALLOWED_KEY_TYPES, format!("keys of type {key} are not allowed"));
    }
    if let (Some(allowed), Some(challenge)) = (&rules.allowed_challenge_types, request.challenge_type)
        && !allowed.contains(&challenge)
    {
        say("challenge_type", ALLOWED_CHALLENGE_TYPES, format!("{challenge} is not allowed"));
    }
    if let Some(most) = rules.max_names
        && request.identifiers.len() > most as usize
    {
        say(
            "identifiers",
            "max_names",
            format!("{} names asked for, at most {most} allowed", request.identifiers.len()),
        );
    }
    if let (Some(most), Some(asked)) = (rules.max_validity_days, request.validity_days)
        && asked > most
    {
        say("validity_days", "max_validity_days", format!("{asked} days asked for, at most {most} allowed"));
    }
    for (place, identifier) in request.identifiers.iter().enumerate() {
        let found = by_identifier(identifier, rules).into_iter();
        broken.extend(found.map(|(rule, message)| Problem::of_name(place, rule, message)));
    }
    broken
}

fn by_identifier(identifier: &Identifier, rules: &PolicyRules) -> Vec<(&'static str, String)> {
    let mut broken = Vec::new();
    match identifier {
        Identifier::Ip(address) => {
            match (rules.allow_ip_addresses, &rules.allowed_domains) {
                (Some(true), _) | (None, None) => {}
                (Some(false), _) => {
                    broken.push(("allow_ip_addresses", format!("IP addresses such as {address} are not allowed")));
                }
                // A list of domains is meant to be the whole list: an address gets in only where a rule says so.
                (None, Some(_)) => {
                    let hint = "set allow_ip_addresses to let addresses in";
                    broken.push(("allowed_domains", format!("{address} is not among the allowed domains; {hint}")));
                }
            }
            // Who denies everything means addresses too.
            if rules.denied_domains.iter().flatten().any(|pattern| *pattern == DomainPattern::Everything) {
                broken.push(("denied_domains", format!("{address} is denied by {}", DomainPattern::Everything)));
            }
        }
        Identifier::Dns(name) => {
            if name.is_wildcard() && rules.allow_wildcards == Some(false) {
                broken.push(("allow_wildcards", format!("wildcards such as {name} are not allowed")));
            }
            if let Some(allowed) = &rules.allowed_domains
                && !allowed.iter().any(|pattern| pattern.covers(name))
            {
                broken.push(("allowed_domains", format!("{name} is not among the allowed domains")));
            }
            if let Some(pattern) = denied(rules, name) {
                broken.push(("denied_domains", format!("{name} is denied by {pattern}")));
            }
        }
    }
    broken
}

fn denied<'a>(rules: &'a PolicyRules, name: &DnsName) -> Option<&'a DomainPattern> {
    rules.denied_domains.iter().flatten().find(|pattern| pattern.touches(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(names: &[&str], rules: &[PolicyRules]) -> Verdict {
        judged(names, Some(ChallengeType::Http01), rules)
    }

    fn without_challenge(names: &[&str], rules: &[PolicyRules]) -> Verdict {
        judged(names, None, rules)
    }

    fn judged(names: &[&str], challenge_type: Option<ChallengeType>, rules: &[PolicyRules]) -> Verdict {
        let identifiers: Vec<_> = names.iter().map(|name| Identifier::parse(name).unwrap()).collect();
        let profile = Profile::predefined().remove(0);
        let name = Name::parse("test").unwrap();
        let applied: Vec<_> = rules.iter().map(|rules| Applied { id: None, name: &name, rules }).collect();
        let request = Request {
            profile: &profile,
            identifiers: &identifiers,
            key_type: Some(KeyType::EcP256),
            challenge_type,
            validity_days: None,
        };
        evaluate(&request, &applied)
    }

    fn codes(verdict: &Verdict) -> Vec<&'static str> {
        verdict.violations.iter().map(|problem| problem.code).collect()
    }

    fn patterns(texts: &[&str]) -> Option<Vec<DomainPattern>> {
        Some(texts.iter().map(|text| DomainPattern::parse(text).unwrap()).collect())
    }

    #[test]
    fn without_policies_the_profile_decides() {
        let allowed = Verdict { violations: vec![], validity_days: 90, most_days: 90 };
        assert_eq!(verdict(&["example.com", "192.0.2.1"], &[]), allowed);
    }

    #[test]
    fn all_policies_must_permit_and_the_shortest_validity_wins() {
        let narrow = PolicyRules { allowed_domains: patterns(&["*.example.com"]), ..PolicyRules::default() };
        let short = PolicyRules { max_validity_days: Some(30), ..PolicyRules::default() };
        let good = verdict(&["www.example.com"], &[narrow.clone(), short.clone()]);
        assert_eq!(good, Verdict { violations: vec![], validity_days: 30, most_days: 30 });
        assert_eq!(codes(&verdict(&["example.org"], &[short, narrow])), ["allowed_domains"]);
    }

    #[test]
    fn who_denies_everything_denies_addresses_too() {
        let none = PolicyRules { denied_domains: patterns(&["**"]), ..PolicyRules::default() };
        let unless = PolicyRules { allow_ip_addresses: Some(true), ..none.clone() };
        for rules in [none, unless] {
            let names = &["a.example", "*.a.example", "192.0.2.7", "2001:db8::1"];
            assert_eq!(codes(&without_challenge(names, &[rules])), ["denied_domains"; 4]);
        }
        let some = PolicyRules { denied_domains: patterns(&["*.example", "a.example"]), ..PolicyRules::default() };
        assert_eq!(codes(&without_challenge(&["192.0.2.7"], &[some])), [""; 0]);
    }

    #[test]
    fn a_way_that_does_not_fit_a_name_is_told() {
        let told = verdict(&["a.example", "*.a.example", "192.0.2.7"], &[]);
        let places: Vec<_> = told.violations.iter().map(|problem| (problem.code, problem.name)).collect();
        assert_eq!(places, [(ALLOWED_CHALLENGE_TYPES, Some(1))], "http-01 fits names and addresses");
    }

    #[test]
    fn every_broken_rule_is_named() {
        let rules = PolicyRules {
            denied_domains: patterns(&["bad.example"]),
            allow_wildcards: Some(false),
            allow_ip_addresses: Some(false),
            allowed_profiles: Some(vec![]),
            allowed_key_types: Some(vec![KeyType::Rsa4096]),
            allowed_challenge_types: Some(vec![ChallengeType::Dns01]),
            max_names: Some(1),
            issuance_enabled: Some(false),
            ..PolicyRules::default()
        };
        assert_eq!(
            codes(&verdict(&["bad.example", "*.good.example", "192.0.2.1"], &[rules])),
            [
                // By http-01, which shows no wildcard.
                "allowed_challenge_types",
                "issuance_enabled",
                "allowed_profiles",
                "allowed_key_types",
                "allowed_challenge_types",
                "max_names",
                "denied_domains",
                "allow_wildcards",
                "allow_ip_addresses",
            ]
        );
    }

    #[test]
    fn a_list_of_domains_keeps_addresses_out_unless_a_rule_lets_them_in() {
        let only = PolicyRules { allowed_domains: patterns(&["**"]), ..PolicyRules::default() };
        assert_eq!(codes(&verdict(&["192.0.2.1"], std::slice::from_ref(&only))), ["allowed_domains"]);
        let both = PolicyRules { allow_ip_addresses: Some(true), ..only };
        assert_eq!(verdict(&["192.0.2.1"], &[both]).violations, []);
    }

    #[test]
    fn denied_wins_over_allowed() {
        let rules = PolicyRules {
            allowed_domains: patterns(&["**"]),
            denied_domains: patterns(&["*.example.com"]),
            ..PolicyRules::default()
        };
        assert_eq!(codes(&verdict(&["a.example.com"], &[rules])), ["denied_domains"]);
    }
}
