//! Every operation of ACME's door, with what is needed to ask for it.

use chancery_jose::{SigningKey, base64url, jws};
use chancery_tests::{ACME_URL, AcmeClient, csr_der, identifiers};
use serde_json::{Map, Value, json};

use crate::things::{Kind, NAME, Things};

/// One way to use a route that takes signed requests.
pub(crate) struct Operation {
    /// As the router has it.
    pub(crate) path: &'static str,
    /// Which of those of the path.
    pub(crate) what: &'static str,
    /// What the first parameter of the path names; a profile where this is none.
    pub(crate) names: Option<Kind>,
    pub(crate) payload: fn(&AcmeClient, &Things, &str) -> Option<Value>,
    /// What it answers where nothing is wrong.
    pub(crate) success: u16,
}

/// Routes that anybody may read, without a signature.
pub(crate) const OPEN: &[&str] =
    &["GET /acme/{profile}/directory", "GET /acme/{profile}/new-nonce", "GET /acme/renewal-info/{certificate}"];

/// Routes that lead nowhere.
pub(crate) const NOWHERE: &[&str] =
    &["/acme", "/acme/", "/acme/{profile}", "/acme/{profile}/{what}", "/acme/{profile}/{what}/{*rest}"];

/// The one route that is signed by a key that has no account yet.
pub(crate) const REGISTRATION: &str = "/acme/{profile}/new-account";

const ACCOUNT: &str = "/acme/account/{id}";
const AUTHORIZATION: &str = "/acme/authz/{id}";
const CHALLENGE: &str = "/acme/challenge/{id}";
const CHAIN: &str = "/acme/cert/{id}/{chain}";
const FINALIZE: &str = "/acme/order/{id}/finalize";
const ORDER: &str = "/acme/order/{id}";

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        operation("/acme/{profile}/directory", "read", None, nothing, 200),
        operation("/acme/{profile}/new-nonce", "read", None, nothing, 204),
        operation("/acme/{profile}/new-order", "order", None, new_order, 201),
        operation("/acme/{profile}/new-authz", "authorize", None, new_authorization, 201),
        operation("/acme/{profile}/revoke-cert", "revoke", None, revocation, 200),
        operation("/acme/{profile}/key-change", "change", None, key_change, 200),
        operation(ACCOUNT, "read", Some(Kind::Account), nothing, 200),
        operation(ACCOUNT, "update", Some(Kind::Account), |_, _, _| Some(json!({"contact": []})), 200),
        operation(ACCOUNT, "deactivate", Some(Kind::Account), deactivation, 200),
        operation("/acme/account/{id}/orders", "read", Some(Kind::Account), nothing, 200),
        operation(ORDER, "read", Some(Kind::Order), nothing, 200),
        operation(FINALIZE, "finalize", Some(Kind::ReadyOrder), csr, 200),
        operation(AUTHORIZATION, "read", Some(Kind::Authorization), nothing, 200),
        operation(AUTHORIZATION, "deactivate", Some(Kind::Authorization), deactivation, 200),
        operation(CHALLENGE, "read", Some(Kind::Challenge), nothing, 200),
        operation(CHALLENGE, "answer", Some(Kind::Challenge), |_, _, _| Some(json!({})), 200),
        operation("/acme/cert/{id}", "read", Some(Kind::Certificate), nothing, 200),
        // There is one chain: the second is missing, but that is told only to whoever has the certificate.
        operation(CHAIN, "read", Some(Kind::Certificate), nothing, 404),
    ]
}

fn operation(
    path: &'static str,
    what: &'static str,
    names: Option<Kind>,
    payload: fn(&AcmeClient, &Things, &str) -> Option<Value>,
    success: u16,
) -> Operation {
    Operation { path, what, names, payload, success }
}

fn nothing(_: &AcmeClient, _: &Things, _: &str) -> Option<Value> {
    None
}

fn deactivation(_: &AcmeClient, _: &Things, _: &str) -> Option<Value> {
    Some(json!({"status": "deactivated"}))
}

fn new_order(_: &AcmeClient, _: &Things, _: &str) -> Option<Value> {
    Some(json!({"identifiers": identifiers(&["new.test"])}))
}

fn new_authorization(_: &AcmeClient, _: &Things, _: &str) -> Option<Value> {
    Some(json!({"identifier": {"type": "dns", "value": "new.test"}}))
}

fn revocation(_: &AcmeClient, things: &Things, _: &str) -> Option<Value> {
    Some(json!({"certificate": base64url::encode(&things.certificate), "reason": 4}))
}

fn csr(_: &AcmeClient, _: &Things, _: &str) -> Option<Value> {
    Some(json!({"csr": csr_der(&[NAME])}))
}

/// The inner request names the account of the things, and the key of whoever sends it.
fn key_change(client: &AcmeClient, things: &Things, url: &str) -> Option<Value> {
    let new = SigningKey::generate().unwrap();
    let mut header = Map::new();
    header.insert("jwk".to_owned(), new.public().to_value());
    header.insert("url".to_owned(), url.into());
    let account = format!("{ACME_URL}/acme/account/{}", things.of(Kind::Account));
    let payload = json!({"account": account, "oldKey": client.key.public().to_value()}).to_string();
    Some(jws::sign_flattened(header, payload.as_bytes(), &new).unwrap())
}

impl Operation {
    /// Where it is asked for: about one of these things, or at a profile.
    pub(crate) fn url(&self, things: &Things, profile: &str) -> String {
        let first = self.names.map_or(profile, |kind| things.of(kind));
        let path = self.path.replace("{profile}", first).replace("{id}", first).replace("{chain}", "1");
        format!("{ACME_URL}{path}")
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "POST {} ({})", self.path, self.what)
    }
}
