//! Fills a store up to its caps.

use std::sync::Arc;
use std::time::Instant;

use chancery_domain::{Account, GroupId, OrderId, PolicyId, ResellerId};
use chancery_store::{StoreError, Tx};
use chancery_testkit::Builders;
use chancery_tests::{AcmeClient, Tenant, World, lookup};
use serde_json::json;

/// Rows that are added with one commit.
const AT_A_TIME: usize = 500;

pub(crate) struct Stage<'w> {
    pub(crate) world: &'w World,
    tenant: Tenant,
    reseller: ResellerId,
    make: Arc<Builders>,
}

impl<'w> Stage<'w> {
    pub(crate) async fn new(world: &'w World) -> Self {
        let tenant = world.tenant("DEMO").await;
        let find = |tx: &mut Tx<'_>| tx.reseller_by_code("DEMO");
        let reseller = world.store.read(find).await.unwrap().unwrap().id;
        Self { world, tenant, reseller, make: Arc::new(Builders::seeded(1)) }
    }

    /// A client of ACME, and the URL of an authorization that so many orders depend on.
    pub(crate) async fn dependent_orders(&self, orders: usize, names: usize) -> (AcmeClient, String) {
        let began = Instant::now();
        let client = AcmeClient::registered(self.world, &self.tenant.make_account("acme@example.com").await).await;
        let names = names_of(names);
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let (url, first) = client.order(&names).await;
        client.answer_all(&first).await;
        client.wait_for(&url, "ready").await;
        let (url, ready) = client.order(&names).await;
        assert_eq!(ready["status"], "ready", "{ready}");
        self.world.copy_order(url.rsplit('/').next().unwrap().parse().unwrap(), orders - 1).await;
        filled("orders that depend on an authorization", began);
        (client, first["authorizations"][0].as_str().unwrap().to_owned())
    }

    pub(crate) async fn deactivate(&self, client: &AcmeClient, authorization: &str) {
        client.post(authorization, &json!({"status": "deactivated"})).await.expect(200);
    }

    /// The lookup of an account with so many open orders.
    pub(crate) async fn account_with_orders(&self, orders: usize, names: usize) -> String {
        let began = Instant::now();
        let account = lookup(&self.tenant.make_account("orders@example.com").await);
        let names = names_of(names);
        let order = self.tenant.make_order(&account, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        let order: OrderId = lookup(&order).parse().unwrap();
        self.world.copy_order(order, orders - 1).await;
        filled("orders of an account", began);
        account
    }

    /// The lookup of a group with so many members.
    pub(crate) async fn group_with_members(&self, members: usize) -> String {
        let began = Instant::now();
        let group = self.tenant.make_group("group").await;
        let id: GroupId = group.parse().unwrap();
        for first in (0..members).step_by(AT_A_TIME) {
            let (make, reseller, most) = (self.make.clone(), self.reseller, AT_A_TIME.min(members - first));
            let put = move |tx: &mut Tx<'_>| {
                for _ in 0..most {
                    let account = Account { number: tx.next_account_number()?, ..make.account(reseller) };
                    assert!(tx.insert_account(&account)? && tx.add_member(id, account.id, make.now())?);
                }
                tx.change_member_count(id, most as i64, make.now())
            };
            self.world.store.write(put).await.unwrap();
        }
        filled("members of a group", began);
        group
    }

    /// The lookup of a policy that is assigned to so many groups.
    pub(crate) async fn policy_of_groups(&self, groups: usize) -> String {
        let began = Instant::now();
        let policy = self.tenant.make_policy("policy", json!({})).await;
        let id: PolicyId = policy.parse().unwrap();
        for first in (0..groups).step_by(AT_A_TIME) {
            let (make, reseller, most) = (self.make.clone(), self.reseller, AT_A_TIME.min(groups - first));
            let put = move |tx: &mut Tx<'_>| {
                for _ in 0..most {
                    let group = make.group(reseller);
                    assert!(tx.insert_group(&group)? && tx.assign_policy(group.id, id, make.now())?);
                }
                Ok::<_, StoreError>(())
            };
            self.world.store.write(put).await.unwrap();
        }
        filled("groups of a policy", began);
        policy
    }

    pub(crate) async fn delete(&self, path: String) {
        self.tenant.delete(&path).await.expect(200);
    }
}

fn names_of(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("n{number}.test")).collect()
}

fn filled(what: &str, began: Instant) {
    println!("  added {what} in {:.0} s", began.elapsed().as_secs_f64());
}
