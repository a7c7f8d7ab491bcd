//! Profiles, and the policy of accounts that have none.

use std::fmt::Display;
use std::str::FromStr;

use chancery_domain::policy::DomainPattern;
use chancery_domain::{Name, PolicyRules, Profile, ProfileName};

use super::Check;
use crate::config::types;

pub(super) struct Issuance {
    pub(super) profiles: Vec<Profile>,
    pub(super) default_profile: ProfileName,
    pub(super) default_policy: PolicyRules,
    pub(super) default_policy_name: Name,
}

/// Nothing valid for longer is taken by the browsers, even from a private root.
const MAX_VALIDITY_DAYS: u32 = 825;
const MAX_NAMES: u32 = 100;
/// Far beyond any quota that limits something.
const MAX_COUNT: u32 = 1_000_000_000;

pub(super) fn settle(policy: &types::Policy, profiles: &types::Profiles, check: &mut Check<'_>) -> Option<Issuance> {
    let settled = settle_profiles(&profiles.list, check);
    let default_profile =
        check.problems.take("profiles.default_profile", ProfileName::parse(&profiles.default_profile));
    if let (Some(name), Some(list)) = (&default_profile, &settled) {
        check.problems.require(is_one_of(name, list), "profiles.default_profile", no_such(name, list));
    }
    let rules = settle_policy(policy, settled.as_deref(), check);
    let name = check.problems.take("policy.name", Name::parse(&policy.name));
    Some(Issuance {
        profiles: settled?,
        default_profile: default_profile?,
        default_policy: rules?,
        default_policy_name: name?,
    })
}

fn settle_profiles(list: &[types::Profile], check: &mut Check<'_>) -> Option<Vec<Profile>> {
    if list.is_empty() {
        return Some(Profile::predefined());
    }
    let before = check.problems.0.len();
    let mut settled: Vec<Profile> = Vec::new();
    for (place, profile) in list.iter().enumerate() {
        let setting = |field: &str| format!("profiles.list.{place}.{field}");
        let name = check.problems.take(setting("name"), ProfileName::parse(&profile.name));
        let days = check.number(setting("validity_days"), profile.validity_days, 1, MAX_VALIDITY_DAYS);
        let names = check.number(setting("max_names"), profile.max_names, 1, MAX_NAMES);
        let key_types = words(&setting("key_types"), &profile.key_types, check);
        let challenge_types = words(&setting("challenge_types"), &profile.challenge_types, check);
        for (field, list) in [("key_types", &profile.key_types), ("challenge_types", &profile.challenge_types)] {
            check.problems.require(!list.is_empty(), setting(field), "must have at least one entry");
        }
        let (Some(name), Some(validity_days), Some(max_names)) = (name, days, names) else { continue };
        check.problems.require(!is_one_of(&name, &settled), setting("name"), format!("{name} is there twice"));
        settled.push(Profile {
            name,
            description: profile.description.clone(),
            validity_days,
            key_types,
            challenge_types,
            allow_wildcards: profile.allow_wildcards,
            allow_ip_addresses: profile.allow_ip_addresses,
            max_names,
        });
    }
    (check.problems.0.len() == before).then_some(settled)
}

fn settle_policy(policy: &types::Policy, profiles: Option<&[Profile]>, check: &mut Check<'_>) -> Option<PolicyRules> {
    let before = check.problems.0.len();
    let allowed_profiles = policy.allowed_profiles.as_ref().map(|names| {
        let names: Vec<_> = parsed("policy.allowed_profiles", names, ProfileName::parse, check);
        for name in &names {
            let known = profiles.is_none_or(|profiles| is_one_of(name, profiles));
            check.problems.require(known, "policy.allowed_profiles", no_such(name, profiles.unwrap_or_default()));
        }
        names
    });
    let mut count = |setting: &str, value: Option<i64>| {
        value.and_then(|value| check.number(format!("policy.{setting}"), value, 0, MAX_COUNT))
    };
    let rules = PolicyRules {
        max_names: count("max_names", policy.max_names),
        max_validity_days: count("max_validity_days", policy.max_validity_days),
        max_certificates_per_day: count("max_certificates_per_day", policy.max_certificates_per_day),
        max_certificates_per_week: count("max_certificates_per_week", policy.max_certificates_per_week),
        max_active_certificates: count("max_active_certificates", policy.max_active_certificates),
        allowed_domains: patterns("policy.allowed_domains", policy.allowed_domains.as_ref(), check),
        denied_domains: patterns("policy.denied_domains", policy.denied_domains.as_ref(), check),
        allow_wildcards: policy.allow_wildcards,
        allow_ip_addresses: policy.allow_ip_addresses,
        allowed_profiles,
        allowed_key_types: policy.allowed_key_types.as_ref().map(|list| words("policy.allowed_key_types", list, check)),
        allowed_challenge_types: policy
            .allowed_challenge_types
            .as_ref()
            .map(|list| words("policy.allowed_challenge_types", list, check)),
        issuance_enabled: policy.issuance_enabled,
    };
    (check.problems.0.len() == before).then_some(rules)
}

fn patterns(setting: &str, list: Option<&Vec<String>>, check: &mut Check<'_>) -> Option<Vec<DomainPattern>> {
    list.map(|list| parsed(setting, list, DomainPattern::parse, check))
}

fn words<T: FromStr<Err = String>>(setting: &str, list: &[String], check: &mut Check<'_>) -> Vec<T> {
    parsed(setting, list, str::parse, check)
}

fn parsed<T, E: Display>(
    setting: &str,
    list: &[String],
    parse: impl Fn(&str) -> Result<T, E>,
    check: &mut Check<'_>,
) -> Vec<T> {
    list.iter().filter_map(|text| check.problems.take(setting, parse(text))).collect()
}

fn is_one_of(name: &ProfileName, profiles: &[Profile]) -> bool {
    profiles.iter().any(|profile| profile.name == *name)
}

fn no_such(name: &ProfileName, profiles: &[Profile]) -> String {
    let known: Vec<_> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    format!("there is no profile {name}; there are {}", known.join(", "))
}
