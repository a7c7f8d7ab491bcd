//! Rows written directly to the database: as long as a reseller can have them, and more than one page of 4 MiB of each.

use std::time::Duration;

use chancery_domain::OrderId;
use chancery_tests::{LongThings, Tenant, World, lookup};

/// Groups with long names and descriptions.
pub(crate) const GROUPS: usize = 600;
/// Policies, each assigned to many of the groups.
pub(crate) const POLICIES: usize = 20;
const GROUPS_OF_A_POLICY: usize = 250;
/// Accounts with the most metadata, all in one group.
const ACCOUNTS: usize = 150;
/// Members of another group.
const MEMBERS: usize = 400;
/// Orders of 100 long names without authorizations.
const ORDERS: usize = 180;
/// Orders whose authorizations have recorded as many failed attempts as they may.
const ATTEMPTED_ORDERS: usize = 12;
/// Open orders of one name.
const SHORT_ORDERS: usize = 600;
/// Audit records of refused orders, 8 KiB each.
pub(crate) const REFUSALS: usize = 620;

/// What is longest of each kind.
pub(crate) struct Long {
    /// Its members have the most metadata.
    pub(crate) group: String,
    /// It has the most members.
    pub(crate) large_group: String,
    pub(crate) policy: String,
    pub(crate) order: String,
}

impl Long {
    /// Texts consist of `letter`; orders belong to the account `busy`.
    pub(crate) async fn make(world: &World, tenant: &Tenant, busy: &str, letter: &'static str) -> Self {
        let reseller = world.reseller_id(&tenant.code).await;
        let of = move |seed| LongThings::of(reseller, seed, letter);
        let groups = world.store.write(move |tx| of(101).groups(tx, GROUPS)).await.unwrap();
        let (first, large_group) = (groups[0].clone(), groups[1].id);
        let group = first.id;
        world.store.write(move |tx| of(102).accounts(tx, &first, ACCOUNTS)).await.unwrap();
        world.fill_group(reseller, large_group, MEMBERS).await;
        let mut policies = Vec::new();
        for seed in (201..).take(POLICIES) {
            let groups = groups[..GROUPS_OF_A_POLICY].to_vec();
            policies.extend(world.store.write(move |tx| of(seed).policies(tx, &groups, 1)).await.unwrap());
        }
        let like: OrderId = lookup(&tenant.make_order(busy, &["copied.test"]).await).parse().unwrap();
        world.copy_order(like, SHORT_ORDERS).await;
        world.store.write(move |tx| of(103).orders(tx, like, ORDERS, false)).await.unwrap();
        let orders = world.store.write(move |tx| of(104).orders(tx, like, ATTEMPTED_ORDERS, true)).await.unwrap();
        // The newest records, so that a page has them all.
        world.advance(Duration::from_secs(1));
        let (account, now) = (busy.to_owned(), world.services.now());
        world.store.write(move |tx| of(105).refusals(tx, &account, now, REFUSALS)).await.unwrap();
        Self {
            group: group.to_string(),
            large_group: large_group.to_string(),
            policy: policies[0].to_string(),
            order: orders[0].to_string(),
        }
    }
}
