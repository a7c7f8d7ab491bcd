//! Orders and certificates to begin a test with, made through the interface as a reseller makes them.

use chancery_domain::{ProblemKind, ValidationProblem};
use chancery_service::{Report, Services};
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

    /// The lookup of a pause: validations of the name fail as often as it takes.
    pub async fn pause(&self, tenant: &Tenant, account: &str, name: &str) -> String {
        for _ in 0..self.services.settings.limits.caps.failures_to_pause {
            self.fail(tenant, account, name).await;
        }
        let pauses = tenant.get("/v1/pause").await.expect(200);
        let found = pauses["items"].as_array().expect("a list").iter().find(|pause| pause["name"] == name);
        lookup(found.expect("a pause"))
    }

    /// An order for a name whose validation has failed.
    pub async fn fail(&self, tenant: &Tenant, account: &str, name: &str) -> Value {
        let order = tenant.make_order(account, &[name]).await;
        fail_all(&self.services, tenant, &order).await;
        order
    }
}

/// Has the validations of an order fail, at the node with these services.
pub async fn fail_all(services: &Services, tenant: &Tenant, order: &Value) {
    for authorization in order["authorizations"].as_array().expect("a list") {
        let challenge = lookup(&tenant.codes(&lookup(authorization)).await[0]);
        tenant.post_empty(&format!("/v1/challenge/{challenge}")).await.expect(200);
        let problem = ValidationProblem { kind: ProblemKind::Connection, detail: "nobody answers".to_owned() };
        let report = Report::new(Err(problem));
        let challenge = challenge.parse().expect("a lookup");
        services.validations.conclude(challenge, report).await.expect("a conclusion");
    }
}
