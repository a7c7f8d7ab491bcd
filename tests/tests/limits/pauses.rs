//! Names that are paused, and how somebody lifts it.

use std::time::Duration;

use chancery_domain::PageRequest;
use chancery_store::AuditFilter;
use chancery_tests::{AcmeClient, Tenant, World, csr, fail_all, identifiers, lookup, on_both_databases, settings};
use serde_json::{Value, json};

/// As `tests/src/world.rs` has it.
const FAILURES: usize = 3;

async fn order(tenant: &Tenant, account: &str, names: &[&str]) -> chancery_tests::Reply {
    tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr(names)})).await
}

async fn pauses(tenant: &Tenant) -> Vec<Value> {
    tenant.get("/v1/pause").await.expect(200)["items"].as_array().unwrap().clone()
}

async fn stage(world: &World) -> (Tenant, String, AcmeClient) {
    let tenant = world.tenant("DEMO").await;
    let account = tenant.make_account("a@example.com").await;
    let client = AcmeClient::registered(world, &account).await;
    (tenant, lookup(&account), client)
}

on_both_databases! {
    async fn a_name_that_fails_again_and_again_is_paused_until_somebody_lifts_it(world: World) {
        let (tenant, account, client) = stage(&world).await;
        for _ in 1..FAILURES {
            world.fail(&tenant, &account, "broken.test").await;
        }
        assert_eq!(pauses(&tenant).await, Vec::<Value>::new());
        world.fail(&tenant, &account, "broken.test").await;
        let [pause] = &pauses(&tenant).await[..] else { panic!("one pause") };
        assert_eq!((&pause["name"], &pause["account"], &pause["failures"]), (&json!("broken.test"), &json!(account), &json!(3)));
        assert!(pause["problem"].as_str().unwrap().contains("nobody answers"), "{pause}");

        let refused = order(&tenant, &account, &["broken.test", "sound.test"]).await;
        assert_eq!(refused.refusal(400), "name_paused");
        assert!(refused.text().contains(&lookup(pause)) && refused.text().contains("DELETE /v1/pause/"), "{}", refused.text());
        // Who asks before is told the same.
        let csr = csr(&["broken.test", "sound.test"]);
        let judged = tenant.post("/v1/validate-csr", json!({"csr": csr, "account_lookup": account})).await;
        assert!(judged.status == 400 && judged.text().contains(&lookup(pause)), "{}", judged.text());
        let asked = json!({"account_lookup": account, "identifiers": ["sound.test", "broken.test"]});
        let foretold = tenant.post("/v1/policy/evaluate", asked).await.expect(200);
        assert_eq!((&foretold["allowed"], &foretold["violations"][0]["field"]), (&json!(false), &json!("identifiers[1]")));
        let acme = client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&["broken.test"])})).await;
        assert_eq!((acme.status.as_u16(), &acme.json()["type"]), (429, &json!("urn:ietf:params:acme:error:rateLimited")));
        assert!(acme.text().contains(&lookup(pause)) && acme.header("retry-after").is_some(), "{}", acme.text());
        // Others are not concerned: another name, another customer.
        order(&tenant, &account, &["sound.test"]).await.expect(201);
        let other = lookup(&tenant.make_account("b@example.com").await);
        order(&tenant, &other, &["broken.test"]).await.expect(201);

        tenant.delete(&format!("/v1/pause/{}", lookup(pause))).await.expect(200);
        assert_eq!(tenant.delete(&format!("/v1/pause/{}", lookup(pause))).await.refusal(404), "pause_not_found");
        order(&tenant, &account, &["broken.test"]).await.expect(201);
        client.order(&["broken.test"]).await;
        // It counts from none again.
        world.fail(&tenant, &account, "broken.test").await;
        assert_eq!(pauses(&tenant).await, Vec::<Value>::new());
    }

    async fn a_success_and_a_day_without_failure_each_begin_a_new_row(world: World) {
        let (tenant, account, _) = stage(&world).await;
        for _ in 1..FAILURES {
            world.fail(&tenant, &account, "shaky.test").await;
        }
        world.advance(Duration::from_secs(1));
        world.make_ready(&tenant, &account, &["shaky.test"]).await;
        // Control that was shown is used again; it has to be given up for the name to be validated once more.
        world.advance(Duration::from_secs(11 * 86_400));
        let mut tenant = tenant;
        tenant.sign_in().await;
        for _ in 1..FAILURES {
            world.fail(&tenant, &account, "shaky.test").await;
        }
        assert_eq!(pauses(&tenant).await, Vec::<Value>::new());
        world.advance(Duration::from_secs(86_401));
        tenant.sign_in().await;
        for _ in 1..FAILURES {
            world.fail(&tenant, &account, "shaky.test").await;
        }
        assert_eq!(pauses(&tenant).await, Vec::<Value>::new());
        world.fail(&tenant, &account, "shaky.test").await;
        assert_eq!(pauses(&tenant).await.len(), 1);
    }

    async fn a_success_in_between_begins_a_new_row(world: World) {
        let (tenant, account, _) = stage(&world).await;
        for _ in 1..FAILURES {
            world.fail(&tenant, &account, "shaky.test").await;
        }
        // Ordered before anybody showed control, and failed after.
        let late = tenant.make_order(&account, &["shaky.test"]).await;
        world.advance(Duration::from_secs(1));
        world.make_ready(&tenant, &account, &["shaky.test"]).await;
        world.advance(Duration::from_secs(1));
        fail_all(&world.services, &tenant, &late).await;
        assert_eq!(pauses(&tenant).await, Vec::<Value>::new(), "three failures, and a success among them");
    }

    async fn a_name_that_need_not_be_shown_is_not_concerned_whoever_asks(world: World) {
        let (mut tenant, account, _) = stage(&world).await;
        let mut late = Vec::new();
        for _ in 0..FAILURES {
            late.push(tenant.make_order(&account, &["kept.test"]).await);
        }
        world.make_ready(&tenant, &account, &["kept.test"]).await;
        world.advance(Duration::from_secs(1));
        for order in &late {
            fail_all(&world.services, &tenant, order).await;
        }
        assert_eq!(pauses(&tenant).await.len(), 1);
        let request = json!({"csr": csr(&["kept.test"]), "account_lookup": account});
        let asked = json!({"account_lookup": account, "identifiers": ["kept.test"]});
        assert_eq!(tenant.post("/v1/validate-csr", request.clone()).await.status, 200);
        assert_eq!(tenant.post("/v1/policy/evaluate", asked.clone()).await.expect(200)["allowed"], true);
        assert_eq!(order(&tenant, &account, &["kept.test"]).await.expect(201)["status"], "ready");
        // Until it would have to be shown again.
        world.advance(Duration::from_secs(400 * 86_400));
        tenant.sign_in().await;
        let refused = tenant.post("/v1/validate-csr", request).await;
        assert!(refused.status == 400 && refused.text().contains("new orders for kept.test are paused"), "{}", refused.text());
        assert_eq!(tenant.post("/v1/policy/evaluate", asked).await.expect(200)["allowed"], false);
        assert_eq!(order(&tenant, &account, &["kept.test"]).await.refusal(400), "name_paused");
    }

    async fn a_success_of_what_was_under_way_lifts_a_pause(world: World) {
        let (tenant, account, _) = stage(&world).await;
        let open = tenant.make_order(&account, &["broken.test"]).await;
        let pause = world.pause(&tenant, &account, "broken.test").await;
        assert_eq!(order(&tenant, &account, &["broken.test"]).await.refusal(400), "name_paused");
        tenant.choose_all(&open).await;
        world.work(None).await;
        assert_eq!(tenant.show_order(&lookup(&open)).await["status"], "ready");
        assert_eq!(tenant.delete(&format!("/v1/pause/{pause}")).await.status, 404);
        order(&tenant, &account, &["broken.test"]).await.expect(201);
        let of_pause = AuditFilter { subject: Some(pause), ..AuditFilter::default() };
        let records = world.services.audit.list(of_pause, PageRequest { limit: 9, after: None }).await.unwrap();
        let told: Vec<_> = records.iter().map(|record| record.action.as_str()).collect();
        assert_eq!(told, ["pause.lift", "pause.begin"], "newest first");
    }

    async fn the_pauses_of_an_account_end_with_it(world: World) {
        let (tenant, account, _) = stage(&world).await;
        world.pause(&tenant, &account, "broken.test").await;
        let other = lookup(&tenant.make_account("b@example.com").await);
        let stays = world.pause(&tenant, &other, "broken.test").await;
        tenant.delete(&format!("/v1/account/{account}")).await.expect(200);
        let left: Vec<_> = pauses(&tenant).await.iter().map(lookup).collect();
        assert_eq!(left, [stays]);
    }

    async fn pauses_hold_on_every_node_and_over_restarts_and_the_operator_lifts_them(world: World) {
        let (tenant, account, _) = stage(&world).await;
        let pause = world.pause(&tenant, &account, "broken.test").await;
        let node = world.another_node(settings(), Vec::new()).await;
        node.services.pauses.look().await.unwrap();
        let there = node.hears(&tenant);
        assert_eq!(order(&there, &account, &["broken.test"]).await.refusal(400), "name_paused");
        let lifted = node.services.operator.lift_pause(pause.parse().unwrap()).await.unwrap();
        assert_eq!(lifted.failures, 3);
        assert!(node.services.operator.lift_pause(pause.parse().unwrap()).await.is_err());
        for services in [&world.services, &node.services] {
            services.pauses.look().await.unwrap();
        }
        order(&there, &account, &["broken.test"]).await.expect(201);
        order(&tenant, &account, &["broken.test"]).await.expect(201);
    }
}
