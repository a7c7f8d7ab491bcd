//! The rules of a policy as they are kept: JSON, a rule that is absent left out.

use std::str::FromStr;

use chancery_domain::policy::DomainPattern;
use chancery_domain::{PolicyRules, ProfileName};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Stored {
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_domains: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    denied_domains: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_wildcards: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_ip_addresses: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_profiles: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_key_types: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_challenge_types: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_names: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_validity_days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_certificates_per_day: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_certificates_per_week: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_active_certificates: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuance_enabled: Option<bool>,
}

/// The rules as they are kept: a JSON object with the names of the interface's requests.
pub(super) fn policy_rules_json(rules: &PolicyRules) -> String {
    let stored = Stored {
        allowed_domains: texts(rules.allowed_domains.as_deref()),
        denied_domains: texts(rules.denied_domains.as_deref()),
        allow_wildcards: rules.allow_wildcards,
        allow_ip_addresses: rules.allow_ip_addresses,
        allowed_profiles: texts(rules.allowed_profiles.as_deref()),
        allowed_key_types: texts(rules.allowed_key_types.as_deref()),
        allowed_challenge_types: texts(rules.allowed_challenge_types.as_deref()),
        max_names: rules.max_names,
        max_validity_days: rules.max_validity_days,
        max_certificates_per_day: rules.max_certificates_per_day,
        max_certificates_per_week: rules.max_certificates_per_week,
        max_active_certificates: rules.max_active_certificates,
        issuance_enabled: rules.issuance_enabled,
    };
    serde_json::to_string(&stored).expect("texts and numbers are JSON")
}

pub(super) fn read_rules(text: &str) -> Result<PolicyRules, StoreError> {
    let stored: Stored = serde_json::from_str(text).map_err(StoreError::corrupt)?;
    Ok(PolicyRules {
        allowed_domains: parse_each(stored.allowed_domains, DomainPattern::from_stored)?,
        denied_domains: parse_each(stored.denied_domains, DomainPattern::from_stored)?,
        allow_wildcards: stored.allow_wildcards,
        allow_ip_addresses: stored.allow_ip_addresses,
        allowed_profiles: parse_each(stored.allowed_profiles, ProfileName::parse)?,
        allowed_key_types: parse_each(stored.allowed_key_types, FromStr::from_str)?,
        allowed_challenge_types: parse_each(stored.allowed_challenge_types, FromStr::from_str)?,
        max_names: stored.max_names,
        max_validity_days: stored.max_validity_days,
        max_certificates_per_day: stored.max_certificates_per_day,
        max_certificates_per_week: stored.max_certificates_per_week,
        max_active_certificates: stored.max_active_certificates,
        issuance_enabled: stored.issuance_enabled,
    })
}

fn texts<T: ToString>(values: Option<&[T]>) -> Option<Vec<String>> {
    values.map(|values| values.iter().map(ToString::to_string).collect())
}

fn parse_each<T, E: std::fmt::Display>(
    texts: Option<Vec<String>>,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<Vec<T>>, StoreError> {
    let parsed = texts.map(|texts| texts.iter().map(|text| parse(text)).collect::<Result<_, _>>());
    parsed.transpose().map_err(StoreError::corrupt)
}
