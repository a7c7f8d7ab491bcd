//! The rules of a policy, between the wire and the use cases.

use chancery_service::{PolicyDetails, PolicyDraft, PolicyInput, ServiceError, Settings};
use chancery_wire as wire;

pub(crate) fn read_policy(request: wire::IssuancePolicy, settings: &Settings) -> Result<PolicyInput, ServiceError> {
    let draft = PolicyDraft {
        name: request.name,
        description: request.description,
        allowed_domains: request.allowed_domains,
        denied_domains: request.denied_domains,
        allow_wildcards: request.allow_wildcards,
        allow_ip_addresses: request.allow_ip_addresses,
        allowed_profiles: request.allowed_profiles,
        allowed_key_types: request.allowed_key_types,
        allowed_challenge_types: request.allowed_challenge_types,
        max_names: request.max_names,
        max_validity_days: request.max_validity_days,
        max_certificates_per_day: request.max_certificates_per_day,
        max_certificates_per_week: request.max_certificates_per_week,
        max_active_certificates: request.max_active_certificates,
        issuance_enabled: request.issuance_enabled,
    };
    draft.read(settings)
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
        assigned_groups: groups.iter().map(crate::policy::reference).collect(),
        created_at: policy.created_at.to_string(),
        updated_at: policy.updated_at.to_string(),
    }
}

fn texts<T: ToString>(values: Option<&[T]>) -> Option<Vec<String>> {
    values.map(|values| values.iter().map(ToString::to_string).collect())
}
