//! Tokens, API keys and external providers.

use std::time::Duration;

use chancery_http::PublicUrls;
use chancery_idp::{FetchLimits, JwksFetcher};
use chancery_service::{ExternalProvider, LONGEST_TOKEN_LIFETIME};

use super::{Check, days, minutes, url};
use crate::config::types;
use crate::installation::ExternalKeys;

pub(super) struct Identity {
    pub(super) issuer: String,
    pub(super) audience: String,
    pub(super) token_lifetime: Duration,
    pub(super) token_key_rotation: Duration,
    pub(super) token_key_notice: Duration,
    pub(super) external: Vec<ExternalKeys>,
}

pub(super) fn settle(
    identity: &types::Identity,
    urls: Option<&PublicUrls>,
    public: bool,
    check: &mut Check<'_>,
) -> Option<Identity> {
    let lifetime = check.span("identity.token_lifetime", &identity.token_lifetime, minutes(1), LONGEST_TOKEN_LIFETIME);
    let rotation = check.span("identity.token_key_rotation", &identity.token_key_rotation, minutes(60), days(366));
    let notice = check.span("identity.token_key_notice", &identity.token_key_notice, Duration::ZERO, days(7));
    if let (Some(rotation), Some(notice)) = (rotation, notice) {
        let message = "must be shorter than identity.token_key_rotation";
        check.problems.require(notice < rotation, "identity.token_key_notice", message);
    }
    let message = "API keys never expire and are sent as they are, and this service is reachable from other machines; \
                   use OAuth clients, or set identity.allow_public_api_keys = true";
    check.problems.require(
        !(identity.api_keys && public && !identity.allow_public_api_keys),
        "identity.api_keys",
        message,
    );
    let issuer = match &identity.issuer {
        Some(issuer) => check.problems.take("identity.issuer", url::https(issuer)).map(|_| issuer.clone()),
        None => urls.map(|urls| urls.auth_url.clone()),
    };
    let audience = identity.audience.clone().or_else(|| urls.map(|urls| urls.base_url.clone()));
    check.problems.require(audience.as_deref() != Some(""), "identity.audience", "must not be empty");
    let external = settle_external(&identity.external, issuer.as_deref(), check);
    Some(Identity {
        issuer: issuer?,
        audience: audience?,
        token_lifetime: lifetime?,
        token_key_rotation: rotation?,
        token_key_notice: notice?,
        external,
    })
}

fn settle_external(providers: &[types::External], own: Option<&str>, check: &mut Check<'_>) -> Vec<ExternalKeys> {
    let mut settled: Vec<ExternalKeys> = Vec::new();
    for (place, provider) in providers.iter().enumerate() {
        let setting = |field: &str| format!("identity.external.{place}.{field}");
        check.problems.take(setting("issuer"), url::https(&provider.issuer));
        let taken = settled.iter().any(|other| other.provider.issuer == provider.issuer);
        let taken = taken || own == Some(provider.issuer.as_str());
        check.problems.require(!taken, setting("issuer"), "is the same as another provider's, or as our own");
        for (field, text) in [
            ("audience", &provider.audience),
            ("reseller_claim", &provider.reseller_claim),
            ("scope_claim", &provider.scope_claim),
        ] {
            check.problems.require(!text.is_empty(), setting(field), "must not be empty");
        }
        let ca_file = provider.ca_file.as_ref().map(|path| check.path(path));
        let fetcher = JwksFetcher::new(&provider.jwks_url, ca_file.as_deref(), FetchLimits::default());
        check.problems.take(setting("jwks_url"), fetcher);
        let types::External { issuer, jwks_url, audience, reseller_claim, scope_claim, .. } = provider.clone();
        let provider = ExternalProvider { issuer, jwks_url, audience, reseller_claim, scope_claim };
        settled.push(ExternalKeys { provider, ca_file });
    }
    settled
}
