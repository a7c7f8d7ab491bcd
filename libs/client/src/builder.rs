//! Settings of a client.

use std::time::Duration;

use bytes::Bytes;

use crate::authorization::Authorization;
use crate::base_url::BaseUrl;
use crate::client::Client;
use crate::connector::Connector;
use crate::tls;
use crate::token::{AccessToken, ClientCredentials, Tokens, sensitive};
use crate::transport::Transport;

/// A page of a thousand certificates with their chains is far below it.
const LARGEST_BODY: usize = 64 * 1024 * 1024;

/// Collects the settings of a [`Client`]. It has no `Debug`, as it holds secrets.
///
/// Of [`credentials`](Self::credentials), [`api_key`](Self::api_key) and [`token`](Self::token) the last one counts;
/// without any of them requests are sent without authorization.
#[must_use]
pub struct ClientBuilder {
    base_url: String,
    ca_pem: Option<Bytes>,
    identity: Identity,
    kept: Option<AccessToken>,
    timeout: Duration,
    connect_timeout: Option<Duration>,
    largest_body: usize,
    http1_only: bool,
}

enum Identity {
    None,
    Credentials(ClientCredentials),
    ApiKey(String),
    Token(String),
}

/// Settings with which no request could be sent. Their texts repeat no secret.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A URL that cannot be used.
    #[error("the URL {url} cannot be used: {reason}")]
    Url {
        /// The URL, without a user name and password.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The given trusted certificates cannot be read, or there are none.
    #[error("the CA certificates cannot be used: {0}")]
    CaPem(String),
    /// No certificates were given and the system has none that it trusts.
    #[error("the system has no trusted certificates; install them or give CA certificates: {0}")]
    NoSystemRoots(String),
    /// The token or API key has characters that a header cannot carry.
    #[error("the token or API key has characters that a header cannot carry")]
    Authorization,
    /// The TLS library refuses its settings.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

impl ClientBuilder {
    pub(crate) fn new(base_url: String) -> Self {
        let (identity, timeout) = (Identity::None, Duration::from_secs(30));
        let (connect_timeout, largest_body) = (None, LARGEST_BODY);
        Self { base_url, ca_pem: None, identity, kept: None, timeout, connect_timeout, largest_body, http1_only: false }
    }

    /// Trusts servers by these certificates, one PEM block after the other, and by no others. Without it, the
    /// certificates count that the system trusts.
    pub fn ca_pem(mut self, pem: impl Into<Bytes>) -> Self {
        self.ca_pem = Some(pem.into());
        self
    }

    /// Fetches access tokens with a client id and secret.
    pub fn credentials(mut self, credentials: ClientCredentials) -> Self {
        self.identity = Identity::Credentials(credentials);
        self
    }

    /// Begins with a token that an earlier client of the same credentials had ([`Client::access_token`]), while it is good.
    pub fn kept_token(mut self, token: AccessToken) -> Self {
        self.kept = Some(token);
        self
    }

    /// Sends this key in the `Authorization` header, as it is.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.identity = Identity::ApiKey(key.into());
        self
    }

    /// Sends this access token, and no other after it has expired.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.identity = Identity::Token(token.into());
        self
    }

    /// How long a call may take, with everything that belongs to it: connecting, a token, a second attempt. 30 seconds
    /// without this.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long it may take to reach one address of the server; as long as the system tries, or the call may take, without this.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// The longest body that is read; 64 MiB without this.
    pub fn largest_body(mut self, bytes: usize) -> Self {
        self.largest_body = bytes;
        self
    }

    /// Offers HTTP/1.1 alone, also where the server has HTTP/2.
    pub fn http1_only(mut self) -> Self {
        self.http1_only = true;
        self
    }

    /// Checks the settings; nothing is sent yet.
    pub fn build(self) -> Result<Client, BuildError> {
        let base = BaseUrl::parse(&self.base_url)?;
        let fixed = |text: &str| sensitive(text).map(Authorization::Fixed).ok_or(BuildError::Authorization);
        let authorization = match self.identity {
            Identity::None => Authorization::Anonymous,
            Identity::ApiKey(key) => fixed(&key)?,
            Identity::Token(token) => fixed(&format!("Bearer {token}"))?,
            Identity::Credentials(credentials) => {
                Authorization::Fetched(Box::new(Tokens::new(credentials, self.kept)?))
            }
        };
        let encrypted =
            base.is_https() || matches!(&authorization, Authorization::Fetched(tokens) if tokens.is_https());
        let tls = match encrypted {
            true => Some(tls::connector(self.ca_pem.as_deref(), self.http1_only)?),
            false => None,
        };
        let transport = Transport::new(Connector::new(tls, self.connect_timeout), self.largest_body);
        Ok(Client::new(base, transport, authorization, self.timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_settings_are_refused_when_the_client_is_built() {
        let build = |builder: ClientBuilder| builder.build().unwrap_err();
        let https = || ClientBuilder::new("https://ca.example.com".to_owned());
        assert!(matches!(build(ClientBuilder::new("nowhere".to_owned())), BuildError::Url { .. }));
        assert!(matches!(build(https().ca_pem("nothing of use")), BuildError::CaPem(_)));
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(build(https().ca_pem(broken)), BuildError::CaPem(_)));
        for builder in [https().token("geheim\r\nx: y"), https().api_key("geheim\n")] {
            let error = build(builder);
            assert!(matches!(error, BuildError::Authorization) && !error.to_string().contains("geheim"));
        }
        let credentials = ClientCredentials {
            client_id: String::new(),
            client_secret: String::new(),
            audience: String::new(),
            auth_url: "http://id.example.com".to_owned(),
        };
        assert!(matches!(build(https().credentials(credentials)), BuildError::Url { .. }));
    }
}
