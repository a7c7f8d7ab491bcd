//! Things to begin a test with, made through the interface as a reseller makes them.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::tenant::{Reply, Tenant};

impl Tenant {
    /// A new account, as its creation shows it.
    pub async fn make_account(&self, email: &str) -> Value {
        self.post("/v1/account", json!({"customer_email": email})).await.expect(201)
    }

    /// The lookups of so many new accounts.
    pub async fn make_accounts(&self, count: usize) -> Vec<String> {
        let mut lookups = Vec::with_capacity(count);
        // A hundred at a time share their commits.
        for first in (0..count).step_by(100) {
            let emails = (first..count.min(first + 100)).map(|number| format!("customer-{number}@example.com"));
            let made = join_all(emails.map(|email| async move { self.make_account(&email).await })).await;
            lookups.extend(made.iter().map(lookup));
        }
        lookups
    }

    /// The lookup of a new account group.
    pub async fn make_group(&self, name: &str) -> String {
        lookup(&self.post("/v1/account-group", json!({"name": name})).await.expect(200))
    }

    /// The lookup of a new policy with these rules.
    pub async fn make_policy(&self, name: &str, rules: Value) -> String {
        let mut body = rules;
        body["name"] = name.into();
        lookup(&self.post("/v1/policy", body).await.expect(200))
    }

    /// Puts accounts into a group.
    pub async fn add_members(&self, group: &str, accounts: &[String]) -> Reply {
        self.post(&format!("/v1/account-group/{group}/member"), json!({"accounts": accounts})).await
    }

    /// Assigns a policy to a group.
    pub async fn assign(&self, group: &str, policy: &str) -> Reply {
        self.post_empty(&format!("/v1/account-group/{group}/policy/{policy}")).await
    }
}

/// The `lookup` of a resource.
pub fn lookup(resource: &Value) -> String {
    resource["lookup"].as_str().expect("every resource has a lookup").to_owned()
}
