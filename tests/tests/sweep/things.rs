//! One thing of each kind, to ask for.

use std::collections::BTreeMap;

use chancery_tests::{Tenant, World, lookup};
use serde_json::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Account,
    Credential,
    Group,
    SecondGroup,
    Policy,
    /// One that waits for its authorization.
    Order,
    ReadyOrder,
    IssuedOrder,
    Authorization,
    Challenge,
    Certificate,
    Event,
    Webhook,
    Delivery,
    Pause,
}

impl Kind {
    /// A name of this kind that nothing has.
    fn nowhere(self) -> &'static str {
        match self {
            Self::Account => "acc_00000000000000000000000000",
            Self::Credential => "00000000-0000-4000-8000-000000000000",
            Self::Group => "grp_00000000000000000000000000",
            Self::SecondGroup => "grp_00000000000000000000000001",
            Self::Policy => "pol_00000000000000000000000000",
            Self::Order => "ord_00000000000000000000000000",
            Self::ReadyOrder => "ord_00000000000000000000000001",
            Self::IssuedOrder => "ord_00000000000000000000000002",
            Self::Authorization => "authz_00000000000000000000000000",
            Self::Challenge => "chal_00000000000000000000000000",
            Self::Certificate => "cert_00000000000000000000000000",
            Self::Event => "evt_00000000000000000000000000",
            Self::Webhook => "whk_00000000000000000000000000",
            Self::Delivery => "dlv_00000000000000000000000000",
            Self::Pause => "pau_00000000000000000000000000",
        }
    }

    const ALL: [Self; 15] = [
        Self::Account,
        Self::Credential,
        Self::Group,
        Self::SecondGroup,
        Self::Policy,
        Self::Order,
        Self::ReadyOrder,
        Self::IssuedOrder,
        Self::Authorization,
        Self::Challenge,
        Self::Certificate,
        Self::Event,
        Self::Webhook,
        Self::Delivery,
        Self::Pause,
    ];
}

/// Somebody's things, by kind.
pub(crate) struct Things(BTreeMap<Kind, String>);

impl Things {
    /// An account with a further credential, in a group with a policy; a second group; and an order at each stage.
    pub(crate) async fn make(world: &World, owner: &Tenant) -> Self {
        let account = lookup(&owner.make_account("customer@example.com").await);
        let path = format!("/v1/account/{account}/eab-credential");
        let credential = owner.post_empty(&path).await.expect(201)["kid"].as_str().unwrap().to_owned();
        let (group, second) = (owner.make_group("Group").await, owner.make_group("Second group").await);
        let policy = owner.make_policy("Policy", json!({"max_names": 5})).await;
        owner.add_members(&group, std::slice::from_ref(&account)).await.expect(200);
        owner.assign(&group, &policy).await.expect(200);
        let issued = world.issue(owner, &account, &["issued.test"]).await;
        let ready = world.make_ready(owner, &account, &["ready.test"]).await;
        let order = owner.make_order(&account, &["open.test"]).await;
        let authorization = lookup(&order["authorizations"][0]);
        let challenge = lookup(&owner.codes(&authorization).await[0]);
        let webhook = owner.post("/v1/webhook", json!({"url": "https://hooks.example.com/"})).await.expect(201);
        let webhook = lookup(&webhook);
        let delivery = lookup(&owner.post_empty(&format!("/v1/webhook/{webhook}/test")).await.expect(202));
        let events = owner.get("/v1/event?limit=1").await.expect(200);
        let pause = world.pause(owner, &account, "paused.test").await;
        Self(BTreeMap::from([
            (Kind::Pause, pause),
            (Kind::Webhook, webhook),
            (Kind::Delivery, delivery),
            (Kind::Event, events["items"][0]["id"].as_str().unwrap().to_owned()),
            (Kind::Order, lookup(&order)),
            (Kind::ReadyOrder, lookup(&ready)),
            (Kind::IssuedOrder, lookup(&issued)),
            (Kind::Authorization, authorization),
            (Kind::Challenge, challenge),
            (Kind::Certificate, issued["certificateLookup"].as_str().unwrap().to_owned()),
            (Kind::Account, account),
            (Kind::Credential, credential),
            (Kind::Group, group),
            (Kind::SecondGroup, second),
            (Kind::Policy, policy),
        ]))
    }

    /// Things that nobody has.
    pub(crate) fn nowhere() -> Self {
        Self(Kind::ALL.map(|kind| (kind, kind.nowhere().to_owned())).into())
    }

    pub(crate) fn of(&self, kind: Kind) -> &str {
        &self.0[&kind]
    }

    /// A text with every name of these things blotted out.
    pub(crate) fn blot(&self, text: &str) -> String {
        self.0.values().fold(text.to_owned(), |text, name| text.replace(name.as_str(), "■"))
    }
}
