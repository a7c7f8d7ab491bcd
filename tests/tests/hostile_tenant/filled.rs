//! A store that one reseller has filled to its caps.

use chancery_overload::Caps;
use chancery_service::Settings;
use chancery_testkit::TestStore;
use chancery_tests::{AcmeClient, Tenant, World, csr, lookup, settings};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::long::{self, Long};
use crate::things::{Kind, Things};

/// How much the store is filled.
pub(crate) struct Size {
    /// Policies of the reseller.
    policies: usize,
    /// Account groups, with the longest description.
    groups: usize,
    /// Members of one group.
    members: usize,
    /// Open orders with the most names.
    orders: usize,
    /// Account groups with a short name and no description.
    short_groups: usize,
    /// What long rows consist of; there are none without it.
    letter: Option<&'static str>,
}

impl Size {
    /// With their rules, the policies come close to 2 MiB.
    pub(crate) const CAPS: Self =
        Self { policies: 1000, groups: 200, members: 300, orders: 20, short_groups: 0, letter: None };
    /// With more than a page of long rows in every list, and nearly 10,000 groups. In JSON a letter has at most four bytes.
    pub(crate) const PAGES: Self =
        Self { policies: 1000 - long::POLICIES, short_groups: 9190, letter: Some("😀"), ..Self::CAPS };
    /// Long rows for the console: in HTML a quotation mark has six bytes.
    pub(crate) const CONSOLE: Self = Self { letter: Some("\""), ..Self::SMALL };
    /// One of each, for tests of the tables alone.
    pub(crate) const SMALL: Self =
        Self { policies: 2, groups: 3, members: 1, orders: 1, short_groups: 0, letter: None };
}

/// Names of an order.
pub(crate) const NAMES: usize = 100;
/// Requests in flight while filling.
const AT_ONCE: usize = 50;

pub(crate) struct Filled {
    pub(crate) world: World,
    pub(crate) tenant: Tenant,
    pub(crate) things: Things,
    /// Its policies refuse every name of an order, each of them.
    pub(crate) restricted: String,
    /// Its orders are open and have the most names.
    pub(crate) busy: String,
    /// The EAB credential of the busy account.
    pub(crate) credential: Value,
    /// A group with many members, and their accounts.
    pub(crate) crowd: String,
    pub(crate) members: Vec<String>,
    /// A group without members.
    pub(crate) empty: String,
    /// A CSR with the most names, and the names.
    pub(crate) csr: String,
    pub(crate) names: Vec<String>,
    /// An open order of the busy account.
    pub(crate) order: Value,
    pub(crate) long: Long,
}

/// Names near the longest that DNS and certificates have.
pub(crate) fn long_names(stem: &str) -> Vec<String> {
    let label = "a".repeat(60);
    (0..NAMES).map(|number| format!("{stem}-{number}.{label}.{label}.test")).collect()
}

fn capped() -> Settings {
    let mut settings = settings();
    settings.limits.caps = Caps { failures_to_pause: 3, ..Caps::default() };
    settings
}

/// The same on both databases.
pub(crate) async fn worlds() -> Vec<World> {
    let mut worlds = vec![World::over(TestStore::sqlite(), capped(), Vec::new()).await];
    if let Some(store) = TestStore::postgres() {
        worlds.push(World::over(store, capped(), Vec::new()).await);
    }
    worlds
}

/// Sends the same kind of request many times, some at once.
async fn repeat<F: Future<Output = Value>>(count: usize, request: impl Fn(usize) -> F) -> Vec<Value> {
    let mut all = Vec::with_capacity(count);
    for first in (0..count).step_by(AT_ONCE) {
        all.extend(join_all((first..count.min(first + AT_ONCE)).map(&request)).await);
    }
    all
}

impl Filled {
    pub(crate) async fn new(world: World, size: Size) -> Self {
        let tenant = world.tenant("HOSTILE").await;
        let things = Things::make(&world, &tenant).await;
        let owner = &tenant;
        let policies = repeat(size.policies - 1, |number| async move {
            // About 2 KiB of rules each: 2 MiB for all of them.
            let denied: Vec<_> = (0..40).map(|pattern| format!("*.p{number}-{pattern}.denied.example.com")).collect();
            let rules = json!({
                "name": format!("policy {number}"), "denied_domains": denied, "allowed_domains": ["never.example"],
                "allowed_profiles": ["TLS-199d"], "allow_wildcards": false,
            });
            owner.post("/v1/policy", rules).await.expect(200)
        })
        .await;
        let groups = repeat(size.groups, |number| async move {
            let group = json!({"name": format!("group {number}"), "description": "d".repeat(2000)});
            owner.post("/v1/account-group", group).await.expect(200)
        })
        .await;
        let groups: Vec<_> = groups.iter().map(lookup).collect();
        let restricted = lookup(&owner.make_account("restricted@example.com").await);
        let busy = owner.make_account("busy@example.com").await;
        let members: Vec<_> = repeat(size.members, |number| async move {
            let email = format!("{}-{number}@example.com", "m".repeat(50));
            owner.make_account(&email).await
        })
        .await
        .iter()
        .map(lookup)
        .collect();
        for (group, policies) in groups.iter().zip(policies.chunks(100)) {
            repeat(
                policies.len(),
                |index| async move { owner.assign(group, &lookup(&policies[index])).await.expect(200) },
            )
            .await;
            owner.add_members(group, std::slice::from_ref(&restricted)).await.expect(200);
        }
        let (crowd, empty) = (groups[size.groups - 1].clone(), groups[size.groups - 2].clone());
        for members in members.chunks(100) {
            owner.add_members(&crowd, members).await.expect(200);
        }
        let names = long_names("order");
        let csr = csr(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let account = lookup(&busy);
        let mut order = Value::Null;
        for number in 0..size.orders {
            let body = json!({"account_lookup": account, "csr": csr, "external_id": format!("order {number}")});
            order = owner.post("/v1/order", body).await.expect(201);
        }
        let long = match size.letter {
            Some(letter) => Long::make(&world, owner, &account, letter).await,
            None => Long {
                group: crowd.clone(),
                large_group: empty.clone(),
                policy: things.of(Kind::Policy).to_owned(),
                order: lookup(&order),
            },
        };
        world.fill_reseller_with_groups(world.reseller_id(&owner.code).await, size.short_groups).await;
        Self {
            tenant: tenant.clone(),
            things,
            restricted,
            busy: account,
            credential: busy,
            crowd,
            members,
            empty,
            csr,
            names,
            order,
            long,
            world,
        }
    }

    /// An ACME account of the busy customer.
    pub(crate) async fn acme_client(&self) -> AcmeClient {
        AcmeClient::registered(&self.world, &self.credential).await
    }
}
