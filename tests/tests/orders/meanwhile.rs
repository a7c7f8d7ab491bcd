//! What changes while an order is on its way, and whoever takes it up must notice.

use std::time::Duration;

use chancery_service::Prepared;
use chancery_tests::{START, Tenant, World, csr, lookup, on_both_databases, settings};
use serde_json::{Value, json};

use crate::common::{
    certificate_path, challenge_paths, days, fail_validation, finalize_path, finalized, later, order_path,
    revocation_path, stage, text,
};

/// An order whose draft is stored, as a node leaves it that dies before it signs.
async fn drafted(world: &World, tenant: &Tenant, account: &str, names: &[&str]) -> Value {
    let order = finalized(world, tenant, account, names).await;
    draft(world, &order).await;
    order
}

async fn draft(world: &World, order: &Value) {
    let prepared = world.services.issuance.prepare(lookup(order).parse().unwrap()).await.unwrap();
    assert_eq!(prepared, Prepared::Drafted);
}

async fn rule(tenant: &Tenant, account: &str, name: &str, rules: Value) {
    let (policy, group) = (tenant.make_policy(name, rules).await, tenant.make_group(name).await);
    tenant.add_members(&group, &[account.to_owned()]).await.expect(200);
    tenant.assign(&group, &policy).await.expect(200);
}

/// An order for the names of a CSR that is being issued.
async fn finalized_with(tenant: &Tenant, account: &str, csr: &str) -> Value {
    let order = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr})).await.expect(201);
    tenant.post_empty(&finalize_path(&order)).await.expect(202)
}

on_both_databases! {
    async fn a_draft_that_policies_have_come_to_forbid_is_not_signed(world: World) {
        let tenant = world.tenant("DEMO").await;
        for (number, (rules, kind)) in [
            (json!({"allowed_domains": ["else.test"]}), "rejectedIdentifier"),
            (json!({"allowed_key_types": ["rsa-2048"]}), "rejectedIdentifier"),
            (json!({"max_validity_days": 10}), "rejectedIdentifier"),
            (json!({"allowed_challenge_types": ["tls-alpn-01"]}), "rejectedIdentifier"),
        ].into_iter().enumerate() {
            for taken_over in [true, false] {
                let account = lookup(&tenant.make_account(&format!("a{number}{taken_over}@example.com")).await);
                let order = drafted(&world, &tenant, &account, &["a.test"]).await;
                rule(&tenant, &account, &format!("rule {number} {taken_over}"), rules.clone()).await;
                if !taken_over {
                    world.services.issuance.sign(lookup(&order).parse().unwrap()).await.unwrap();
                }
                world.work(None).await;
                let ended = tenant.get(&order_path(&order)).await.expect(200);
                assert_eq!(ended["status"], "invalid", "{rules}");
                assert_eq!(ended["error"]["type"], kind, "{rules}");
                assert_eq!(tenant.get(&certificate_path(&order)).await.refusal(410), "certificate_gone");
            }
        }
    }

    async fn a_draft_does_not_stand_in_the_way_of_itself(world: World) {
        let (tenant, account) = stage(&world).await;
        rule(&tenant, &account, "one", json!({"max_certificates_per_day": 1, "max_active_certificates": 1})).await;
        let order = drafted(&world, &tenant, &account, &["a.test"]).await;
        world.work(None).await;
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
    }

    async fn a_draft_for_a_key_that_was_compromised_meanwhile_is_not_signed(world: World) {
        let (tenant, account) = stage(&world).await;
        world.make_ready(&tenant, &account, &["a.test"]).await;
        for taken_over in [true, false] {
            let csr = csr(&["a.test"]);
            let first = finalized_with(&tenant, &account, &csr).await;
            world.work(None).await;
            let second = finalized_with(&tenant, &account, &csr).await;
            draft(&world, &second).await;
            tenant.post(&revocation_path(&first), json!({"reason": "keyCompromise"})).await.expect(202);
            if !taken_over {
                world.services.issuance.sign(lookup(&second).parse().unwrap()).await.unwrap();
            }
            world.work(None).await;
            let ended = tenant.get(&order_path(&second)).await.expect(200);
            assert_eq!((text(&ended, "status"), text(&ended["error"], "type")), ("invalid".into(), "badCSR".into()), "{taken_over}");
        }
    }

    async fn i8_a_credential_revoked_by_a_clock_that_is_behind_ends_its_orders(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        world.clock.set(START.minus(Duration::from_secs(5)));
        tenant.delete(&format!("/v1/eab-credential/{}", text(&order, "eabKid"))).await.expect(200);
        world.services.issuance.prepare(lookup(&order).parse().unwrap()).await.unwrap();
        let ended = tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!((text(&ended, "status"), text(&ended["error"], "type")), ("invalid".into(), "unauthorized".into()));
        // What is ordered after that stands on the account alone, whatever the clock says.
        let ready = world.make_ready(&tenant, &account, &["b.test"]).await;
        world.clock.set(START.minus(Duration::from_secs(10)));
        tenant.post_empty(&finalize_path(&ready)).await.expect(202);
        world.work(None).await;
        assert_eq!(tenant.get(&order_path(&ready)).await.expect(200)["status"], "valid");
    }

    async fn orders_that_name_an_expired_credential_go_on_until_it_is_revoked(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let path = format!("/v1/account/{account}/eab-credential");
        let kid = text(&tenant.post(&path, json!({"expires_in_days": 1})).await.expect(201), "kid");
        world.make_ready(&tenant, &account, &["a.test"]).await;
        let body = json!({"eab_kid": kid, "csr": csr(&["a.test"])});
        let before = tenant.post("/v1/order", body.clone()).await.expect(201);
        later(&world, &mut tenant, days(1)).await;
        let after = tenant.post("/v1/order", body.clone()).await.expect(201);
        for order in [&before, &after] {
            tenant.post_empty(&finalize_path(order)).await.expect(202);
            world.work(None).await;
            let issued = tenant.get(&order_path(order)).await.expect(200);
            assert_eq!((text(&issued, "status"), text(&issued, "eabKid")), ("valid".into(), kid.clone()));
        }
        tenant.post("/v1/policy/evaluate", json!({"eab_kid": kid, "identifiers": ["a.test"]})).await.expect(200);
        tenant.delete(&format!("/v1/eab-credential/{kid}")).await.expect(200);
        let refused = tenant.post("/v1/order", body).await;
        assert_eq!(refused.refusal(410), "eab_credential_gone");
    }

    async fn a_job_that_was_taken_by_a_clock_that_was_ahead_is_found_again(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        let now = world.services.now();
        let ahead = world.another_node(settings(), Vec::new()).await;
        world.clock.set(now.plus(days(1)));
        assert_eq!(ahead.services.jobs.lease().await.unwrap().len(), 1);
        // That node dies, and the others' clocks are right.
        world.clock.set(now);
        world.work(None).await;
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
    }

    /// Being issued it cannot be cancelled, and an account that is suspended would have it put back to be finalized again.
    async fn an_order_whose_permission_was_given_up_is_not_put_back(world: World) {
        let (tenant, account) = stage(&world).await;
        let kept = world.make_ready(&tenant, &account, &["a.test"]).await;
        let order = world.make_ready(&tenant, &account, &["b.test"]).await;
        for each in [&kept, &order] {
            tenant.post_empty(&finalize_path(each)).await.expect(202);
            draft(&world, each).await;
        }
        let shown = challenge_paths(&tenant, &order, 0).await.remove(0);
        tenant.delete(&shown).await.expect(200);
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "processing");
        tenant.patch(&format!("/v1/account/{account}"), json!({"suspended": true})).await.expect(200);
        world.work(None).await;
        assert_eq!(tenant.get(&order_path(&kept)).await.expect(200)["status"], "ready", "only the account is suspended");
        let ended = tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!(ended["status"], "invalid");
        assert!(text(&ended["error"], "detail").contains("given up"), "{ended}");
        tenant.patch(&format!("/v1/account/{account}"), json!({"suspended": false})).await.expect(200);
        assert_eq!(tenant.post_empty(&finalize_path(&order)).await.refusal(410), "order_gone");
    }

    async fn choosing_for_an_order_that_has_ended_tells_how_it_ended(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test", "b.test"]).await;
        let other = challenge_paths(&tenant, &order, 1).await.remove(0);
        fail_validation(&world, &tenant, &order).await;
        let refused = tenant.post_empty(&other).await;
        assert_eq!(refused.refusal(410), "order_gone");
        assert!(refused.text().contains("there is no such name"), "{}", refused.text());
    }

    async fn a_csr_is_judged_for_those_who_may_order_only(world: World) {
        let (tenant, account) = stage(&world).await;
        let body = json!({"csr": csr(&["a.test"]), "account_lookup": account});
        tenant.patch(&format!("/v1/account/{account}"), json!({"suspended": true})).await.expect(200);
        for path in ["/v1/order", "/v1/validate-csr"] {
            assert_eq!(tenant.post(path, body.clone()).await.status, 403, "{path}");
        }
        tenant.delete(&format!("/v1/account/{account}")).await.expect(200);
        for path in ["/v1/order", "/v1/validate-csr"] {
            assert_eq!(tenant.post(path, body.clone()).await.refusal(410), "account_terminated", "{path}");
        }
    }

    async fn a_profile_that_is_not_there_is_a_mistake_in_the_request(world: World) {
        let (tenant, account) = stage(&world).await;
        let body = json!({"csr": csr(&["a.test"]), "account_lookup": account, "profile": "TLS-1d"});
        let refused = tenant.post("/v1/order", body.clone()).await;
        assert_eq!(crate::common::problems(&refused), ["profile unknown"]);
        let judged = tenant.post("/v1/validate-csr", body).await;
        assert_eq!((judged.status.as_u16(), judged.text().lines().count()), (400, 1), "{}", judged.text());
        assert!(judged.text().contains("profile") && judged.text().contains("TLS-1d"), "{}", judged.text());
    }
}
