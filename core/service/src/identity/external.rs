//! Tokens of an OpenID provider that the operator trusts.

use std::sync::Arc;

use async_trait::async_trait;
use chancery_domain::{ResellerCode, ScopeSet};
use chancery_jose::{Claims, Expected, JwkSet, TokenError, jwt};
use serde_json::Value;

use super::authenticate::{AuthError, LEEWAY, end_of};
use super::cache::{Holder, VerifiedToken};
use crate::settings::ExternalProvider;

/// As OpenID Connect Core section 2 has it.
const LONGEST_SUBJECT: usize = 255;

/// Where a provider's public keys come from.
#[async_trait]
pub trait KeySource: Send + Sync {
    /// The keys that were fetched last; none before the first time.
    fn keys(&self) -> Option<Arc<JwkSet>>;

    /// Fetches the keys anew, unless that was done a moment ago.
    async fn refresh(&self) -> Result<(), String>;
}

/// A provider and its keys.
#[derive(Clone)]
pub struct External {
    pub provider: ExternalProvider,
    pub keys: Arc<dyn KeySource>,
}

impl External {
    /// Verifies a token, fetching the keys when they are not there yet or do not include the token's. `place` is where
    /// this provider stands among the others.
    pub(crate) async fn verify(&self, place: usize, token: &str, now: i64) -> Result<VerifiedToken, AuthError> {
        if self.keys.keys().is_none() {
            self.keys.refresh().await.map_err(AuthError::KeysUnavailable)?;
        }
        let (claims, keys) = match self.check(token, now) {
            // While they cannot be fetched nobody knows whether the token is good.
            Err(AuthError::Token(TokenError::UnknownKey(_))) => {
                self.keys.refresh().await.map_err(AuthError::KeysUnavailable)?;
                self.check(token, now)?
            }
            other => other?,
        };
        let (holder, scopes) = self.read(place, &claims)?;
        Ok(VerifiedToken { holder, scopes, keys, ends: end_of(&claims)? })
    }

    fn check(&self, token: &str, now: i64) -> Result<(Claims, Arc<JwkSet>), AuthError> {
        let keys = self.keys.keys().ok_or_else(|| AuthError::KeysUnavailable("no keys were fetched".to_owned()))?;
        let ExternalProvider { issuer, audience, .. } = &self.provider;
        let expected = Expected { issuer, audience, now, leeway: LEEWAY };
        let claims = jwt::verify(token, |kid, algorithm| keys.find(kid, algorithm), &expected);
        claims.map(|claims| (claims, keys)).map_err(AuthError::Token)
    }

    fn read(&self, place: usize, claims: &Claims) -> Result<(Holder, ScopeSet), AuthError> {
        let ExternalProvider { reseller_claim, scope_claim, .. } = &self.provider;
        let missing = || AuthError::Claim(reseller_claim.clone());
        let code = claims.text(reseller_claim).ok_or_else(missing)?;
        let reseller = ResellerCode::parse(code).map_err(|_| missing())?;
        let scopes = match claims.0.get(scope_claim) {
            Some(Value::String(text)) => ScopeSet::from_foreign(text),
            Some(Value::Array(list)) => {
                let names: Vec<_> = list.iter().filter_map(Value::as_str).collect();
                ScopeSet::from_foreign(&names.join(" "))
            }
            _ => ScopeSet::default(),
        };
        let subject = claims.text("sub").filter(|subject| !subject.is_empty() && subject.len() <= LONGEST_SUBJECT);
        // Two providers may call somebody the same.
        let subject = subject.ok_or_else(|| AuthError::Claim("sub".to_owned()))?;
        let subject = format!("{}#{subject}", self.provider.issuer);
        Ok((Holder::External { provider: place, subject, reseller }, scopes))
    }
}
