//! Redeems the codes of those who sign in (OpenID Connect Core section 3.1.3).

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use chancery_domain::Secret;
use chancery_service::identity::{CodeExchange, RedeemError};
use data_encoding::BASE64;
use http::{HeaderValue, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use tokio::sync::Semaphore;

use crate::FetcherError;
use crate::fetch::Fetch;

/// What needs no escape in a form.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How long, how much and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedeemLimits {
    /// For one code, from looking up the name to the last byte.
    pub timeout: Duration,
    /// The longest answer that is read, in bytes.
    pub body: usize,
    /// Codes that are redeemed at the same time: whoever sends us made-up ones must not make us a flood at the provider.
    pub at_once: usize,
}

impl Default for RedeemLimits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(10), body: 64 * 1024, at_once: 16 }
    }
}

/// The token endpoint of one provider, and as whom we ask there.
pub struct CodeRedeemer {
    fetch: Fetch,
    client_id: String,
    /// `Authorization`, for a client that has a secret (RFC 6749 section 2.3.1).
    authorization: Option<HeaderValue>,
    places: Semaphore,
}

/// What is read of the answer. The access token is not: nobody here has use for it.
#[derive(Deserialize)]
struct Answer {
    id_token: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

impl CodeRedeemer {
    /// Checks the settings, as [`crate::JwksFetcher::new`] does; nothing is asked yet. A client without a secret is a public
    /// one, and shows who it is by PKCE alone.
    pub fn new(
        url: &str,
        ca: Option<&Path>,
        client_id: &str,
        client_secret: Option<&Secret>,
        limits: RedeemLimits,
    ) -> Result<Self, FetcherError> {
        let fetch = Fetch::new(url, ca, limits.timeout, limits.body)?;
        let authorization = client_secret.map(|secret| {
            // Both are form-encoded first, so that a colon in either does no harm.
            let pair = format!("{}:{}", escaped(client_id), escaped(secret.reveal()));
            let text = format!("Basic {}", BASE64.encode(pair.as_bytes()));
            let mut value = HeaderValue::try_from(text).expect("base64 is valid in a header");
            value.set_sensitive(true);
            value
        });
        Ok(Self { fetch, client_id: client_id.to_owned(), authorization, places: Semaphore::new(limits.at_once) })
    }
}

#[async_trait]
impl CodeExchange for CodeRedeemer {
    async fn redeem(&self, code: &Secret, verifier: &Secret, redirect_url: &str) -> Result<Secret, RedeemError> {
        let busy = || RedeemError::Unavailable("many sign in at the same time".to_owned());
        let _place = self.places.try_acquire().map_err(|_| busy())?;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code.reveal()),
            ("redirect_uri", redirect_url),
            ("code_verifier", verifier.reveal()),
        ];
        // A client that authenticates is named there (RFC 6749 section 4.1.3).
        if self.authorization.is_none() {
            form.push(("client_id", &self.client_id));
        }
        let form: Vec<_> = form.into_iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        let answer = self.fetch.post(form.join("&"), self.authorization.clone()).await;
        let (status, document) = answer.map_err(|error| RedeemError::Unavailable(error.to_string()))?;
        match status {
            StatusCode::OK => {
                let answer = serde_json::from_slice::<Answer>(&document);
                let token = answer.ok().and_then(|answer| answer.id_token);
                token.map(Secret::new).ok_or_else(|| RedeemError::Refused("no ID token in the answer".to_owned()))
            }
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Err(RedeemError::Unavailable(format!("the answer was {status}")))
            }
            status => {
                let said = serde_json::from_slice::<Refusal>(&document).map(|refusal| refusal.error);
                let said: String = said.unwrap_or_default().chars().filter(char::is_ascii_graphic).take(60).collect();
                match said.as_str() {
                    // It is our secret that is wrong, and not the person.
                    "invalid_client" => Err(RedeemError::Unavailable(format!("{status} {said}"))),
                    _ => Err(RedeemError::Refused(format!("{status} {said}"))),
                }
            }
        }
    }
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}
