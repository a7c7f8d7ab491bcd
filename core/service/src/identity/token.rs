//! The client-credentials grant: a long-lived secret for a short-lived token (RFC 6749 section 4.4).

use chancery_domain::{ScopeSet, Secret};
use chancery_jose::{Claims, jwt};

use super::Identity;
use super::secrets::hash_secret;
use crate::error::ServiceError;

/// What a client asks for.
pub struct TokenRequest {
    pub client_id: String,
    pub client_secret: Secret,
    pub audience: Option<String>,
    /// Narrows the grant; all that the client has where there is none.
    pub scope: Option<String>,
}

/// A token and what it is good for.
pub struct TokenGrant {
    pub access_token: Secret,
    pub scope: ScopeSet,
    pub expires_in: u64,
}

/// Why there is no token; the names are those of RFC 6749 section 5.2.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TokenRefusal {
    #[error("unknown client, wrong secret, or the client is disabled or has expired")]
    InvalidClient,
    #[error("{0}")]
    InvalidRequest(String),
    #[error("{0}")]
    InvalidScope(String),
    #[error("the reseller {0} is suspended")]
    UnauthorizedClient(String),
    #[error(transparent)]
    Service(#[from] ServiceError),
}

impl Identity {
    /// Gives a token to a client that knows its secret. The token is a signed JWT of the shape of RFC 9068.
    pub async fn grant(&self, request: TokenRequest) -> Result<TokenGrant, TokenRefusal> {
        let (kernel, now) = (&self.kernel, self.kernel.now());
        let settings = &kernel.settings;
        let id = request.client_id.parse().map_err(|_| TokenRefusal::InvalidClient)?;
        // Not from memory: this is rare, and a secret must work as soon as the operator has seen it.
        let found = self.cache.client_afresh(kernel, id).await?;
        let (client, reseller) = found.ok_or(TokenRefusal::InvalidClient)?;
        if !client.accepts(&hash_secret(request.client_secret.reveal())) || !client.is_live(now) {
            return Err(TokenRefusal::InvalidClient);
        }
        if reseller.suspended {
            return Err(TokenRefusal::UnauthorizedClient(reseller.code.to_string()));
        }
        match request.audience.as_deref() {
            Some(audience) if audience == settings.audience => {}
            Some(_) => return Err(TokenRefusal::InvalidRequest(format!("the audience must be {}", settings.audience))),
            None => {
                return Err(TokenRefusal::InvalidRequest(format!(
                    "`audience` is missing: it must be {}",
                    settings.audience
                )));
            }
        }
        let scope = narrow(&client.scopes, request.scope.as_deref())?;
        let lifetime = settings.token_lifetime.as_secs();
        let issued = now.as_secs();
        let claims = Claims::default()
            .with("iss", settings.issuer.as_str())
            .with("sub", client.id.to_string())
            .with("azp", client.id.to_string())
            .with("client_id", client.id.to_string())
            .with("aud", settings.audience.as_str())
            .with("scope", scope.to_string())
            .with("gty", "client-credentials")
            .with("iat", issued)
            .with("exp", issued.saturating_add_unsigned(lifetime))
            .with("jti", kernel.entropy.uuid_v4().to_string())
            .with("reseller_code", reseller.code.as_str());
        let keys = self.token_keys();
        let (kid, key) =
            keys.current(now).ok_or_else(|| ServiceError::internal("there is no key to sign tokens with"))?;
        let token = jwt::issue(key, kid, "at+jwt", &claims).map_err(ServiceError::internal)?;
        Ok(TokenGrant { access_token: Secret::new(token), scope, expires_in: lifetime })
    }
}

fn narrow(granted: &ScopeSet, asked: Option<&str>) -> Result<ScopeSet, TokenRefusal> {
    let Some(asked) = asked.filter(|text| !text.trim().is_empty()) else { return Ok(granted.clone()) };
    let asked: ScopeSet =
        asked.parse().map_err(|name| TokenRefusal::InvalidScope(format!("there is no scope {name:?}")))?;
    if asked.is_subset(granted) {
        Ok(asked)
    } else {
        Err(TokenRefusal::InvalidScope(format!("this client may have only: {granted}")))
    }
}
