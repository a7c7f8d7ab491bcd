//! Expensive operations with the largest permitted input, against a store filled to the caps.

use chancery_client::Client;
use chancery_domain::Identifier;
use chancery_pki::{KeyAlgorithm, PrivateKey, make_request};
use data_encoding::BASE64;
use http::Method;
use serde_json::{Value, json};

/// Policies, which together have close to 2 MiB of rules.
const POLICIES: usize = 1000;
const GROUPS: usize = 200;
const NAMES: usize = 100;
const ORDERS: usize = 50;

/// What the attacks refer to.
pub(crate) struct Stage {
    /// Subject to all policies, which refuse every name.
    restricted: String,
    /// Without policies, with many open orders.
    busy: String,
    group: String,
    members: Vec<String>,
    names: Vec<String>,
    csr: String,
}

#[derive(Clone, Copy)]
pub(crate) enum Attack {
    Evaluate,
    RefusedOrder,
    AcceptedOrder,
    ValidateCsr,
    Diagnose,
    ListPolicies,
    ListGroups,
    ListOrders,
    ListEvents,
    Members,
    Usage,
}

impl Attack {
    pub(crate) const ALL: [Self; 11] = [
        Self::Evaluate,
        Self::RefusedOrder,
        Self::AcceptedOrder,
        Self::ValidateCsr,
        Self::Diagnose,
        Self::ListPolicies,
        Self::ListGroups,
        Self::ListOrders,
        Self::ListEvents,
        Self::Members,
        Self::Usage,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Evaluate => "evaluate 100 names against 1,000 policies",
            Self::RefusedOrder => "order refused by 1,000 policies",
            Self::AcceptedOrder => "accepted order of 100 names",
            Self::ValidateCsr => "validate a CSR of 100 names",
            Self::Diagnose => "diagnose 10 names",
            Self::ListPolicies => "list 1,000 policies",
            Self::ListGroups => "list groups with long descriptions",
            Self::ListOrders => "list orders of 100 names",
            Self::ListEvents => "list events",
            Self::Members => "add and remove members",
            Self::Usage => "usage by everything",
        }
    }

    /// Sends it once; what becomes of it does not matter.
    pub(crate) async fn send(self, client: &Client, stage: &Stage) {
        let order = |account: &str| json!({"account_lookup": account, "csr": stage.csr});
        let (method, path, body) = match self {
            Self::Evaluate => {
                let body = json!({"account_lookup": stage.restricted, "identifiers": stage.names});
                (Method::POST, "/v1/policy/evaluate".to_owned(), Some(body))
            }
            Self::RefusedOrder => (Method::POST, "/v1/order".to_owned(), Some(order(&stage.restricted))),
            Self::AcceptedOrder => (Method::POST, "/v1/order".to_owned(), Some(order(&stage.busy))),
            Self::ValidateCsr => (Method::POST, "/v1/validate-csr".to_owned(), Some(order(&stage.restricted))),
            Self::Diagnose => {
                let body = json!({"account_lookup": stage.restricted, "identifiers": stage.names[..10]});
                (Method::POST, "/v1/diagnose".to_owned(), Some(body))
            }
            Self::ListPolicies => (Method::GET, "/v1/policy?limit=1000".to_owned(), None),
            Self::ListGroups => (Method::GET, "/v1/account-group?limit=1000".to_owned(), None),
            Self::ListOrders => (Method::GET, "/v1/order?limit=1000".to_owned(), None),
            Self::ListEvents => (Method::GET, "/v1/event?limit=1000".to_owned(), None),
            Self::Members => {
                let path = format!("/v1/account-group/{}/member", stage.group);
                let body = json!({"accounts": stage.members});
                let _ = client.request(Method::DELETE, path.clone(), Some(body.clone())).await;
                (Method::POST, path, Some(body))
            }
            Self::Usage => (Method::GET, "/v1/usage?by=day,account,group,profile".to_owned(), None),
        };
        let _ = client.request(method, path, body).await;
    }
}

impl Stage {
    pub(crate) async fn fill(client: &Client) -> Self {
        let label = "a".repeat(60);
        let names: Vec<_> = (0..NAMES).map(|number| format!("n{number}.{label}.{label}.test")).collect();
        let mut policies = Vec::new();
        for number in 0..POLICIES {
            let denied: Vec<_> = (0..40).map(|pattern| format!("*.p{number}-{pattern}.denied.example.com")).collect();
            let policy = json!({
                "name": format!("policy {number}"), "denied_domains": denied, "allowed_domains": ["never.example"],
            });
            policies.push(lookup(&post(client, "/v1/policy", policy).await));
        }
        let mut groups = Vec::new();
        for number in 0..GROUPS {
            let group = json!({"name": format!("group {number}"), "description": "d".repeat(2000)});
            groups.push(lookup(&post(client, "/v1/account-group", group).await));
        }
        let account =
            async |email: String| lookup(&post(client, "/v1/account", json!({"customer_email": email})).await);
        let restricted = account("restricted@example.com".to_owned()).await;
        let busy = account("busy@example.com".to_owned()).await;
        let mut members = Vec::new();
        for number in 0..1000 {
            members.push(account(format!("member-{number}@example.com")).await);
        }
        for (group, policies) in groups.iter().zip(policies.chunks(100)) {
            for policy in policies {
                let path = format!("/v1/account-group/{group}/policy/{policy}");
                client.request(Method::POST, path, None).await.unwrap();
            }
            let path = format!("/v1/account-group/{group}/member");
            post(client, &path, json!({"accounts": [restricted]})).await;
        }
        let csr = csr(&names);
        for _ in 0..ORDERS {
            post(client, "/v1/order", json!({"account_lookup": busy, "csr": csr})).await;
        }
        Self { restricted, busy, group: groups[GROUPS - 1].clone(), members, names, csr }
    }
}

async fn post(client: &Client, path: &str, body: Value) -> Value {
    let response = client.request(Method::POST, path, Some(body)).await.unwrap();
    let body = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
    assert!(response.status.is_success(), "{path}: {} {body}", response.status);
    body
}

fn lookup(resource: &Value) -> String {
    resource["lookup"].as_str().unwrap().to_owned()
}

fn csr(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| Identifier::parse(name).unwrap()).collect();
    let key = PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
    BASE64.encode(&make_request(&key, &names).unwrap())
}
