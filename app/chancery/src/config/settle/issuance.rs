//! What is issued to whom: the profiles, and the policy of accounts that have none.

use std::fmt::Display;
use std::str::FromStr;

use chancery_domain::policy::DomainPattern;
use chancery_domain::{Name, PolicyRules, Profile, ProfileName};

use super::Check;
use super::profiles::{self, Around, Profiles};
use crate::config::types;

pub(super) struct Issuance {
    pub(super) profiles: Profiles,
    pub(super) default_profile: ProfileName,
    pub(super) default_policy: PolicyRules,
    pub(super) default_policy_name: Name,
}

/// Far beyond any quota that limits something.
const MAX_COUNT: u32 = 1_000_000_000;

pub(super) fn settle(
    policy: &types::Policy,
    written: &types::Profiles,
    around: &Around<'_>,
    check: &mut Check<'_>,
) -> Option<Issuance> {
    let settled = profiles::settle(&written.list, around, check);
    let list = settled.as_ref().map(|profiles| profiles.list.as_slice());
    let default_profile = check.problems.take("profiles.default_profile", ProfileName::parse(&written.default_profile));
    if let (Some(name), Some(list)) = (&default_profile, list) {
        check.problems.require(is_one_of(name, list), "profiles.default_profile", no_such(name, list));
    }
    let rules = settle_policy(policy, list, check);
    let name = check.problems.take("policy.name", Name::parse(&policy.name));
    Some(Issuance {
        profiles: settled?,
        default_profile: default_profile?,
        default_policy: rules?,
        default_policy_name: name?,
    })
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
    let mut number = |setting: &str, value: Option<i64>, least: u32, most: u32| {
        value.and_then(|value| check.number(format!("policy.{setting}"), value, least, most))
    };
    let max_names = number("max_names", policy.max_names, 1, profiles::MAX_NAMES);
    let max_validity_days = number("max_validity_days", policy.max_validity_days, 1, profiles::MAX_VALIDITY_DAYS);
    // A quota of none is a way to stop an account.
    let mut count = |setting: &str, value: Option<i64>| number(setting, value, 0, MAX_COUNT);
    let rules = PolicyRules {
        max_names,
        max_validity_days,
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

pub(super) fn words<T: FromStr<Err = String>>(setting: &str, list: &[String], check: &mut Check<'_>) -> Vec<T> {
    parsed(setting, list, str::parse, check)
}

pub(super) fn parsed<T, E: Display>(
    setting: &str,
    list: &[String],
    parse: impl Fn(&str) -> Result<T, E>,
    check: &mut Check<'_>,
) -> Vec<T> {
    list.iter().filter_map(|text| check.problems.take(setting, parse(text))).collect()
}

pub(super) fn is_one_of(name: &ProfileName, profiles: &[Profile]) -> bool {
    profiles.iter().any(|profile| profile.name == *name)
}

fn no_such(name: &ProfileName, profiles: &[Profile]) -> String {
    let known: Vec<_> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    format!("there is no profile {name}; there are {}", known.join(", "))
}
