//! Tokens and API keys; external providers are in `provider`.

use std::time::Duration;

use chancery_http::PublicUrls;
use chancery_service::LONGEST_TOKEN_LIFETIME;

use super::{Check, days, minutes, provider, url};
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
    let external = provider::settle(&identity.external, issuer.as_deref(), urls, check);
    Some(Identity {
        issuer: issuer?,
        audience: audience?,
        token_lifetime: lifetime?,
        token_key_rotation: rotation?,
        token_key_notice: notice?,
        external,
    })
}
