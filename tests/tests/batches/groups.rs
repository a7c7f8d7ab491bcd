//! Groups with very many members, and policies of very many groups.

use chancery_domain::{GroupId, PolicyId};
use chancery_store::Tx;
use chancery_testkit::Builders;
use chancery_tests::{World, csr, lookup, on_both_databases};
use serde_json::json;

use crate::common::{cascades, finish, small_transactions};

/// More than are reached while the caller waits: twenty batches of a hundred.
const MANY: usize = 2_300;

async fn rows(world: &World, count: impl Fn(&mut Tx<'_>) -> u64 + Clone + Send + 'static) -> u64 {
    let undone = move |tx: &mut Tx<'_>| Err::<(), _>(Counted(count(tx)));
    world.store.write(undone).await.unwrap_err().0
}

/// Carries a count out of a unit of work that is not kept.
struct Counted(u64);

impl From<chancery_store::StoreError> for Counted {
    fn from(error: chancery_store::StoreError) -> Self {
        panic!("{error}")
    }
}

/// Memberships of a group, whether it is there or not.
async fn members(world: &World, group: GroupId) -> u64 {
    rows(world, move |tx| tx.delete_members(group, 100_000).unwrap()).await
}

async fn assignments(world: &World, policy: PolicyId) -> u64 {
    rows(world, move |tx| tx.delete_assignments(policy, 100_000).unwrap()).await
}

on_both_databases! {
    async fn a_group_is_deleted_at_once_and_its_memberships_in_batches(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("group").await;
        let policy = tenant.make_policy("nothing", json!({"issuance_enabled": false})).await;
        tenant.assign(&group, &policy).await.expect(200);
        let account = lookup(&tenant.make_account("a@example.com").await);
        let id: GroupId = group.parse().unwrap();
        world.fill_group(world.reseller_id("DEMO").await, id, MANY).await;
        tenant.add_members(&group, std::slice::from_ref(&account)).await.expect(200);
        let order = json!({"account_lookup": account, "csr": csr(&["a.test"])});
        assert_eq!(tenant.post("/v1/order", order.clone()).await.refusal(400), "policy_violation");
        world.store.take_write_peaks();
        tenant.delete(&format!("/v1/account-group/{group}")).await.expect(200);
        small_transactions(&world);
        assert_eq!(cascades(&world).await, 1);
        let left = members(&world, id).await;
        assert!((1..MANY as u64).contains(&left), "{left} memberships are left");
        // It is gone for everybody, the policy with it, and its name is free.
        assert_eq!(tenant.get(&format!("/v1/account-group/{group}")).await.status, 404);
        assert_eq!(tenant.get(&format!("/v1/account-group/{group}/member")).await.status, 404);
        assert_eq!(tenant.add_members(&group, std::slice::from_ref(&account)).await.status, 404);
        assert_eq!(tenant.get(&format!("/v1/account/{account}")).await.expect(200)["groups"], json!([]));
        assert_eq!(tenant.get("/v1/account-group").await.expect(200)["items"], json!([]));
        let usage = tenant.get("/v1/usage?by=group").await;
        assert!(!usage.text().contains(&group), "{}", usage.text());
        tenant.post("/v1/order", order).await.expect(201);
        tenant.make_group("group").await;
        finish(&world).await;
        small_transactions(&world);
        assert_eq!(members(&world, id).await, 0);
    }

    async fn a_group_with_a_hundred_policies_is_deleted_in_one_small_transaction(world: World) {
        let tenant = world.tenant("DEMO").await;
        let group = tenant.make_group("group").await;
        for number in 0..100 {
            let policy = tenant.make_policy(&format!("p{number}"), json!({})).await;
            tenant.assign(&group, &policy).await.expect(200);
        }
        world.store.take_write_peaks();
        tenant.delete(&format!("/v1/account-group/{group}")).await.expect(200);
        small_transactions(&world);
        assert_eq!(tenant.get("/v1/policy?limit=1000").await.expect(200)["items"].as_array().unwrap().len(), 100);
    }

    async fn a_policy_is_deleted_at_once_and_taken_off_its_groups_in_batches(world: World) {
        let tenant = world.tenant("DEMO").await;
        let policy = tenant.make_policy("nothing", json!({"issuance_enabled": false})).await;
        let group = tenant.make_group("group").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        tenant.add_members(&group, std::slice::from_ref(&account)).await.expect(200);
        tenant.assign(&group, &policy).await.expect(200);
        let (code, id, make) = (tenant.code.clone(), policy.parse::<PolicyId>().unwrap(), Builders::seeded(97));
        let put = move |tx: &mut Tx<'_>| {
            let reseller = tx.reseller_by_code(&code)?.unwrap().id;
            for _ in 0..MANY {
                let group = make.group(reseller);
                assert!(tx.insert_group(&group)? && tx.assign_policy(group.id, id, make.now())?);
            }
            Ok::<_, chancery_store::StoreError>(())
        };
        world.store.write(put).await.unwrap();
        world.store.take_write_peaks();
        tenant.delete(&format!("/v1/policy/{policy}")).await.expect(200);
        small_transactions(&world);
        assert_eq!(cascades(&world).await, 1);
        let left = assignments(&world, id).await;
        assert!((1..MANY as u64).contains(&left), "{left} assignments are left");
        assert_eq!(tenant.get(&format!("/v1/policy/{policy}")).await.status, 404);
        assert_eq!(tenant.get(&format!("/v1/account-group/{group}")).await.expect(200)["policies"], json!([]));
        let listed = tenant.get("/v1/account-group?limit=1000").await.expect(200);
        assert!(listed["items"].as_array().unwrap().iter().all(|group| group["policies"] == json!([])));
        tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr(&["a.test"])})).await.expect(201);
        tenant.make_policy("nothing", json!({})).await;
        finish(&world).await;
        small_transactions(&world);
        assert_eq!(assignments(&world, id).await, 0);
    }
}
