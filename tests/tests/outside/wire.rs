//! A small ACME client that speaks by curl, to see what is on the wire.

use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use chancery_jose::{SigningKey, base64url, jws};
use serde_json::{Map, Value, json};

use crate::acme::said;

/// Somebody with a key and, once it is registered, an account.
pub(crate) struct Wire {
    ca: String,
    key: SigningKey,
    kid: Option<String>,
    pub(crate) directory: Value,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn problem(&self) -> String {
        self.json()["type"].as_str().unwrap_or_else(|| panic!("{self:?}")).replace("urn:ietf:params:acme:error:", "")
    }
}

/// One request, by curl.
pub(crate) fn curl(ca: &str, arguments: &[&str]) -> Seen {
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--include", "--cacert", ca])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Seen { status, headers, body: body.to_owned() }
}

impl Wire {
    pub(crate) fn at(ca: &str, directory: &str) -> Self {
        let directory = curl(ca, &[directory]).json();
        Self { ca: ca.to_owned(), key: SigningKey::generate().unwrap(), kid: None, directory }
    }

    pub(crate) fn url(&self, name: &str) -> String {
        self.directory[name].as_str().unwrap().to_owned()
    }

    pub(crate) fn nonce(&self) -> String {
        curl(&self.ca, &["--head", &self.url("newNonce")]).header("replay-nonce").unwrap().to_owned()
    }

    /// Sends an object, or POST-as-GET, with this nonce.
    pub(crate) fn send(&self, url: &str, payload: Option<&Value>, nonce: &str) -> Seen {
        let mut header = Map::new();
        header.insert("nonce".to_owned(), nonce.into());
        header.insert("url".to_owned(), url.into());
        match &self.kid {
            Some(kid) => header.insert("kid".to_owned(), kid.as_str().into()),
            None => header.insert("jwk".to_owned(), self.key.public().to_value()),
        };
        let payload = payload.map(Value::to_string).unwrap_or_default();
        let body = jws::sign_flattened(header, payload.as_bytes(), &self.key).unwrap().to_string();
        curl(&self.ca, &["--header", "Content-Type: application/jose+json", "--data", &body, url])
    }

    /// The same, again with the nonce of the refusal for as long as nonces are rejected.
    pub(crate) fn post(&self, url: &str, payload: Option<&Value>) -> Seen {
        let mut nonce = self.nonce();
        for _ in 0..100 {
            let seen = self.send(url, payload, &nonce);
            if seen.status != 400 || seen.problem() != "badNonce" {
                return seen;
            }
            nonce = seen.header("replay-nonce").unwrap().to_owned();
        }
        panic!("every nonce is rejected");
    }

    pub(crate) fn register(&mut self) -> Seen {
        let payload = json!({"termsOfServiceAgreed": true});
        let seen = self.post(&self.url("newAccount"), Some(&payload));
        self.kid = seen.header("location").map(str::to_owned);
        seen
    }

    /// A new order for a name: its URL, and the order.
    pub(crate) fn order(&self, name: &str) -> (String, Value) {
        let payload = json!({"identifiers": [{"type": "dns", "value": name}]});
        let seen = self.post(&self.url("newOrder"), Some(&payload));
        assert_eq!(seen.status, 201, "{seen:?}");
        (seen.header("location").unwrap().to_owned(), seen.json())
    }

    /// Says that the first challenge of an order can be verified; gives the URL of its authorization.
    pub(crate) fn answer(&self, order: &Value) -> String {
        let authorization = order["authorizations"][0].as_str().unwrap();
        let challenges = self.post(authorization, None).json()["challenges"].clone();
        let seen = self.post(challenges[0]["url"].as_str().unwrap(), Some(&json!({})));
        assert_eq!(seen.status, 200, "{seen:?}");
        authorization.to_owned()
    }

    pub(crate) fn finalize(&self, order: &Value, name: &str) -> Seen {
        let csr = chancery_tests::csr(&[name]);
        let der: String = csr.lines().filter(|line| !line.starts_with("--")).collect();
        let csr = base64url::encode(&data_encoding::BASE64.decode(der.as_bytes()).unwrap());
        self.post(order["finalize"].as_str().unwrap(), Some(&json!({"csr": csr})))
    }

    /// Looks at something until its status is this one; gives it, and how long it took.
    pub(crate) fn wait_for(&self, url: &str, status: &str) -> (Value, Duration) {
        let began = Instant::now();
        loop {
            let seen = self.post(url, None).json();
            if seen["status"] == status {
                return (seen, began.elapsed());
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{seen}");
            assert_ne!(seen["status"], "invalid", "{seen}");
            sleep(Duration::from_millis(100));
        }
    }

    /// A certificate for a name on a server that takes every name for shown: its chain, in a file.
    pub(crate) fn obtain(&self, name: &str, file: PathBuf) -> PathBuf {
        let (url, order) = self.order(name);
        self.wait_for(&self.answer(&order), "valid");
        self.finalize(&order, name);
        let (order, _) = self.wait_for(&url, "valid");
        let chain = self.post(order["certificate"].as_str().unwrap(), None);
        std::fs::write(&file, chain.body).unwrap();
        file
    }
}
