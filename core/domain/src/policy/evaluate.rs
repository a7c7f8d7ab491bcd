//! Evaluates a request against the policies that apply. All of them must permit it.

use super::names::Names;
use super::{CompiledPolicy, CompiledRules, Violations};
use crate::identifier::Identifier;
use crate::kinds::{ChallengeType, KeyType};
use crate::problem::Problem;
use crate::profile::Profile;

/// The rule about keys, whose violations are problems of a CSR and not of its names.
pub const ALLOWED_KEY_TYPES: &str = "allowed_key_types";
/// The rule about validation methods.
pub const ALLOWED_CHALLENGE_TYPES: &str = "allowed_challenge_types";

/// What is asked for. Rules about a key or a challenge that is not known yet are not evaluated.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub profile: &'a Profile,
    pub identifiers: &'a [Identifier],
    pub key_type: Option<KeyType>,
    pub challenge_type: Option<ChallengeType>,
    /// The validity that is asked for. If it is omitted, the shortest limit applies.
    pub validity_days: Option<u32>,
}

impl<'a> Request<'a> {
    /// A request of which only the names are known.
    pub fn of(profile: &'a Profile, identifiers: &'a [Identifier]) -> Self {
        Self { profile, identifiers, key_type: None, challenge_type: None, validity_days: None }
    }
}

/// The result: the violations, and how long a certificate may live if there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub violations: Violations,
    pub validity_days: u32,
    /// The longest validity that the profile and the policies allow, whatever was asked for.
    pub most_days: u32,
}

/// Evaluates a request against its profile and every policy that applies.
pub fn evaluate<'p>(request: &Request<'_>, policies: impl IntoIterator<Item = &'p CompiledPolicy>) -> Verdict {
    let mut evaluation = Evaluation::new(request);
    evaluation.check_profile();
    evaluation.check_challenge_type();
    let mut most_days = request.profile.validity_days;
    for policy in policies {
        evaluation.check(&policy.rules, |problem| policy.blamed_for(problem));
        most_days = most_days.min(policy.rules.max_validity_days.unwrap_or(most_days));
    }
    let validity_days = request.validity_days.unwrap_or(most_days).min(most_days);
    Verdict { violations: evaluation.violations, validity_days, most_days }
}

/// A request that is compared with one set of rules after the other.
struct Evaluation<'a> {
    request: &'a Request<'a>,
    names: Names<'a>,
    violations: Violations,
}

impl<'a> Evaluation<'a> {
    fn new(request: &'a Request<'a>) -> Self {
        Self { request, names: Names::new(request.identifiers), violations: Violations::default() }
    }

    fn check_profile(&mut self) {
        let profile = self.request.profile;
        let rules = CompiledRules {
            allow_wildcards: Some(profile.allow_wildcards),
            allow_ip_addresses: Some(profile.allow_ip_addresses),
            allowed_key_types: Some(profile.key_types.clone()),
            allowed_challenge_types: Some(profile.challenge_types.clone()),
            max_names: Some(profile.max_names),
            max_validity_days: Some(profile.validity_days),
            ..CompiledRules::default()
        };
        self.check(&rules, |problem| Problem {
            message: format!("{} (profile {})", problem.message, profile.name),
            ..problem
        });
    }

    /// The challenge must be able to validate every name, whatever profile and policies allow.
    fn check_challenge_type(&mut self) {
        let Some(kind) = self.request.challenge_type else { return };
        for (place, identifier) in self.request.identifiers.iter().enumerate() {
            if !kind.fits(identifier) {
                self.violations.add(ALLOWED_CHALLENGE_TYPES, || {
                    let message = format!("control of {identifier} cannot be shown by {kind}");
                    Problem::of_name(place, ALLOWED_CHALLENGE_TYPES, message)
                });
            }
        }
    }

    /// Checks one set of rules; `blame` says in a problem whose rules they are.
    fn check(&mut self, rules: &CompiledRules, blame: impl Fn(Problem) -> Problem) {
        self.check_request(rules, &blame);
        self.names.check(rules, &blame, &mut self.violations);
    }

    fn check_request(&mut self, rules: &CompiledRules, blame: impl Fn(Problem) -> Problem) {
        let request = self.request;
        let mut add = |field: &str, rule, message: &dyn Fn() -> String| {
            self.violations.add(rule, || blame(Problem::new(field, rule, message())));
        };
        if rules.issuance_enabled == Some(false) {
            add("issuance_enabled", "issuance_enabled", &|| "issuance is switched off".to_owned());
        }
        if let Some(allowed) = &rules.allowed_profiles
            && !allowed.contains(&request.profile.name)
        {
            add("profile", "allowed_profiles", &|| format!("the profile {} is not allowed", request.profile.name));
        }
        if let (Some(allowed), Some(key)) = (&rules.allowed_key_types, request.key_type)
            && !allowed.contains(&key)
        {
            add("key_type", ALLOWED_KEY_TYPES, &|| format!("keys of type {key} are not allowed"));
        }
        if let (Some(allowed), Some(challenge)) = (&rules.allowed_challenge_types, request.challenge_type)
            && !allowed.contains(&challenge)
        {
            add("challenge_type", ALLOWED_CHALLENGE_TYPES, &|| format!("{challenge} is not allowed"));
        }
        let names = request.identifiers.len();
        if let Some(most) = rules.max_names
            && names > most as usize
        {
            add("identifiers", "max_names", &|| format!("{names} names asked for, at most {most} allowed"));
        }
        if let (Some(most), Some(asked)) = (rules.max_validity_days, request.validity_days)
            && asked > most
        {
            add("validity_days", "max_validity_days", &|| format!("{asked} days asked for, at most {most} allowed"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{DomainPattern, MAX_VIOLATIONS, PolicyRules};
    use crate::text::Name;

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
        let policy =
            |rules: &PolicyRules| CompiledPolicy { id: None, name: name.clone(), rules: rules.clone().compile() };
        let policies: Vec<_> = rules.iter().map(policy).collect();
        let request = Request {
            profile: &profile,
            identifiers: &identifiers,
            key_type: Some(KeyType::EcP256),
            challenge_type,
            validity_days: None,
        };
        evaluate(&request, &policies)
    }

    fn codes(verdict: &Verdict) -> Vec<&'static str> {
        verdict.violations.described().iter().map(|problem| problem.code).collect()
    }

    fn patterns(texts: &[&str]) -> Option<Vec<DomainPattern>> {
        Some(texts.iter().map(|text| DomainPattern::parse(text).unwrap()).collect())
    }

    #[test]
    fn without_policies_the_profile_decides() {
        let allowed = Verdict { violations: Violations::default(), validity_days: 90, most_days: 90 };
        assert_eq!(verdict(&["example.com", "192.0.2.1"], &[]), allowed);
    }

    #[test]
    fn all_policies_must_permit_and_the_shortest_validity_wins() {
        let narrow = PolicyRules { allowed_domains: patterns(&["*.example.com"]), ..PolicyRules::default() };
        let short = PolicyRules { max_validity_days: Some(30), ..PolicyRules::default() };
        let good = verdict(&["www.example.com"], &[narrow.clone(), short.clone()]);
        assert_eq!(good, Verdict { violations: Violations::default(), validity_days: 30, most_days: 30 });
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
        let places: Vec<_> = told.violations.described().iter().map(|problem| (problem.code, problem.name)).collect();
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
        assert!(verdict(&["192.0.2.1"], &[both]).violations.is_empty());
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

    /// Rules that refuse each of these names in one or several ways.
    fn refusing() -> PolicyRules {
        PolicyRules {
            allowed_domains: patterns(&["*.good.example"]),
            denied_domains: patterns(&["**"]),
            allow_wildcards: Some(false),
            ..PolicyRules::default()
        }
    }

    #[test]
    fn the_first_violations_are_described_and_all_are_counted() {
        let names = ["a.good.example", "*.good.example", "bad.example", "192.0.2.1"];
        let one = without_challenge(&names, &[refusing()]);
        let each = ["denied", "wildcards denied", "allowed denied", "allowed denied"];
        let count: usize = each.iter().map(|rules| rules.split(' ').count()).sum();
        assert_eq!((one.violations.len(), one.violations.omitted()), (count, 0));
        let many = without_challenge(&names, &vec![refusing(); 1000]);
        assert_eq!(many.violations.described().len(), MAX_VIOLATIONS);
        assert_eq!(many.violations.len(), 1000 * count);
        assert_eq!(many.violations.described()[..count], one.violations.described()[..]);
        assert!(!many.violations.are_all_of("denied_domains"));
    }

    #[test]
    fn rules_are_counted_alike_whether_they_are_described_or_not() {
        let names: Vec<_> = (0..40).map(|number| format!("*.n{number}.example")).collect();
        let mut names: Vec<_> = names.iter().map(String::as_str).collect();
        names.extend(["192.0.2.1", "n3.example", "x.n3.example"]);
        let lists =
            [(&["*.n3.example", "n3.example"][..], &["x.n3.example"][..]), (&["**"], &["*.example"]), (&[], &["**"])];
        for (allowed, denied) in lists {
            for flag in [None, Some(true), Some(false)] {
                let rules = PolicyRules {
                    allowed_domains: patterns(allowed),
                    denied_domains: patterns(denied),
                    allow_wildcards: flag,
                    allow_ip_addresses: flag,
                    ..PolicyRules::default()
                };
                let one_by_one: usize = names
                    .iter()
                    .map(|name| without_challenge(&[name], std::slice::from_ref(&rules)).violations.len())
                    .sum();
                let together = without_challenge(&names, std::slice::from_ref(&rules)).violations.len();
                assert_eq!(together, one_by_one, "{rules:?}");
                // The second of two policies finds no room.
                let twice = without_challenge(&names, &[rules.clone(), rules.clone()]).violations.len();
                assert_eq!(twice, 2 * one_by_one, "{rules:?}");
            }
        }
    }
}
