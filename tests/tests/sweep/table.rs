//! Every operation of the reseller API: who may ask for it, and how. A new operation gets a line here; a new kind of
//! thing gets a [`Kind`], and a line in `things.rs` that makes one.

use std::sync::LazyLock;

use chancery_domain::Scope::{
    self, ReadAccount, ReadAuthorization, ReadCertificate, ReadChallenge, ReadOrder, WriteAccount, WriteAuthorization,
    WriteCertificate, WriteChallenge, WriteOrder,
};
use chancery_tests::csr;
use http::Method;
use serde_json::{Value, json};

use crate::things::{Kind, Things};

/// One operation of the document.
pub(crate) struct Operation {
    pub(crate) method: Method,
    /// As in the document.
    pub(crate) path: &'static str,
    /// Needed beside `reseller`.
    pub(crate) scope: Scope,
    /// What the parameters of the path name, from left to right.
    pub(crate) names: &'static [Kind],
    pub(crate) body: Body,
    /// What it answers where nothing is wrong.
    pub(crate) success: u16,
}

/// A body that is in order, for one who has these things.
pub(crate) enum Body {
    None,
    Plain(Value),
    /// One that names things itself: then they must be the caller's too.
    Naming(fn(&Things) -> Value),
}

/// Operations that anybody may ask for, with or without a token.
pub(crate) const OPEN: &[(&str, &str)] = &[
    ("GET", "/v1/version"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/docs/docs.js"),
    ("GET", "/docs/docs.css"),
    ("POST", "/oauth/token"),
    ("GET", "/.well-known/jwks.json"),
    ("GET", "/.well-known/oauth-authorization-server"),
];

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        operation(Method::GET, "/v1/policy", ReadAccount, &[], Body::None, 200),
        operation(Method::POST, "/v1/policy", WriteAccount, &[], named(), 200),
        operation(Method::GET, "/v1/policy/{lookup}", ReadAccount, &[Kind::Policy], Body::None, 200),
        operation(Method::PUT, "/v1/policy/{lookup}", WriteAccount, &[Kind::Policy], named(), 200),
        operation(Method::DELETE, "/v1/policy/{lookup}", WriteAccount, &[Kind::Policy], Body::None, 200),
        operation(Method::POST, "/v1/policy/evaluate", ReadAccount, &[], Body::Naming(evaluation), 200),
        operation(Method::GET, "/v1/account-group", ReadAccount, &[], Body::None, 200),
        operation(Method::POST, "/v1/account-group", WriteAccount, &[], named(), 200),
        operation(Method::GET, "/v1/account-group/{group_lookup}", ReadAccount, &[Kind::Group], Body::None, 200),
        operation(Method::PUT, "/v1/account-group/{group_lookup}", WriteAccount, &[Kind::Group], named(), 200),
        operation(Method::DELETE, "/v1/account-group/{group_lookup}", WriteAccount, &[Kind::Group], Body::None, 200),
        operation(Method::POST, ASSIGNMENT, WriteAccount, &[Kind::Group, Kind::Policy], Body::None, 200),
        operation(Method::DELETE, ASSIGNMENT, WriteAccount, &[Kind::Group, Kind::Policy], Body::None, 200),
        operation(Method::GET, MEMBERS, ReadAccount, &[Kind::Group], Body::None, 200),
        operation(Method::POST, MEMBERS, WriteAccount, &[Kind::Group], Body::Naming(members), 200),
        operation(Method::DELETE, MEMBERS, WriteAccount, &[Kind::Group], Body::Naming(members), 200),
        operation(Method::PATCH, MOVE, WriteAccount, &[Kind::Group, Kind::SecondGroup], Body::Naming(members), 200),
        operation(Method::GET, "/v1/account", ReadAccount, &[], Body::None, 200),
        operation(Method::POST, "/v1/account", WriteAccount, &[], Body::Naming(account), 201),
        operation(Method::GET, "/v1/account/{lookup}", ReadAccount, &[Kind::Account], Body::None, 200),
        operation(Method::DELETE, "/v1/account/{lookup}", WriteAccount, &[Kind::Account], Body::None, 200),
        operation(
            Method::PATCH,
            "/v1/account/{lookup}",
            WriteAccount,
            &[Kind::Account],
            Body::Plain(json!({"suspended": true})),
            200,
        ),
        operation(Method::GET, "/v1/account/{lookup}/eab-credential", ReadAccount, &[Kind::Account], Body::None, 200),
        operation(Method::POST, "/v1/account/{lookup}/eab-credential", WriteAccount, &[Kind::Account], Body::None, 201),
        operation(Method::GET, "/v1/eab-credential", ReadAccount, &[], Body::None, 200),
        operation(Method::GET, "/v1/eab-credential/{kid}", ReadAccount, &[Kind::Credential], Body::None, 200),
        operation(Method::DELETE, "/v1/eab-credential/{kid}", WriteAccount, &[Kind::Credential], Body::None, 200),
        operation(Method::GET, "/v1/pause", ReadOrder, &[], Body::None, 200),
        operation(Method::DELETE, "/v1/pause/{lookup}", WriteOrder, &[Kind::Pause], Body::None, 200),
        operation(Method::GET, "/v1/usage", ReadCertificate, &[], Body::None, 200),
        operation(Method::POST, "/v1/diagnose", ReadCertificate, &[], Body::Naming(diagnosis), 200),
        operation(Method::GET, "/v1/limits", ReadAccount, &[], Body::None, 200),
        operation(Method::GET, "/v1/order", ReadOrder, &[], Body::None, 200),
        operation(Method::POST, "/v1/order", WriteOrder, &[], Body::Naming(order), 201),
        operation(Method::GET, ORDER, ReadOrder, &[Kind::Order], Body::None, 200),
        operation(Method::DELETE, ORDER, WriteOrder, &[Kind::Order], Body::None, 200),
        operation(Method::POST, "/v1/order/{order_lookup}/finalize", WriteOrder, &[Kind::ReadyOrder], Body::None, 202),
        operation(Method::GET, "/v1/authz/{auth_lookup}", ReadAuthorization, &[Kind::Authorization], Body::None, 200),
        operation(Method::POST, CODES, WriteAuthorization, &[Kind::Authorization], Body::None, 200),
        operation(Method::GET, CHALLENGE, ReadChallenge, &[Kind::Challenge], Body::None, 200),
        operation(Method::POST, CHALLENGE, WriteChallenge, &[Kind::Challenge], Body::None, 200),
        operation(Method::DELETE, CHALLENGE, WriteChallenge, &[Kind::Challenge], Body::None, 200),
        operation(Method::POST, "/v1/validate-csr", ReadCertificate, &[], Body::Naming(order), 200),
        operation(Method::GET, "/v1/certificates", ReadCertificate, &[], Body::None, 200),
        operation(Method::POST, REVOCATION, WriteCertificate, &[Kind::IssuedOrder], Body::Plain(json!({})), 202),
        operation(Method::GET, DOWNLOAD, ReadCertificate, &[Kind::Certificate], Body::None, 200),
        operation(Method::GET, BARE_DOWNLOAD, ReadCertificate, &[Kind::Certificate], Body::None, 200),
    ]
}

fn operation(
    method: Method,
    path: &'static str,
    scope: Scope,
    names: &'static [Kind],
    body: Body,
    success: u16,
) -> Operation {
    Operation { method, path, scope, names, body, success }
}

const ASSIGNMENT: &str = "/v1/account-group/{group_lookup}/policy/{policy_lookup}";
const MEMBERS: &str = "/v1/account-group/{group_lookup}/member";
const MOVE: &str = "/v1/account-group/{origin_group_lookup}/{destination_group_lookup}/member";

const ORDER: &str = "/v1/order/{order_lookup}";
const CODES: &str = "/v1/authz/{auth_lookup}/challenges";
const CHALLENGE: &str = "/v1/challenge/{challenge_lookup}";
const REVOCATION: &str = "/v1/certificates/{order_lookup}/revocation";
const DOWNLOAD: &str = "/v1/certificate/{certificate_lookup}";
const BARE_DOWNLOAD: &str = "/certificate/{certificate_lookup}";

/// The same each time: it is sent again and again.
fn order(things: &Things) -> Value {
    static CSR: LazyLock<String> = LazyLock::new(|| csr(&["new.test"]));
    json!({"account_lookup": things.of(Kind::Account), "csr": *CSR})
}

fn named() -> Body {
    Body::Plain(json!({"name": "Another name"}))
}

fn evaluation(things: &Things) -> Value {
    json!({"account_lookup": things.of(Kind::Account), "identifiers": ["www.example.com"]})
}

fn diagnosis(things: &Things) -> Value {
    json!({"account_lookup": things.of(Kind::Account), "identifiers": ["www.example.com"]})
}

fn members(things: &Things) -> Value {
    json!({"accounts": [things.of(Kind::Account)]})
}

fn account(things: &Things) -> Value {
    json!({"customer_email": "another@example.com", "account_groups": [things.of(Kind::Group)]})
}

impl Operation {
    /// The path, with things for its parameters.
    pub(crate) fn path_to(&self, things: &[String]) -> String {
        let mut things = things.iter();
        let part = |part: &str| match part.starts_with('{') {
            true => things.next().unwrap_or_else(|| panic!("{self}: a parameter without a thing")).clone(),
            false => part.to_owned(),
        };
        let path: Vec<_> = self.path.split('/').map(part).collect();
        assert!(things.next().is_none(), "{self}: a thing without a parameter");
        path.join("/")
    }

    /// The things that the path names, out of these.
    pub(crate) fn named(&self, things: &Things) -> Vec<String> {
        self.names.iter().map(|kind| things.of(*kind).to_owned()).collect()
    }

    pub(crate) fn sample(&self, things: &Things) -> Option<Value> {
        match &self.body {
            Body::None => None,
            Body::Plain(body) => Some(body.clone()),
            Body::Naming(body) => Some(body(things)),
        }
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}
