//! What a policy is to be, as somebody wrote it: read once for every door.

use std::fmt::Display;

use chancery_domain::policy::DomainPattern;
use chancery_domain::{Description, Name, Policy, PolicyRules, Problems, ProfileName};

use crate::error::ServiceError;
use crate::policies::PolicyInput;
use crate::settings::Settings;

/// Most entries of a list of rules.
const MOST_ENTRIES: usize = 1000;

/// The texts and numbers of a policy. What is left out is no rule.
#[derive(Clone, Debug, Default)]
pub struct PolicyDraft {
    pub name: String,
    pub description: Option<String>,
    pub allowed_domains: Option<Vec<String>>,
    pub denied_domains: Option<Vec<String>>,
    pub allow_wildcards: Option<bool>,
    pub allow_ip_addresses: Option<bool>,
    pub allowed_profiles: Option<Vec<String>>,
    pub allowed_key_types: Option<Vec<String>>,
    pub allowed_challenge_types: Option<Vec<String>>,
    pub max_names: Option<u32>,
    pub max_validity_days: Option<u32>,
    pub max_certificates_per_day: Option<u32>,
    pub max_certificates_per_week: Option<u32>,
    pub max_active_certificates: Option<u32>,
    pub issuance_enabled: Option<bool>,
}

impl PolicyDraft {
    /// The policy, or everything that is wrong with it.
    pub fn read(self, settings: &Settings) -> Result<PolicyInput, ServiceError> {
        self.read_over(settings, None)
    }

    /// The policy that is to replace another, or everything that is wrong with it. A profile that is not configured any more
    /// may stay where it was.
    pub fn read_over(self, settings: &Settings, before: Option<&Policy>) -> Result<PolicyInput, ServiceError> {
        let kept = before.and_then(|policy| policy.rules.allowed_profiles.as_deref()).unwrap_or_default();
        let mut problems = Problems::default();
        let name = problems.take("name", Name::parse(&self.name));
        let description = self.description.as_deref();
        let description = description.and_then(|text| problems.take("description", Description::parse(text)));
        let rules = PolicyRules {
            allowed_domains: each(&mut problems, "allowed_domains", self.allowed_domains, DomainPattern::parse),
            denied_domains: each(&mut problems, "denied_domains", self.denied_domains, DomainPattern::parse),
            allow_wildcards: self.allow_wildcards,
            allow_ip_addresses: self.allow_ip_addresses,
            allowed_profiles: each(&mut problems, "allowed_profiles", self.allowed_profiles, |text| {
                known_profile(text, settings, kept)
            }),
            allowed_key_types: each(&mut problems, "allowed_key_types", self.allowed_key_types, str::parse),
            allowed_challenge_types: each(
                &mut problems,
                "allowed_challenge_types",
                self.allowed_challenge_types,
                str::parse,
            ),
            max_names: bounded(&mut problems, "max_names", self.max_names, 1, 100),
            max_validity_days: bounded(&mut problems, "max_validity_days", self.max_validity_days, 1, 825),
            max_certificates_per_day: self.max_certificates_per_day,
            max_certificates_per_week: self.max_certificates_per_week,
            max_active_certificates: self.max_active_certificates,
            issuance_enabled: self.issuance_enabled,
        };
        match name {
            Some(name) if problems.is_empty() => Ok(PolicyInput { name, description, rules }),
            _ => Err(ServiceError::Invalid(problems)),
        }
    }
}

/// A rule that allows a profile nobody has is a mistake, and one that would stop all issuance.
fn known_profile(text: &str, settings: &Settings, kept: &[ProfileName]) -> Result<ProfileName, String> {
    let name = ProfileName::parse(text).map_err(|error| error.to_string())?;
    match settings.profile(&name).is_some() || kept.contains(&name) {
        true => Ok(name),
        false => {
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
