//! What ACME clients are told and asked for.

use chancery_http::PublicUrls;
use chancery_service::AcmeSettings;

use super::{Check, seconds, url};
use crate::config::types;

pub(super) fn settle(acme: &types::Acme, eab: &types::Eab, check: &mut Check<'_>) -> Option<AcmeSettings> {
    let mut page = |setting: &str, text: Option<&str>| match text {
        None => Some(None),
        Some(text) => check.problems.take(format!("acme.{setting}"), url::https(text)).map(Some),
    };
    let terms_of_service = page("terms_of_service", acme.terms_of_service.as_deref());
    let website = page("website", acme.website.as_deref());
    let finalize_wait = check.span("acme.finalize_wait", &acme.finalize_wait, seconds(0), seconds(20));
    let challenge_wait = check.span("acme.challenge_wait", &acme.challenge_wait, seconds(0), seconds(5));
    Some(AcmeSettings {
        terms_of_service: terms_of_service?,
        website: website?,
        single_use: eab.single_use,
        finalize_wait: finalize_wait?,
        challenge_wait: challenge_wait?,
        subdomains: acme.subdomains,
        ..AcmeSettings::of("")
    })
}

/// The settings of ACME with what other sections say: its URL and the CAA identities.
pub(super) fn said_of(acme: AcmeSettings, urls: &PublicUrls, caa_identities: &[String]) -> AcmeSettings {
    AcmeSettings { url: urls.acme_url.clone(), caa_identities: caa_identities.to_vec(), ..acme }
}
