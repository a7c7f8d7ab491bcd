//! Tokens of an OpenID provider that the operator trusts.

use std::sync::Arc;

use async_trait::async_trait;
use chancery_domain::{ResellerCode, ScopeSet, Secret};
use chancery_jose::{Claims, Expected, JwkSet, TokenError, jwt};
use serde_json::Value;

use super::authenticate::{AuthError, LEEWAY, end_of};
use super::cache::{Holder, VerifiedToken};
use crate::settings::{ExternalProvider, ProviderSignIn};

/// As OpenID Connect Core section 2 has it.
const LONGEST_SUBJECT: usize = 255;
/// Letters that are shown of a person's name.
const LONGEST_NAME: usize = 60;

/// Where a provider's public keys come from.
#[async_trait]
pub trait KeySource: Send + Sync {
    /// The keys that were fetched last; none before the first time.
    fn keys(&self) -> Option<Arc<JwkSet>>;

    /// Fetches the keys anew, unless that was done a moment ago.
    async fn refresh(&self) -> Result<(), String>;
}

/// Where the codes are redeemed that people come back with.
#[async_trait]
pub trait CodeExchange: Send + Sync {
    /// The ID token that a code stands for (OpenID Connect Core section 3.1.3). The verifier shows that it was us who asked
    /// for the code (RFC 7636).
    async fn redeem(&self, code: &Secret, verifier: &Secret, redirect_url: &str) -> Result<Secret, RedeemError>;
}

/// Why a code brought no ID token.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RedeemError {
    /// The provider does not take it: it is made up, expired or was redeemed before.
    #[error("the provider does not take the code: {0}")]
    Refused(String),
    #[error("the provider cannot be asked at the moment: {0}")]
    Unavailable(String),
}

/// A provider and its keys.
#[derive(Clone)]
pub struct External {
    pub provider: ExternalProvider,
    pub keys: Arc<dyn KeySource>,
    /// Where people may sign in through it.
    pub codes: Option<Arc<dyn CodeExchange>>,
}

/// What an ID token says of a person.
pub(crate) struct Vouched {
    pub(crate) subject: String,
    pub(crate) name: String,
    pub(crate) reseller: ResellerCode,
    pub(crate) scopes: ScopeSet,
}

impl External {
    /// Verifies an access token. `place` is where this provider stands among the others.
    pub(crate) async fn verify(&self, place: usize, token: &str, now: i64) -> Result<VerifiedToken, AuthError> {
        let ExternalProvider { issuer, audience, .. } = &self.provider;
        let expected = Expected { issuer, audience, now, leeway: LEEWAY };
        let check = |keys: &JwkSet| jwt::verify(token, |kid, algorithm| keys.find(kid, algorithm), &expected);
        let (claims, keys) = self.with_keys(check).await?;
        let (holder, scopes) = self.read(place, &claims)?;
        Ok(VerifiedToken { holder, scopes, keys, ends: end_of(&claims)? })
    }

    /// Verifies the ID token of somebody who signs in, and reads who it is.
    pub(crate) async fn vouch(
        &self,
        sign_in: &ProviderSignIn,
        token: &Secret,
        nonce: &str,
        now: i64,
    ) -> Result<Vouched, AuthError> {
        let expected = Expected { issuer: &self.provider.issuer, audience: &sign_in.client_id, now, leeway: LEEWAY };
        let check = |keys: &JwkSet| {
            jwt::verify_id_token(token.reveal(), |kid, algorithm| keys.find(kid, algorithm), &expected, nonce)
        };
        let (claims, _) = self.with_keys(check).await?;
        let subject = subject(&claims)?.to_owned();
        let scopes = match &sign_in.scope_claim {
            Some(claim) => scopes(&claims, claim).intersection(&sign_in.scopes),
            None => sign_in.scopes.clone(),
        };
        let said = ["name", "preferred_username", "email"].into_iter().find_map(|claim| claims.text(claim));
        let name = said.map(shown).filter(|name| !name.is_empty()).unwrap_or_else(|| shown(&subject));
        Ok(Vouched { reseller: self.reseller(&claims)?, subject, name, scopes })
    }

    /// Checks with the keys that there are, fetching them when they are not there yet or do not include the token's.
    async fn with_keys(
        &self,
        check: impl Fn(&JwkSet) -> Result<Claims, TokenError>,
    ) -> Result<(Claims, Arc<JwkSet>), AuthError> {
        if self.keys.keys().is_none() {
            self.keys.refresh().await.map_err(AuthError::KeysUnavailable)?;
        }
        let checked = || {
            let keys = self.keys.keys().ok_or_else(|| AuthError::KeysUnavailable("no keys were fetched".to_owned()))?;
            check(&keys).map(|claims| (claims, keys)).map_err(AuthError::Token)
        };
        match checked() {
            // While they cannot be fetched nobody knows whether the token is good.
            Err(AuthError::Token(TokenError::UnknownKey(_))) => {
                self.keys.refresh().await.map_err(AuthError::KeysUnavailable)?;
                checked()
            }
            other => other,
        }
    }

    fn read(&self, place: usize, claims: &Claims) -> Result<(Holder, ScopeSet), AuthError> {
        let reseller = self.reseller(claims)?;
        // Two providers may call somebody the same.
        let subject = format!("{}#{}", self.provider.issuer, subject(claims)?);
        let scopes = scopes(claims, &self.provider.scope_claim);
        Ok((Holder::External { provider: place, subject, reseller }, scopes))
    }

    /// The reseller that the token names, if it is one that this provider may speak for.
    fn reseller(&self, claims: &Claims) -> Result<ResellerCode, AuthError> {
        let ExternalProvider { reseller_claim, resellers, .. } = &self.provider;
        let named = claims.text(reseller_claim).and_then(|said| resellers.named(said));
        named.ok_or_else(|| AuthError::Claim(reseller_claim.clone()))
    }
}

fn scopes(claims: &Claims, claim: &str) -> ScopeSet {
    match claims.0.get(claim) {
        Some(Value::String(text)) => ScopeSet::from_foreign(text),
        Some(Value::Array(list)) => {
            let names: Vec<_> = list.iter().filter_map(Value::as_str).collect();
            ScopeSet::from_foreign(&names.join(" "))
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => ScopeSet::default(),
    }
}

fn subject(claims: &Claims) -> Result<&str, AuthError> {
    let subject = claims.text("sub").filter(|subject| !subject.is_empty() && subject.len() <= LONGEST_SUBJECT);
    subject.ok_or(AuthError::Token(TokenError::MissingClaim("sub")))
}

/// Short enough for the edge of a page, and without what is not seen.
fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(LONGEST_NAME).collect::<String>().trim().to_owned()
}
