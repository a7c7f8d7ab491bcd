//! A small ACME client, which says what it is told to say, right or wrong.

use chancery_jose::{Algorithm, HmacKey, SigningKey, base64url, jws};
use data_encoding::BASE64;
use http::Method;
use serde_json::{Map, Value, json};

use crate::csr::csr_with;
use crate::tenant::{Reply, Tenant};
use crate::world::World;

/// Somebody with a key and, once it is registered, an account.
pub struct AcmeClient {
    pub stranger: Tenant,
    pub key: SigningKey,
    /// The URL of the account.
    pub kid: Option<String>,
    /// The directory it began at.
    pub directory: Value,
}

/// The base of every URL.
pub const ACME_URL: &str = "https://ca.test";

impl AcmeClient {
    /// Somebody with a new key at the directory of a profile.
    pub async fn at(stranger: Tenant, profile: &str) -> Self {
        let directory = stranger.get(&format!("/acme/{profile}/directory")).await.expect(200);
        Self { stranger, key: SigningKey::generate().expect("a key"), kid: None, directory }
    }

    /// Somebody at the first profile, registered with this credential.
    pub async fn registered(world: &World, credential: &Value) -> Self {
        let mut client = Self::at(world.stranger(), "TLS-90d").await;
        let reply = client.register(credential).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        client
    }

    /// The same account, speaking to another node.
    pub fn speaking_to(self, stranger: Tenant) -> Self {
        Self { stranger, ..self }
    }

    /// A URL of the directory.
    pub fn url(&self, name: &str) -> String {
        self.directory[name].as_str().unwrap_or_else(|| panic!("no {name} in the directory")).to_owned()
    }

    pub async fn nonce(&self) -> String {
        let reply = self.stranger.raw(Method::HEAD, path(&self.url("newNonce")), &[], Vec::new()).await;
        assert_eq!(reply.status, 200);
        reply.header("replay-nonce").expect("a nonce").to_owned()
    }

    /// The header of a request: a fresh nonce, the URL, and the account where there is one, or else the key.
    pub async fn header(&self, url: &str) -> Map<String, Value> {
        let mut header = Map::new();
        header.insert("nonce".to_owned(), self.nonce().await.into());
        header.insert("url".to_owned(), url.into());
        match &self.kid {
            Some(kid) => header.insert("kid".to_owned(), kid.as_str().into()),
            None => header.insert("jwk".to_owned(), self.key.public().to_value()),
        };
        header
    }

    /// Sends a signed object.
    pub async fn post(&self, url: &str, payload: &Value) -> Reply {
        self.send(url, self.header(url).await, payload.to_string().as_bytes()).await
    }

    /// POST-as-GET.
    pub async fn read(&self, url: &str) -> Reply {
        self.send(url, self.header(url).await, b"").await
    }

    /// Signs whatever it is told to sign.
    pub async fn send(&self, url: &str, header: Map<String, Value>, payload: &[u8]) -> Reply {
        let body = jws::sign_flattened(header, payload, &self.key).expect("a signature");
        self.send_raw(url, body.to_string().into_bytes()).await
    }

    pub async fn send_raw(&self, url: &str, body: Vec<u8>) -> Reply {
        let headers = [("content-type", "application/jose+json")];
        self.stranger.raw(Method::POST, path(url), &headers, body).await
    }

    /// The binding of this key by a credential, as a reseller was shown it.
    pub fn binding(&self, credential: &Value, alg: Algorithm) -> Value {
        let text = |name: &str| credential[name].as_str().unwrap_or_else(|| panic!("no {name}"));
        self.binding_by(text("kid"), text("hmacKey"), alg, &self.url("newAccount"))
    }

    pub fn binding_by(&self, kid: &str, hmac_key: &str, alg: Algorithm, url: &str) -> Value {
        let secret = base64url::decode(hmac_key).expect("base64url");
        let mac = HmacKey::of_one_secret(alg, &secret).expect("a secret for an HMAC");
        let mut header = Map::new();
        header.insert("kid".to_owned(), kid.into());
        header.insert("url".to_owned(), url.into());
        jws::sign_flattened(header, self.key.public().to_canonical_json().as_bytes(), &mac).expect("a MAC")
    }

    /// Registers the key with a credential, and remembers the account.
    pub async fn register(&mut self, credential: &Value) -> Reply {
        let binding = self.binding(credential, Algorithm::HS256);
        let payload = json!({
            "contact": ["mailto:admin@example.com"],
            "termsOfServiceAgreed": true,
            "externalAccountBinding": binding,
        });
        let reply = self.post(&self.url("newAccount"), &payload).await;
        if let Some(location) = reply.header("location") {
            self.kid = Some(location.to_owned());
        }
        reply
    }

    /// A new order, and its URL.
    pub async fn order(&self, names: &[&str]) -> (String, Value) {
        let reply = self.post(&self.url("newOrder"), &json!({"identifiers": identifiers(names)})).await;
        let location = reply.header("location").map(str::to_owned);
        let order = reply.expect(201);
        (location.expect("a location"), order)
    }

    /// Says of every authorization of an order that its first challenge can be verified.
    pub async fn answer_all(&self, order: &Value) {
        for authorization in order["authorizations"].as_array().expect("a list") {
            let authorization = self.read(authorization.as_str().expect("a URL")).await.expect(200);
            if authorization["status"] == "pending" {
                let url = authorization["challenges"][0]["url"].as_str().expect("a URL");
                self.post(url, &json!({})).await.expect(200);
            }
        }
    }

    /// Looks at something until its status is this, or anything final.
    pub async fn wait_for(&self, url: &str, status: &str) -> Value {
        for _ in 0..500 {
            let seen = self.read(url).await.expect(200);
            if seen["status"] == status {
                return seen;
            }
            assert_ne!(seen["status"], "invalid", "{seen}");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("{url} is not {status}");
    }

    /// Finalizes an order with a CSR for these names, and gives the answer.
    pub async fn finalize(&self, order: &Value, names: &[&str]) -> Reply {
        let csr = csr_der(names);
        self.post(order["finalize"].as_str().expect("a URL"), &json!({"csr": csr})).await
    }

    /// The URL of an order from which a certificate came, and the order. Workers must be at work.
    pub async fn issue(&self, names: &[&str]) -> (String, Value) {
        let (url, order) = self.order(names).await;
        self.answer_all(&order).await;
        let order = self.wait_for(&url, "ready").await;
        let order = self.finalize(&order, names).await.expect(200);
        assert_eq!(order["status"], "valid", "{order}");
        (url, order)
    }

    /// The certificate of an order, in DER, the first of its chain.
    pub async fn certificate(&self, order: &Value) -> Vec<u8> {
        let reply = self.read(order["certificate"].as_str().expect("a URL")).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        der(&reply.text())
    }
}

/// Identifiers as they are sent: addresses are of their own type.
pub fn identifiers(names: &[&str]) -> Vec<Value> {
    let kind = |name: &str| if name.parse::<std::net::IpAddr>().is_ok() { "ip" } else { "dns" };
    names.iter().map(|name| json!({"type": kind(name), "value": name})).collect()
}

/// A CSR for these names with a new key, in base64url.
pub fn csr_der(names: &[&str]) -> String {
    base64url::encode(&der(&csr_with("ec-p256", names)))
}

/// The first block of a PEM text.
pub fn der(pem: &str) -> Vec<u8> {
    let lines = pem.lines().skip_while(|line| !line.starts_with("-----BEGIN")).skip(1);
    let text: String = lines.take_while(|line| !line.starts_with("-----END")).collect();
    BASE64.decode(text.as_bytes()).expect("base64")
}

/// What a URL is at the service.
pub fn path(url: &str) -> &str {
    url.strip_prefix(ACME_URL).unwrap_or(url)
}
