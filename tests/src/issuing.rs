//! Orders and certificates to begin a test with, made through the interface as a reseller makes them.

use serde_json::{Value, json};

use crate::csr::csr;
use crate::making::lookup;
use crate::tenant::Tenant;
use crate::world::World;

impl Tenant {
    /// A new order of an account for these names.
    pub async fn make_order(&self, account: &str, names: &[&str]) -> Value {
        self.post("/v1/order", json!({"account_lookup": account, "csr": csr(names)})).await.expect(201)
    }

    /// The codes of an authorization.
    pub async fn codes(&self, authorization: &str) -> Vec<Value> {
        let codes = self.post_empty(&format!("/v1/authz/{authorization}/challenges")).await.expect(200);
        codes["challenges"].as_array().expect("a list").clone()
    }

    /// Chooses the first challenge of every authorization of an order that is not valid yet.
    pub async fn choose_all(&self, order: &Value) {
        let authorizations = order["authorizations"].as_array().expect("a list");
        for authorization in authorizations.iter().filter(|each| each["status"] == "pending") {
            let codes = self.codes(&lookup(authorization)).await;
            let chosen = self.post_empty(&format!("/v1/challenge/{}", lookup(&codes[0]))).await.expect(200);
            assert_eq!(chosen["status"], "processing");
        }
    }

    pub async fn show_order(&self, order: &str) -> Value {
        self.get(&format!("/v1/order/{order}")).await.expect(200)
    }
}

impl World {
    /// An order whose names are all shown.
    pub async fn make_ready(&self, tenant: &Tenant, account: &str, names: &[&str]) -> Value {
        let order = tenant.make_order(account, names).await;
        tenant.choose_all(&order).await;
        self.work(None).await;
        let order = tenant.show_order(&lookup(&order)).await;
        assert_eq!(order["status"], "ready", "{order}");
        order
    }

    /// An order from which a certificate came.
    pub async fn issue(&self, tenant: &Tenant, account: &str, names: &[&str]) -> Value {
        let order = lookup(&self.make_ready(tenant, account, names).await);
        tenant.post_empty(&format!("/v1/order/{order}/finalize")).await.expect(202);
        self.work(None).await;
        let order = tenant.show_order(&order).await;
        assert_eq!(order["status"], "valid", "{order}");
        order
    }
}
