//! The rules of a policy, between the wire and the domain.

use std::fmt::Display;

use chancery_domain::policy::DomainPattern;
use chancery_domain::{Description, Name, PolicyRules, Problems, ProfileName};
use chancery_service::{PolicyDetails, PolicyInput, ServiceError, Settings};
use chancery_wire as wire;

/// Most entries of a list of rules.
const MOST_ENTRIES: usize = 1000;

pub(crate) fn read_policy(request: wire::IssuancePolicy, settings: &Settings) -> Result<PolicyInput, ServiceError> {
    let mut problems = Problems::default();
    let name = problems.take("name", Name::parse(&request.name));
    let description = request.description.as_deref();
    let description = description.and_then(|text| problems.take("description", Description::parse(text)));
    let rules = PolicyRules {
        allowed_domains: each(&mut problems, "allowed_domains", request.allowed_domains, DomainPattern::parse),
        denied_domains: each(&mut problems, "denied_domains", request.denied_domains, DomainPattern::parse),
        allow_wildcards: request.allow_wildcards,
        allow_ip_addresses: request.allow_ip_addresses,
        allowed_profiles: each(&mut problems, "allowed_profiles", request.allowed_profiles, |text| {
            known_profile(text, settings)
        }),
        allowed_key_types: each(&mut problems, "allowed_key_types", request.allowed_key_types, str::parse),
        allowed_challenge_types: each(
            &mut problems,
            "allowed_challenge_types",
            request.allowed_challenge_types,
            str::parse,
        ),
        max_names: bounded(&mut problems, "max_names", request.max_names, 1, 100),
        max_validity_days: bounded(&mut problems, "max_validity_days", request.max_validity_days, 1, 825),
        max_certificates_per_day: request.max_certificates_per_day,
        max_certificates_per_week: request.max_certificates_per_week,
        max_active_certificates: request.max_active_certificates,
        issuance_enabled: request.issuance_enabled,
    };
    match name {
        Some(name) if problems.is_empty() => Ok(PolicyInput { name, description, rules }),
        _ => Err(ServiceError::Invalid(problems)),
    }
}

pub(crate) fn view(details: &PolicyDetails) -> wire::IssuancePolicyRecord {
    let PolicyDetails { policy, groups } = details;
    let rules = &policy.rules;
    wire::IssuancePolicyRecord {
        lookup: policy.id.to_string(),
        name: policy.name.to_string(),
        description: policy.description.as_ref().map(ToString::to_string),
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
        assigned_groups: groups.iter().map(crate::group::reference).collect(),
        created_at: policy.created_at.to_string(),
        updated_at: policy.updated_at.to_string(),
    }
}

/// A rule that allows a profile nobody has is a mistake, and one that would stop all issuance.
fn known_profile(text: &str, settings: &Settings) -> Result<ProfileName, String> {
    let name = ProfileName::parse(text).map_err(|error| error.to_string())?;
    match settings.profile(&name) {
        Some(_) => Ok(name),
        None => {
            let known: Vec<_> = settings.profiles.iter().map(|profile| profile.name.as_str()).collect();
            Err(format!("there is no profile {text:?}; known are {}", known.join(", ")))
        }
    }
}

fn each<T, E: Display>(
    problems: &mut Problems,
    field: &str,
    texts: Option<Vec<String>>,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Option<Vec<T>> {
    let texts = texts?;
    if texts.len() > MOST_ENTRIES {
        problems.add(field, "too_many", format!("must have at most {MOST_ENTRIES} entries"));
        return None;
    }
    let parsed = texts.iter().enumerate();
    Some(parsed.filter_map(|(place, text)| problems.take(&format!("{field}[{place}]"), parse(text))).collect())
}

fn bounded(problems: &mut Problems, field: &str, value: Option<u32>, least: u32, most: u32) -> Option<u32> {
    if value.is_some_and(|value| !(least..=most).contains(&value)) {
        problems.add(field, "out_of_range", format!("must be from {least} to {most}"));
    }
    value
}

fn texts<T: ToString>(values: Option<&[T]>) -> Option<Vec<String>> {
    values.map(|values| values.iter().map(ToString::to_string).collect())
}
