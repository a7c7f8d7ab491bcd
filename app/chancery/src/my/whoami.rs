//! `whoami`: which login this is, whether it works, and what it may do.

use chancery_client::{AccountQuery, Error, StatusCode};
use chancery_domain::Timestamp;
use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};

use super::session::Session;
use super::table::{Cell, details};
use crate::failure::Failure;

/// A login as it is shown.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WhoAmI {
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    url: String,
    client_id: String,
    audience: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_file: Option<String>,
    /// The rest is read from the token, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    reseller_code: Option<String>,
    scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_expires_at: Option<String>,
}

/// What our tokens say of their holder. The service has verified them; here they are only shown.
#[derive(Default, Deserialize)]
struct Claims {
    reseller_code: Option<String>,
    #[serde(default)]
    scope: String,
    exp: Option<i64>,
}

pub async fn run(session: &Session) -> Result<(), Failure> {
    // A kept token may be of a client that is disabled since: only the service knows.
    let looked = session.client.accounts().list(AccountQuery { limit: Some(1), ..Default::default() }).await;
    match looked {
        Ok(_) | Err(Error::Refused { status: StatusCode::FORBIDDEN, .. }) => {}
        Err(error) => return Err(session.trouble.explain(error)),
    }
    let shown = describe(session).await;
    session.show.thing(&shown, || shown.told())
}

/// From the login and the token that is known by now.
pub async fn describe(session: &Session) -> WhoAmI {
    let token = session.client.access_token().await;
    let claims = token.and_then(|token| claims(&token.text)).unwrap_or_default();
    let login = &session.login;
    WhoAmI {
        profile: session.profile.clone(),
        url: login.url.clone(),
        client_id: login.client_id.clone(),
        audience: login.audience.clone(),
        ca_file: login.ca_file.as_ref().map(|path| path.display().to_string()),
        reseller_code: claims.reseller_code,
        scopes: claims.scope.split_whitespace().map(str::to_owned).collect(),
        token_expires_at: claims.exp.map(|exp| Timestamp::from_secs(exp).to_string()),
    }
}

impl WhoAmI {
    pub fn told(&self) -> String {
        details(&[
            ("profile", self.profile.as_deref().unwrap_or("none: the environment").into()),
            ("service", self.url.as_str().into()),
            ("reseller", Cell::maybe(self.reseller_code.as_ref())),
            ("client id", self.client_id.as_str().into()),
            ("audience", self.audience.as_str().into()),
            ("CA file", Cell::maybe(self.ca_file.as_ref())),
            ("may", Cell::list(&self.scopes)),
            ("token until", Cell::maybe(self.token_expires_at.as_ref())),
        ])
    }
}

/// The middle part of a JWT (RFC 7519); nothing where the token is of another kind.
fn claims(token: &str) -> Option<Claims> {
    let payload = BASE64URL_NOPAD.decode(token.split('.').nth(1)?.as_bytes()).ok()?;
    serde_json::from_slice(&payload).ok()
}
