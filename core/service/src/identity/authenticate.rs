//! From what stands in the `Authorization` header to a caller.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{Reseller, ScopeSet};
use chancery_jose::{Claims, Expected, TokenError, jwt};

use super::Identity;
use super::cache::{Holder, VerifiedToken};
use super::secrets::{api_key_id, hash_secret};
use crate::caller::{Actor, Caller, Origin};
use crate::error::ServiceError;

/// How far the clocks of two machines may differ.
pub(crate) const LEEWAY: Duration = Duration::from_secs(30);

/// Why a caller was not let in.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AuthError {
    /// No credentials at all.
    #[error("no credentials: send `Authorization: Bearer <access token>`; get a token at /oauth/token")]
    Missing,
    /// Neither a bearer token nor an API key.
    #[error("the Authorization header is neither `Bearer <access token>` nor an API key")]
    Malformed,
    /// An API key, where none are taken.
    #[error("API keys are not taken here: send `Authorization: Bearer <access token>`; get a token at /oauth/token")]
    ApiKeysOff,
    /// The token is not good.
    #[error("the access token is not valid: {0}")]
    Token(TokenError),
    /// An external token that does not say for whom.
    #[error("the access token is not valid: its claim `{0}` does not name a reseller that its issuer may speak for")]
    Claim(String),
    /// The client was disabled or has expired, or is gone.
    #[error("the client of this access token is disabled or has expired")]
    ClientDisabled(Option<Box<Caller>>),
    /// An API key that is wrong or revoked.
    #[error("the API key is not valid")]
    ApiKey(Option<Box<Caller>>),
    /// The reseller named by a token does not exist.
    #[error("the reseller of this access token does not exist")]
    UnknownReseller,
    /// The operator has suspended the reseller.
    #[error("the reseller {} is suspended; ask the operator of this service", .0.code)]
    Suspended(Box<Caller>),
    /// The keys of the external provider could not be fetched.
    #[error("the identity provider's keys cannot be fetched at the moment: {0}")]
    KeysUnavailable(String),
    /// We could not look.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

impl AuthError {
    /// Who it was, where the credentials were real and only no longer good: for the audit trail.
    pub fn caller(&self) -> Option<&Caller> {
        match self {
            Self::ClientDisabled(caller) | Self::ApiKey(caller) => caller.as_deref(),
            Self::Suspended(caller) => Some(caller),
            Self::Missing
            | Self::Malformed
            | Self::ApiKeysOff
            | Self::Token(_)
            | Self::Claim(_)
            | Self::UnknownReseller
            | Self::KeysUnavailable(_)
            | Self::Service(_) => None,
        }
    }
}

impl Identity {
    /// Finds out who is calling. In the common case this asks the database nothing.
    pub async fn authenticate(&self, authorization: Option<&str>, origin: Origin) -> Result<Caller, AuthError> {
        let header = authorization.ok_or(AuthError::Missing)?.trim();
        match header.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => self.by_token(token.trim(), origin).await,
            Some(_) => Err(AuthError::Malformed),
            None if header.is_empty() || header.eq_ignore_ascii_case("bearer") => Err(AuthError::Missing),
            None => self.by_api_key(header, origin).await,
        }
    }

    /// Whether this is a token that was verified here before.
    pub fn remembers(&self, authorization: Option<&str>) -> bool {
        let token = authorization.and_then(|header| header.trim().split_once(' ')).map(|(_, token)| token.trim());
        token.is_some_and(|token| self.cache.token(&hash_secret(token).0).is_some())
    }

    async fn by_token(&self, token: &str, origin: Origin) -> Result<Caller, AuthError> {
        let hash = hash_secret(token).0;
        let now = self.kernel.now().as_secs();
        let verified = match self.cache.token(&hash).filter(|known| self.still_vouched(known)) {
            Some(known) if known.ends > now => known,
            Some(_) => return Err(AuthError::Token(TokenError::Expired)),
            None => {
                let verified = self.verify(token, now).await?;
                self.cache.remember_token(hash, verified.clone());
                verified
            }
        };
        match verified.holder {
            Holder::Client(id) => {
                let found = self.cache.client(&self.kernel, id).await?;
                let (client, reseller) = found.ok_or(AuthError::ClientDisabled(None))?;
                // Scopes that were taken from the client since are gone from its tokens too.
                let scopes = verified.scopes.intersection(&client.scopes);
                let caller = Caller::of_reseller(&reseller, Actor::Client(client.id.to_string()), scopes, origin);
                if !client.is_live(self.kernel.now()) {
                    return Err(AuthError::ClientDisabled(Some(Box::new(caller))));
                }
                admit(&reseller, caller)
            }
            Holder::External { subject, reseller, .. } => {
                let reseller = self.cache.reseller(&self.kernel, &reseller).await?.ok_or(AuthError::UnknownReseller)?;
                admit(&reseller, Caller::of_reseller(&reseller, Actor::External(subject), verified.scopes, origin))
            }
        }
    }

    async fn verify(&self, token: &str, now: i64) -> Result<VerifiedToken, AuthError> {
        let issuer = jwt::unverified_issuer(token).map_err(AuthError::Token)?;
        let settings = &self.kernel.settings;
        if issuer != settings.issuer {
            let place = self.external.iter().position(|external| external.provider.issuer == issuer);
            let place = place.ok_or(AuthError::Token(TokenError::WrongIssuer(issuer)))?;
            return self.external[place].verify(place, token, now).await;
        }
        let expected = Expected { issuer: &settings.issuer, audience: &settings.audience, now, leeway: LEEWAY };
        let verify = || {
            let keys = self.jwks();
            jwt::verify(token, |kid, algorithm| keys.find(kid, algorithm), &expected).map(|claims| (claims, keys))
        };
        let verified = match verify() {
            // Another node may have begun to use a key that this one has not read yet.
            Err(TokenError::UnknownKey(_)) => {
                self.search_keys().await?;
                verify()
            }
            other => other,
        };
        let (claims, keys) = verified.map_err(AuthError::Token)?;
        let client = claims.text("sub").and_then(|id| id.parse().ok());
        Ok(VerifiedToken {
            holder: Holder::Client(client.ok_or(AuthError::Token(TokenError::MissingClaim("sub")))?),
            scopes: ScopeSet::from_foreign(claims.text("scope").unwrap_or_default()),
            keys,
            ends: end_of(&claims)?,
        })
    }

    /// Whether the token's issuer still publishes the keys with which it was verified: a key that is withdrawn takes
    /// its tokens with it.
    fn still_vouched(&self, token: &VerifiedToken) -> bool {
        let keys = match &token.holder {
            Holder::Client(_) => Some(self.jwks()),
            Holder::External { provider, .. } => self.external[*provider].keys.keys(),
        };
        keys.is_some_and(|keys| Arc::ptr_eq(&keys, &token.keys) || keys == token.keys)
    }

    async fn by_api_key(&self, text: &str, origin: Origin) -> Result<Caller, AuthError> {
        let id = api_key_id(text).ok_or(AuthError::Malformed)?;
        if !self.kernel.settings.api_keys {
            return Err(AuthError::ApiKeysOff);
        }
        let (key, reseller) = self.cache.api_key(&self.kernel, id).await?.ok_or(AuthError::ApiKey(None))?;
        if !key.hash.matches(&hash_secret(text)) {
            return Err(AuthError::ApiKey(None));
        }
        let caller = Caller::of_reseller(&reseller, Actor::ApiKey(key.id.to_string()), key.scopes, origin);
        if key.revoked_at.is_some() {
            return Err(AuthError::ApiKey(Some(Box::new(caller))));
        }
        admit(&reseller, caller)
    }
}

/// A token that is remembered ends when it would be refused if it were not.
pub(crate) fn end_of(claims: &Claims) -> Result<i64, AuthError> {
    let exp = claims.seconds("exp").ok_or(AuthError::Token(TokenError::MissingClaim("exp")))?;
    Ok(exp.saturating_add_unsigned(LEEWAY.as_secs()))
}

fn admit(reseller: &Reseller, caller: Caller) -> Result<Caller, AuthError> {
    if reseller.suspended { Err(AuthError::Suspended(Box::new(caller))) } else { Ok(caller) }
}
