//! One thing of each kind that an ACME account can have.

use std::collections::BTreeMap;

use chancery_tests::{AcmeClient, Tenant, csr, der, lookup};
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Account,
    /// One that waits for its authorization.
    Order,
    ReadyOrder,
    Authorization,
    Challenge,
    Certificate,
}

/// What ready orders are for.
pub(crate) const NAME: &str = "ready.test";

impl Kind {
    const ALL: [Self; 6] =
        [Self::Account, Self::Order, Self::ReadyOrder, Self::Authorization, Self::Challenge, Self::Certificate];

    /// A name of this kind that nothing has.
    fn nowhere(self) -> &'static str {
        match self {
            Self::Account => "acme_00000000000000000000000000",
            Self::Order => "ord_00000000000000000000000000",
            Self::ReadyOrder => "ord_00000000000000000000000001",
            Self::Authorization => "authz_00000000000000000000000000",
            Self::Challenge => "chal_00000000000000000000000000",
            Self::Certificate => "cert_00000000000000000000000000",
        }
    }
}

/// Somebody's things, by kind, and the certificate itself.
pub(crate) struct Things {
    names: BTreeMap<Kind, String>,
    pub(crate) certificate: Vec<u8>,
}

impl Things {
    /// An order at each stage. Workers must be at work.
    pub(crate) async fn make(client: &AcmeClient) -> Self {
        let (_, issued) = client.issue(&["issued.test"]).await;
        let certificate = client.certificate(&issued).await;
        let (ready, order) = client.order(&[NAME]).await;
        client.answer_all(&order).await;
        client.wait_for(&ready, "ready").await;
        let (open, order) = client.order(&["open.test"]).await;
        let authorization = order["authorizations"][0].as_str().unwrap();
        let challenges = client.read(authorization).await.expect(200)["challenges"].clone();
        let names = BTreeMap::from([
            (Kind::Account, last(client.kid.as_deref().unwrap())),
            (Kind::Order, last(&open)),
            (Kind::ReadyOrder, last(&ready)),
            (Kind::Authorization, last(authorization)),
            (Kind::Challenge, last(challenges[0]["url"].as_str().unwrap())),
            (Kind::Certificate, last(issued["certificate"].as_str().unwrap())),
        ]);
        Self { names, certificate }
    }

    /// What the reseller ordered for the same customer, with no ACME account. Workers must be at work.
    pub(crate) async fn of_reseller(tenant: &Tenant, account: &str) -> Self {
        let settled = async |order: &str, status: &str| {
            for _ in 0..500 {
                let seen = tenant.show_order(order).await;
                if seen["status"] == status {
                    return seen;
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            panic!("the order is not {status}");
        };
        let ready = async |name: &str| {
            let body = json!({"account_lookup": account, "csr": csr(&[name])});
            let order = tenant.post("/v1/order", body).await.expect(201);
            tenant.choose_all(&order).await;
            settled(&lookup(&order), "ready").await;
            lookup(&order)
        };
        let issued = ready("issued.test").await;
        tenant.post_empty(&format!("/v1/order/{issued}/finalize")).await.expect(202);
        let certificate = settled(&issued, "valid").await["certificateLookup"].as_str().unwrap().to_owned();
        let chain = tenant.get(&format!("/v1/certificate/{certificate}")).await.text();
        let order = tenant.make_order(account, &["open.test"]).await;
        let authorization = lookup(&order["authorizations"][0]);
        let names = BTreeMap::from([
            (Kind::Account, account.to_owned()),
            (Kind::Order, lookup(&order)),
            (Kind::ReadyOrder, ready(NAME).await),
            (Kind::Challenge, lookup(&tenant.codes(&authorization).await[0])),
            (Kind::Authorization, authorization),
            (Kind::Certificate, certificate),
        ]);
        Self { names, certificate: der(&chain) }
    }

    /// Things that nobody has.
    pub(crate) fn nowhere() -> Self {
        Self { names: Kind::ALL.map(|kind| (kind, kind.nowhere().to_owned())).into(), certificate: Vec::new() }
    }

    /// What is not even a name.
    pub(crate) fn nonsense() -> Self {
        Self { names: Kind::ALL.map(|kind| (kind, "nonsense".to_owned())).into(), certificate: Vec::new() }
    }

    pub(crate) fn of(&self, kind: Kind) -> &str {
        &self.names[&kind]
    }
}

fn last(url: &str) -> String {
    url.rsplit('/').next().unwrap().to_owned()
}
