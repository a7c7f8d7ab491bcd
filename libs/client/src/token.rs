//! Access tokens by the client-credentials grant (RFC 6749 section 4.4).

use std::time::{Duration, Instant};

use chancery_wire::TokenErrorResponse;
use http::{HeaderMap, HeaderValue, Method, Uri, header};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use crate::base_url::BaseUrl;
use crate::builder::BuildError;
use crate::error::Error;
use crate::response::Response;
use crate::transport::Transport;

const SCHEME: &str = "Bearer ";

/// What the operator of the service hands out. It has no `Debug`, as it holds a secret.
#[derive(Clone)]
pub struct ClientCredentials {
    /// Who asks.
    pub client_id: String,
    /// The proof of it.
    pub client_secret: String,
    /// Whom the token is for.
    pub audience: String,
    /// Where tokens are had: `/oauth/token` below this URL.
    pub auth_url: String,
}

/// An access token that is kept from one client to the next. It has no `Debug`, as it is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken {
    /// The token, without `Bearer`.
    pub text: String,
    /// How long it is good for, from now on; without it, until it is refused.
    pub remaining: Option<Duration>,
}

/// Fetches tokens and keeps the newest. However many calls wait for a token, one request for it is under way.
pub(crate) struct Tokens {
    credentials: ClientCredentials,
    endpoint: Uri,
    https: bool,
    current: Mutex<Option<Token>>,
}

impl Tokens {
    /// With a token of an earlier client, where there is one: used while it is fresh.
    pub(crate) fn new(credentials: ClientCredentials, kept: Option<AccessToken>) -> Result<Self, BuildError> {
        let base = BaseUrl::parse(&credentials.auth_url)?;
        let endpoint = base
            .join("/oauth/token")
            .map_err(|error| BuildError::Url { url: credentials.auth_url.clone(), reason: error.to_string() })?;
        let kept = kept.map(Token::kept).transpose()?;
        Ok(Self { credentials, endpoint, https: base.is_https(), current: Mutex::new(kept) })
    }

    pub(crate) fn is_https(&self) -> bool {
        self.https
    }

    /// The value for the `Authorization` header, of a token that is good for a while.
    pub(crate) async fn current(&self, transport: &Transport) -> Result<HeaderValue, Error> {
        let mut current = self.current.lock().await;
        match &*current {
            Some(token) if token.is_fresh(Instant::now()) => Ok(token.header.clone()),
            Some(_) | None => self.replace(&mut current, transport).await,
        }
    }

    /// The token that would be used now, where one is known; none is fetched.
    pub(crate) async fn known(&self) -> Option<AccessToken> {
        let current = self.current.lock().await;
        let token = current.as_ref()?;
        let text = token.header.to_str().ok()?.strip_prefix(SCHEME)?.to_owned();
        let left = |lifetime: Duration| lifetime.saturating_sub(token.asked.elapsed());
        Some(AccessToken { text, remaining: token.lifetime.map(left) })
    }

    /// Another one than `refused`: the one that somebody else fetched meanwhile, or a new one.
    pub(crate) async fn instead_of(&self, refused: &HeaderValue, transport: &Transport) -> Result<HeaderValue, Error> {
        let mut current = self.current.lock().await;
        match &*current {
            Some(token) if token.header != *refused => Ok(token.header.clone()),
            Some(_) | None => self.replace(&mut current, transport).await,
        }
    }

    async fn replace(&self, current: &mut Option<Token>, transport: &Transport) -> Result<HeaderValue, Error> {
        // Should the fetch fail, or be given up, the old one must not be used again.
        *current = None;
        let token = self.fetch(transport).await?;
        Ok(current.insert(token).header.clone())
    }

    async fn fetch(&self, transport: &Transport) -> Result<Token, Error> {
        let body = json!({
            "client_id": self.credentials.client_id,
            "client_secret": self.credentials.client_secret,
            "audience": self.credentials.audience,
            "grant_type": "client_credentials",
        });
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        // Its lifetime counts from when it was made, which is not before this.
        let asked = Instant::now();
        let sent = transport.send(Method::POST, self.endpoint.clone(), headers, body.to_string().into());
        Token::read(&sent.await?, asked)
    }
}

struct Token {
    header: HeaderValue,
    lifetime: Option<Duration>,
    asked: Instant,
}

/// What must be in an answer; an external provider may leave out the rest (RFC 6749 section 5.1).
#[derive(Deserialize)]
struct Granted {
    access_token: String,
    token_type: String,
    expires_in: Option<u64>,
}

#[derive(Deserialize)]
struct NotGranted {
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Token {
    /// One that another client fetched.
    fn kept(token: AccessToken) -> Result<Self, BuildError> {
        let header = sensitive(&format!("{SCHEME}{}", token.text)).ok_or(BuildError::Authorization)?;
        Ok(Self { header, lifetime: token.remaining, asked: Instant::now() })
    }

    fn read(response: &Response, asked: Instant) -> Result<Self, Error> {
        if !response.status.is_success() {
            return Err(match serde_json::from_slice::<NotGranted>(&response.body) {
                Ok(NotGranted { error, error_description }) => {
                    Error::Token(TokenErrorResponse { error, error_description })
                }
                // A refusal for another reason, such as too many requests.
                Err(_) => match response.clone().success() {
                    Ok(response) => response.unexpected("not a token"),
                    Err(error) => error,
                },
            });
        }
        // The text of the parser may quote the token.
        let granted: Granted =
            serde_json::from_slice(&response.body).map_err(|_| response.unexpected("not a token"))?;
        // RFC 6749 section 7.1: a token of an unknown type is not to be used.
        if !granted.token_type.eq_ignore_ascii_case("bearer") {
            return Err(response.unexpected(format!("a token of the type {:?}", granted.token_type)));
        }
        let header = sensitive(&format!("{SCHEME}{}", granted.access_token));
        let header = header.ok_or_else(|| response.unexpected("a token that no header can carry"))?;
        Ok(Self { header, lifetime: granted.expires_in.map(Duration::from_secs), asked })
    }

    /// Whether it can still be used: until a minute, or a tenth of its life if that is less, before its end.
    fn is_fresh(&self, now: Instant) -> bool {
        let Some(lifetime) = self.lifetime else { return true };
        let margin = (lifetime / 10).min(Duration::from_secs(60));
        now.saturating_duration_since(self.asked) < lifetime - margin
    }
}

/// A header value that nothing prints.
pub(crate) fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn read(status: u16, body: &str) -> Result<Token, Error> {
        let status = StatusCode::from_u16(status).unwrap();
        let body = body.to_owned().into();
        Token::read(&Response { status, headers: HeaderMap::new(), body }, Instant::now())
    }

    fn fresh_after(token: &Token, seconds: u64) -> bool {
        token.is_fresh(token.asked + Duration::from_secs(seconds))
    }

    #[test]
    fn a_token_is_given_up_shortly_before_it_expires() {
        let token = read(200, r#"{"access_token":"t","token_type":"Bearer","expires_in":86400,"scope":"x"}"#).unwrap();
        assert!(fresh_after(&token, 86_339));
        assert!(!fresh_after(&token, 86_340));
        let short = read(200, r#"{"access_token":"t","token_type":"bearer","expires_in":10}"#).unwrap();
        assert!(fresh_after(&short, 8));
        assert!(!fresh_after(&short, 9));
        let none = read(200, r#"{"access_token":"t","token_type":"bearer","expires_in":0}"#).unwrap();
        assert!(!fresh_after(&none, 0));
    }

    #[test]
    fn a_token_without_an_end_is_used_until_it_is_refused() {
        assert!(fresh_after(&read(200, r#"{"access_token":"t","token_type":"Bearer"}"#).unwrap(), 1_000_000));
    }

    #[test]
    fn what_is_no_bearer_token_is_not_used_and_not_quoted() {
        for body in [
            r#"{"access_token":"geheim","token_type":"mac","expires_in":10}"#,
            r#"{"access_token":"geheim\n","token_type":"Bearer","expires_in":10}"#,
            r#"{"access_token":"geheim","token_type":"Bearer","expires_in":"geheim"}"#,
            r#""geheim""#,
        ] {
            let error = read(200, body).err().unwrap();
            assert!(matches!(error, Error::Unexpected { .. }), "{error}");
            assert!(!format!("{error} {error:?}").contains("geheim"), "{error:?}");
        }
    }

    #[test]
    fn a_refusal_needs_no_description() {
        let Err(Error::Token(refusal)) = read(401, r#"{"error":"invalid_client"}"#) else { panic!() };
        assert_eq!(refusal.error, "invalid_client");
    }
}
