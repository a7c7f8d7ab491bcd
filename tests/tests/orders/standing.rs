//! Accounts, credentials and resellers that lose their standing while orders are on their way.

use chancery_tests::{Tenant, World, csr, lookup, on_both_databases};
use serde_json::{Value, json};

use crate::common::{
    certificate_path, challenge_paths, days, each, finalize_path, finalized, later, order_path, revocation_path, stage,
    text,
};

async fn suspend(tenant: &Tenant, account: &str, suspended: bool) {
    tenant.patch(&format!("/v1/account/{account}"), json!({"suspended": suspended})).await.expect(200);
}

/// What can go wrong with those an order stands on.
#[derive(Clone, Copy, Debug)]
enum Loss {
    AccountSuspended,
    AccountTerminated,
    CredentialRevoked,
    ResellerSuspended,
}

async fn lose(world: &World, tenant: &Tenant, order: &Value, loss: Loss) {
    let account = text(order, "accountLookup");
    match loss {
        Loss::AccountSuspended => suspend(tenant, &account, true).await,
        Loss::AccountTerminated => drop(tenant.delete(&format!("/v1/account/{account}")).await.expect(200)),
        Loss::CredentialRevoked => {
            tenant.delete(&format!("/v1/eab-credential/{}", text(order, "eabKid"))).await.expect(200);
        }
        Loss::ResellerSuspended => {
            world.services.operator.set_reseller_suspended(&tenant.code, true).await.unwrap();
        }
    }
}

on_both_databases! {
    async fn a_suspended_account_gets_nothing_new_but_can_give_up_what_it_has(world: World) {
        let (tenant, account) = stage(&world).await;
        let issued = world.issue(&tenant, &account, &["a.test"]).await;
        let ready = world.make_ready(&tenant, &account, &["b.test"]).await;
        let pending = tenant.make_order(&account, &["c.test"]).await;
        let spare = tenant.make_order(&account, &["d.test"]).await;
        let given_up = tenant.make_order(&account, &["e.test"]).await;
        let choice = challenge_paths(&tenant, &pending, 0).await.remove(0);
        let given_up = challenge_paths(&tenant, &given_up, 0).await.remove(0);
        suspend(&tenant, &account, true).await;

        let order = json!({"account_lookup": account, "csr": csr(&["f.test"])});
        for refused in [
            tenant.post("/v1/order", order.clone()).await,
            tenant.post_empty(&choice).await,
            tenant.post_empty(&finalize_path(&ready)).await,
            tenant.post_empty(&finalize_path(&pending)).await,
        ] {
            assert_eq!(refused.status, 403, "{}", refused.text());
            assert!(refused.text().contains("suspended"), "{}", refused.text());
            assert!(refused.header("content-type").unwrap().starts_with("text/plain"));
        }
        assert_eq!(tenant.get(&order_path(&ready)).await.expect(200)["status"], "ready");
        assert_eq!(tenant.get(&choice).await.expect(200)["status"], "pending");
        assert_eq!(tenant.get(&certificate_path(&issued)).await.status, 200);
        assert_eq!(tenant.get("/v1/certificates").await.expect(200)["items"].as_array().unwrap().len(), 5);
        tenant.delete(&order_path(&spare)).await.expect(200);
        tenant.delete(&given_up).await.expect(200);
        tenant.post(&revocation_path(&issued), json!({"reason": 1})).await.expect(202);

        suspend(&tenant, &account, false).await;
        tenant.post("/v1/order", order).await.expect(201);
        tenant.post_empty(&choice).await.expect(200);
        tenant.post_empty(&finalize_path(&ready)).await.expect(202);
        world.work(None).await;
        assert_eq!(tenant.get(&order_path(&ready)).await.expect(200)["status"], "valid");
        assert_eq!(tenant.get(&order_path(&pending)).await.expect(200)["status"], "ready");
    }

    async fn i8_nothing_is_signed_for_those_who_lost_their_standing_after_finalizing(world: World) {
        for (number, loss) in
            [Loss::AccountSuspended, Loss::AccountTerminated, Loss::CredentialRevoked, Loss::ResellerSuspended]
                .into_iter()
                .enumerate()
        {
            for drafted in [false, true] {
                let mut tenant = world.tenant(&format!("R{number}{}", i32::from(drafted))).await;
                let account = lookup(&tenant.make_account("a@example.com").await);
                let order = finalized(&world, &tenant, &account, &["a.test"]).await;
                let id = lookup(&order).parse().unwrap();
                if drafted {
                    world.services.issuance.prepare(id).await.unwrap();
                }
                lose(&world, &tenant, &order, loss).await;
                if drafted {
                    // The node that drafted it goes on where it was.
                    world.services.issuance.sign(id).await.unwrap();
                }
                world.work(None).await;
                if matches!(loss, Loss::ResellerSuspended) {
                    world.services.operator.set_reseller_suspended(&tenant.code, false).await.unwrap();
                    tenant.sign_in().await;
                }
                let ended = tenant.get(&order_path(&order)).await.expect(200);
                if matches!(loss, Loss::AccountSuspended | Loss::ResellerSuspended) {
                    // It waits where it stood before, and goes on from there.
                    assert_eq!(ended["status"], "ready", "{loss:?} {drafted}");
                    assert_eq!(each(&tenant.get("/v1/certificates").await.expect(200), "status"), ["pending"]);
                    if let Loss::AccountSuspended = loss {
                        assert_eq!(tenant.post_empty(&finalize_path(&order)).await.status, 403);
                        suspend(&tenant, &account, false).await;
                    }
                    tenant.post_empty(&finalize_path(&order)).await.expect(202);
                    world.work(None).await;
                    assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
                    continue;
                }
                assert_eq!(ended["status"], "invalid", "{loss:?} {drafted}");
                assert_eq!(ended["error"]["type"], "unauthorized", "{loss:?} {drafted}: {}", ended["error"]);
                assert_eq!(tenant.get(&certificate_path(&order)).await.refusal(410), "certificate_gone");
                let listed = tenant.get("/v1/certificates").await.expect(200);
                assert_eq!(each(&listed, "status"), ["cancelled"]);
            }
        }
    }

    async fn termination_leaves_orders_that_have_expired_as_they_are(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let expired = tenant.make_order(&account, &["a.test"]).await;
        later(&world, &mut tenant, days(8)).await;
        let open = tenant.make_order(&account, &["a.test"]).await;
        tenant.delete(&format!("/v1/account/{account}")).await.expect(200);
        for (status, order) in [("expired", &expired), ("cancelled", &open)] {
            let listed = tenant.get(&format!("/v1/order?status={status}")).await.expect(200);
            assert_eq!(each(&listed, "lookup"), [lookup(order)], "{status}");
        }
    }

    async fn termination_cancels_open_orders_and_keeps_certificates_unless_told_otherwise(world: World) {
        let tenant = world.tenant("DEMO").await;
        for (query, status) in [("", "issued"), ("?revoke_certificates=true", "revoked")] {
            let account = lookup(&tenant.make_account("a@example.com").await);
            let issued = world.issue(&tenant, &account, &["a.test"]).await;
            let already = world.issue(&tenant, &account, &["a.test"]).await;
            tenant.post(&revocation_path(&already), json!({"reason": "superseded"})).await.expect(202);
            let ready = world.make_ready(&tenant, &account, &["b.test"]).await;
            let pending = tenant.make_order(&account, &["c.test"]).await;
            tenant.delete(&format!("/v1/account/{account}{query}")).await.expect(200);
            for order in [&ready, &pending] {
                let ended = tenant.get(&order_path(order)).await.expect(200);
                assert_eq!(ended["status"], "cancelled");
                assert_eq!(ended["authorizations"][0]["status"], "deactivated");
            }
            let listed = tenant.get(&format!("/v1/certificates?account_lookup={account}")).await.expect(200);
            assert_eq!(each(&listed, "status"), ["cancelled", "cancelled", "revoked", status]);
            let of = |order: &Value| {
                let items = listed["items"].as_array().unwrap();
                items.iter().find(|item| item["orderLookup"] == order["lookup"]).unwrap().clone()
            };
            assert_eq!(of(&already)["revocationReason"], "superseded");
            let reason = if status == "revoked" { json!("cessationOfOperation") } else { Value::Null };
            assert_eq!(of(&issued)["revocationReason"], reason);
            // Revoking later is still possible, and told to have been done where it was.
            let again = tenant.post(&revocation_path(&issued), json!({})).await;
            assert_eq!(again.status, if status == "revoked" { 208 } else { 202 });
        }
    }
}
