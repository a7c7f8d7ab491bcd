//! One certificate: order, authorization, http-01, finalize, download.

use std::time::{Duration, Instant};

use chancery_domain::Identifier;
use chancery_jose::base64url;
use chancery_pki::{PrivateKey, make_request};
use serde_json::{Value, json};

use crate::account::Account;
use crate::responder::Responder;
use crate::server::{LoadError, json, text};

/// Between two looks: at first the one, then always longer up to the other.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(64));
const PATIENCE: Duration = Duration::from_secs(60);

/// An order that the server has taken.
pub struct Ordered {
    url: String,
    order: Value,
    began: Instant,
}

/// A certificate request for this name with this key.
pub fn request(name: &str, key: &PrivateKey) -> Result<Vec<u8>, LoadError> {
    let identifier = Identifier::parse(name).map_err(|error| LoadError::Key(error.to_string()))?;
    make_request(key, &[identifier]).map_err(|error| LoadError::Key(error.to_string()))
}

impl Account {
    /// A certificate for this name with this key. Tells how long it took, from the order to the chain.
    pub async fn issue(&self, name: &str, key: &PrivateKey, responder: &Responder) -> Result<Duration, LoadError> {
        let csr = request(name, key)?;
        self.complete(self.order(name).await?, &csr, responder).await
    }

    /// Orders, once: whether the server takes it.
    pub async fn order(&self, name: &str) -> Result<Ordered, LoadError> {
        let began = Instant::now();
        let new_order = self.server.resource("newOrder")?;
        let identifiers = json!({"identifiers": [{"type": "dns", "value": name}]});
        let response = self.post(new_order, identifiers.to_string().as_bytes()).await?;
        let lacking = |what| LoadError::Lacking { url: new_order.to_owned(), what };
        let url = response.header("location").ok_or_else(|| lacking("Location"))?.to_owned();
        Ok(Ordered { url, order: json(new_order, &response)?, began })
    }

    /// All that comes after the order. A server that has too much to do is asked again when it says so.
    pub async fn complete(&self, ordered: Ordered, csr: &[u8], responder: &Responder) -> Result<Duration, LoadError> {
        let Ordered { url: order_url, mut order, began } = ordered;
        let lacking = |what| LoadError::Lacking { url: order_url.clone(), what };
        for authorization in order["authorizations"].as_array().ok_or_else(|| lacking("authorizations"))? {
            self.show(authorization.as_str().ok_or_else(|| lacking("authorizations"))?, responder).await?;
        }
        let finalize = text(&order_url, &order, "finalize")?.to_owned();
        let csr = json!({"csr": base64url::encode(csr)}).to_string();
        order = json(&finalize, &self.post_patiently(&finalize, csr.as_bytes()).await?)?;
        if order["status"] != "valid" {
            order = self.wait_until_valid(&order_url).await?;
        }
        let certificate = text(&order_url, &order, "certificate")?;
        let chain = self.post_patiently(certificate, b"").await?;
        if !chain.text().contains("-----BEGIN CERTIFICATE-----") {
            return Err(LoadError::Lacking { url: certificate.to_owned(), what: "certificate" });
        }
        Ok(began.elapsed())
    }

    /// Shows control of one name, where that is not shown already.
    async fn show(&self, url: &str, responder: &Responder) -> Result<(), LoadError> {
        let authorization = json(url, &self.post_patiently(url, b"").await?)?;
        if authorization["status"] == "valid" {
            return Ok(());
        }
        let challenges = authorization["challenges"].as_array().map(Vec::as_slice).unwrap_or_default();
        let http = challenges.iter().find(|challenge| challenge["type"] == "http-01");
        let http = http.ok_or_else(|| LoadError::Lacking { url: url.to_owned(), what: "http-01" })?;
        let (token, challenge) = (text(url, http, "token")?, text(url, http, "url")?);
        responder.publish(token, &self.key_authorization(token));
        let answer = json(challenge, &self.post_patiently(challenge, b"{}").await?)?;
        let shown = match answer["status"] == "valid" {
            true => Ok(()),
            false => self.wait_until_valid(url).await.map(drop),
        };
        responder.withdraw(token);
        shown
    }

    async fn wait_until_valid(&self, url: &str) -> Result<Value, LoadError> {
        let (began, (mut pause, longest)) = (Instant::now(), PAUSES);
        while began.elapsed() < PATIENCE {
            let seen = json(url, &self.post_patiently(url, b"").await?)?;
            match text(url, &seen, "status")? {
                "valid" => return Ok(seen),
                "pending" | "processing" | "ready" => {}
                ended => {
                    let status = ended.to_owned();
                    return Err(LoadError::Ended { url: url.to_owned(), status, detail: seen.to_string() });
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
        Err(LoadError::Stuck(url.to_owned()))
    }
}
