//! An ACME account: signs requests, and keeps the nonces of answers for the next ones.

use std::time::{Duration, Instant};

use chancery_client::Response;
use chancery_jose::{Algorithm, HmacKey, KeyError, SigningKey, base64url, jws};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::server::{LoadError, Server, accepted};

/// Refused nonces are met with this many fresh ones.
const NONCES: usize = 10;
/// How long one step is tried again where the server has too much to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// An external account binding, as the provider handed it out.
#[derive(Clone)]
pub struct Credential {
    /// The key id.
    pub kid: String,
    /// The HMAC key in base64url, or in base64.
    pub hmac_key: String,
}

/// An account with an ES256 key and a connection of its own.
pub struct Account {
    pub(crate) server: Server,
    pub(crate) key: SigningKey,
    thumbprint: String,
    kid: Option<String>,
    nonces: Mutex<Vec<String>>,
}

impl Account {
    /// Registers a new key.
    pub async fn register(server: Server, credential: Option<&Credential>) -> Result<Self, LoadError> {
        let key = SigningKey::generate()?;
        let thumbprint = key.public().thumbprint();
        let mut account = Self { server, key, thumbprint, kid: None, nonces: Mutex::default() };
        let url = account.server.resource("newAccount")?.to_owned();
        let mut payload = json!({"termsOfServiceAgreed": true, "contact": ["mailto:load@example.com"]});
        if let Some(credential) = credential {
            payload["externalAccountBinding"] = account.binding(credential, &url)?;
        }
        let response = account.post(&url, payload.to_string().as_bytes()).await?;
        let location = response.header("location").ok_or(LoadError::Lacking { url, what: "Location" })?;
        account.kid = Some(location.to_owned());
        Ok(account)
    }

    /// What a web server shows for a token (RFC 8555 section 8.1).
    pub(crate) fn key_authorization(&self, token: &str) -> String {
        format!("{token}.{}", self.thumbprint)
    }

    /// Sends a signed payload, an empty one for POST-as-GET, and brings an answer of 2xx.
    pub(crate) async fn post(&self, url: &str, payload: &[u8]) -> Result<Response, LoadError> {
        for _ in 0..NONCES {
            let mut header = Map::new();
            header.insert("nonce".to_owned(), self.nonce().await?.into());
            header.insert("url".to_owned(), url.into());
            match &self.kid {
                Some(kid) => header.insert("kid".to_owned(), kid.as_str().into()),
                None => header.insert("jwk".to_owned(), self.key.public().to_value()),
            };
            let jws = jws::sign_flattened(header, payload, &self.key)?.to_string();
            let response = self.server.post(url, jws).await?;
            self.keep_nonce(&response);
            let stale = response.status == 400 && response.text().contains("urn:ietf:params:acme:error:badNonce");
            if !stale {
                return accepted(url, response);
            }
        }
        let problem = format!("{NONCES} nonces were refused");
        Err(LoadError::Refused { url: url.to_owned(), status: 400, problem, retry_after: None })
    }

    /// Sends a signed payload and brings an answer of 2xx; told to come again later, it does so for a while.
    pub(crate) async fn post_patiently(&self, url: &str, payload: &[u8]) -> Result<Response, LoadError> {
        let began = Instant::now();
        loop {
            match self.post(url, payload).await {
                Err(LoadError::Refused { status: 429 | 503, retry_after: Some(pause), .. })
                    if began.elapsed() < PATIENCE =>
                {
                    tokio::time::sleep(pause).await;
                }
                answer => return answer,
            }
        }
    }

    async fn nonce(&self) -> Result<String, LoadError> {
        let kept = self.nonces.lock().pop();
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let url = self.server.resource("newNonce")?;
        let response = accepted(url, self.server.head(url).await?)?;
        let nonce = response.header("replay-nonce").map(str::to_owned);
        nonce.ok_or_else(|| LoadError::Lacking { url: url.to_owned(), what: "Replay-Nonce" })
    }

    fn keep_nonce(&self, response: &Response) {
        self.nonces.lock().extend(response.header("replay-nonce").map(str::to_owned));
    }

    fn binding(&self, credential: &Credential, url: &str) -> Result<Value, LoadError> {
        let text: String = credential.hmac_key.trim_end_matches('=').replace('+', "-").replace('/', "_");
        let secret =
            base64url::decode(&text).ok_or_else(|| LoadError::Key("the HMAC key is not base64url".to_owned()))?;
        let mac =
            HmacKey::of_one_secret(Algorithm::HS256, &secret).map_err(|error: KeyError| LoadError::from(error))?;
        let mut header = Map::new();
        header.insert("kid".to_owned(), credential.kid.as_str().into());
        header.insert("url".to_owned(), url.into());
        Ok(jws::sign_flattened(header, self.key.public().to_canonical_json().as_bytes(), &mac)?)
    }
}
