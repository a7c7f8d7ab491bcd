//! External OpenID providers: whose tokens are taken, for whom they may speak, and who may sign in through them.

use chancery_domain::{ResellerCode, Scope, ScopeSet};
use chancery_http::PublicUrls;
use chancery_idp::{CodeRedeemer, FetchLimits, JwksFetcher, RedeemLimits};
use chancery_service::{ExternalProvider, ProviderSignIn, SpeaksFor};

use super::{Check, url};
use crate::config::types::{External, SignIn};
use crate::installation::ExternalKeys;

pub(super) fn settle(
    providers: &[External],
    own: Option<&str>,
    urls: Option<&PublicUrls>,
    check: &mut Check<'_>,
) -> Vec<ExternalKeys> {
    let mut settled: Vec<ExternalKeys> = Vec::new();
    for (place, written) in providers.iter().enumerate() {
        let setting = |field: &str| format!("identity.external.{place}.{field}");
        check.problems.take(setting("issuer"), url::https(&written.issuer));
        let taken = settled.iter().any(|other| other.provider.issuer == written.issuer);
        let taken = taken || own == Some(written.issuer.as_str());
        check.problems.require(!taken, setting("issuer"), "is the same as another provider's, or as our own");
        for (field, text) in [
            ("audience", &written.audience),
            ("reseller_claim", &written.reseller_claim),
            ("scope_claim", &written.scope_claim),
        ] {
            check.problems.require(!text.is_empty(), setting(field), "must not be empty");
        }
        let ca_file = written.ca_file.as_ref().map(|path| check.path(path));
        let fetcher = JwksFetcher::new(&written.jwks_url, ca_file.as_deref(), FetchLimits::default());
        check.problems.take(setting("jwks_url"), fetcher);
        let resellers = check.problems.take(setting("resellers"), speaks_for(&written.resellers));
        let sign_in = settle_sign_in(written, place, urls, &settled, check);
        let client_secret_file = written.sign_in.client_secret_file.as_ref().map(|path| check.path(path));
        if let Some(path) = &client_secret_file {
            let read = crate::files::read_secret(path).map(drop);
            check.problems.take(setting("sign_in.client_secret_file"), read);
        }
        let External { issuer, jwks_url, audience, reseller_claim, scope_claim, .. } = written.clone();
        // Where something is wrong none of this is used.
        let resellers = resellers.unwrap_or(SpeaksFor::Only(Vec::new()));
        let provider = ExternalProvider { issuer, jwks_url, audience, reseller_claim, scope_claim, resellers, sign_in };
        settled.push(ExternalKeys { provider, ca_file, client_secret_file });
    }
    settled
}

/// `*` for every reseller, or for each the code, or what the claim says with the code behind it: `team-7=NORTH`.
fn speaks_for(entries: &[String]) -> Result<SpeaksFor, String> {
    match entries {
        [] => Err("must list the codes of the resellers that it may speak for, or \"*\" for all of them".to_owned()),
        [every] if every == "*" => Ok(SpeaksFor::Every),
        some => some.iter().map(|entry| one_of(entry)).collect::<Result<_, _>>().map(SpeaksFor::Only),
    }
}

fn one_of(entry: &str) -> Result<(String, ResellerCode), String> {
    let (said, code) = entry.rsplit_once('=').unwrap_or((entry, entry));
    let code = ResellerCode::parse(code).map_err(|error| format!("{entry:?}: {error}"))?;
    if said.is_empty() { Err(format!("{entry:?}: has nothing before the =")) } else { Ok((said.to_owned(), code)) }
}

fn settle_sign_in(
    written: &External,
    place: usize,
    urls: Option<&PublicUrls>,
    before: &[ExternalKeys],
    check: &mut Check<'_>,
) -> Option<ProviderSignIn> {
    let SignIn { name, label, authorize_url, token_url, client_id, request_scope, scopes, scope_claim, .. } =
        &written.sign_in;
    if written.sign_in == SignIn::default() {
        return None;
    }
    let setting = |field: &str| format!("identity.external.{place}.sign_in.{field}");
    let problems = &mut check.problems;
    let mut needed = |field: &str, value: &Option<String>| {
        let value = value.clone().filter(|value| !value.is_empty());
        problems.require(value.is_some(), setting(field), "is needed for people to sign in through this provider");
        value
    };
    let (name, client_id) = (needed("name", name), needed("client_id", client_id));
    let (authorize_url, token_url) = (needed("authorize_url", authorize_url), needed("token_url", token_url));
    if let Some(name) = &name {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let fits = name.len() <= 32 && name.bytes().all(plain);
        problems.require(fits, setting("name"), "must be a short word of a-z, 0-9 and -: it stands in an address");
        let taken = before.iter().filter_map(|other| other.provider.sign_in.as_ref()).any(|other| other.slug == *name);
        problems.require(!taken, setting("name"), "is the same as another provider's");
    }
    let message =
        "is also the audience of access tokens: an ID token could be taken for one; have the provider use another";
    problems.require(client_id.as_ref() != Some(&written.audience), setting("client_id"), message);
    if let Some(address) = &authorize_url {
        let bare = address.split('?').next().unwrap_or_default();
        let checked = if address.contains('#') { Err("must not have a #".to_owned()) } else { url::https(bare) };
        problems.take(setting("authorize_url"), checked);
    }
    let openid = request_scope.split(' ').any(|word| word == "openid");
    problems.require(openid, setting("request_scope"), "must have openid in it");
    let wrong = |name: String| format!("{name:?} is not a scope");
    let scopes = problems.take(setting("scopes"), scopes.parse::<ScopeSet>().map_err(wrong));
    let any = scopes.as_ref().is_none_or(|scopes| scopes.contains(Scope::Reseller));
    problems.require(any, setting("scopes"), "must have reseller in it: without it nobody sees anything");
    problems.require(scope_claim.as_deref() != Some(""), setting("scope_claim"), "must not be empty");
    if let (Some(address), Some(client_id)) = (&token_url, &client_id) {
        let ca_file = written.ca_file.as_ref().map(|path| check.path(path));
        let redeemer = CodeRedeemer::new(address, ca_file.as_deref(), client_id, None, RedeemLimits::default());
        check.problems.take(setting("token_url"), redeemer);
    }
    let slug = name?;
    Some(ProviderSignIn {
        label: label.clone().filter(|label| !label.is_empty()).unwrap_or_else(|| slug.clone()),
        redirect_url: format!("{}/console/sign-in/with/{slug}/return", urls?.base_url),
        slug,
        authorize_url: authorize_url?,
        token_url: token_url?,
        client_id: client_id?,
        request_scope: request_scope.clone(),
        scopes: scopes?,
        scope_claim: scope_claim.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_speaks_for_those_that_are_listed_and_nobody_else() {
        let of = |entries: &[&str]| speaks_for(&entries.iter().map(ToString::to_string).collect::<Vec<_>>());
        let code = |text: &str| ResellerCode::parse(text).unwrap();
        let some = of(&["NORTH", "/teams/a=b=SOUTH"]).unwrap();
        assert_eq!(some.named("NORTH"), Some(code("NORTH")));
        assert_eq!(some.named("/teams/a=b"), Some(code("SOUTH")));
        assert_eq!((some.named("SOUTH"), some.named("north"), some.named("EAST")), (None, None, None));
        assert!(some.includes(&code("SOUTH")) && !some.includes(&code("EAST")));
        let all = of(&["*"]).unwrap();
        assert_eq!((all.named("EAST"), all.named("*")), (Some(code("EAST")), None));
        for bad in [&[][..], &["north"], &["*", "NORTH"], &["=NORTH"], &["x="], &[""]] {
            assert!(of(bad).is_err(), "{bad:?}");
        }
    }
}
