//! Policy documents.
//!
//! A policy that is taken has rules that are written as they were sent, in canonical form; given those again it is the
//! same policy. It can be asked about names.

use std::sync::LazyLock;
use std::time::Duration;

use chancery_domain::{Name, PolicyRules, Profile, WebhookUrlRules};
use chancery_overload::LimitSettings;
use chancery_reseller::parsers::policy;
use chancery_service::{AcmeSettings, Issuing, PolicyInput, Retention, Settings, WebhookSettings};
use serde_json::json;

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "policy", run, form: Form::Json, words: include_str!("../../words/policy.dict") };

fn run(input: &[u8]) {
    match policy(input, &SETTINGS) {
        Ok(read) => {
            let written = written(&read);
            let again = policy(written.as_bytes(), &SETTINGS).unwrap_or_else(|error| panic!("{error:?}: {written}"));
            assert_eq!(again.rules, read.rules);
            assert_eq!((again.name, again.description), (read.name, read.description));
            let rules = &read.rules;
            assert!(rules.max_names.is_none_or(|most| (1..=100).contains(&most)));
            assert!(rules.max_validity_days.is_none_or(|most| (1..=825).contains(&most)));
        }
        Err(error) => super::json_body::refused(&error),
    }
}

fn written(PolicyInput { name, description, rules }: &PolicyInput) -> String {
    fn texts<T: ToString>(values: Option<&Vec<T>>) -> Option<Vec<String>> {
        values.map(|values| values.iter().map(ToString::to_string).collect())
    }
    let mut policy = json!({
        "name": name.as_str(),
        "description": description.as_ref().map(ToString::to_string),
        "allowed_domains": texts(rules.allowed_domains.as_ref()),
        "denied_domains": texts(rules.denied_domains.as_ref()),
        "allow_wildcards": rules.allow_wildcards,
        "allow_ip_addresses": rules.allow_ip_addresses,
        "allowed_profiles": texts(rules.allowed_profiles.as_ref()),
        "allowed_key_types": texts(rules.allowed_key_types.as_ref()),
        "allowed_challenge_types": texts(rules.allowed_challenge_types.as_ref()),
        "max_names": rules.max_names,
        "max_validity_days": rules.max_validity_days,
        "max_certificates_per_day": rules.max_certificates_per_day,
        "max_certificates_per_week": rules.max_certificates_per_week,
        "max_active_certificates": rules.max_active_certificates,
        "issuance_enabled": rules.issuance_enabled,
    });
    if let Some(members) = policy.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    policy.to_string()
}

static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
    let profiles = Profile::predefined();
    let day = Duration::from_secs(86_400);
    Settings {
        issuer: "https://ca.test/".to_owned(),
        audience: "https://ca.test/v1".to_owned(),
        token_lifetime: day,
        token_key_rotation: day,
        token_key_notice: day,
        api_keys: false,
        external: Vec::new(),
        acme: AcmeSettings::of("https://ca.test"),
        issuing: Issuing::of(&profiles, "https://ca.test", "http://ca.test"),
        default_profile: profiles[0].name.clone(),
        retention: Retention::default(),
        limits: LimitSettings::usual(),
        profiles,
        default_policy: PolicyRules::default(),
        default_policy_name: Name::parse("default").expect("it is a name"),
        idempotency_window: day,
        webhooks: WebhookSettings::of(WebhookUrlRules { plain_http: false, special_addresses: false }),
    }
});
