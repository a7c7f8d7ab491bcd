//! What is told of orders that expired, and of accounts that nothing can be ordered for.

use std::time::Duration;

use chancery_tests::{csr, lookup, on_both_databases};
use http::Method;
use serde_json::json;

use crate::common::{certificate_path, challenge_paths, each, finalize_path, later, order_path, stage, text};

on_both_databases! {
    async fn an_expired_order_is_gone_and_shows_itself_in_the_refusal(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test"]).await;
        let paths = challenge_paths(&tenant, &order, 0).await;
        later(&world, &mut tenant, Duration::from_secs(7 * 86_400 - 1)).await;
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "pending");
        world.advance(Duration::from_secs(1));
        let gone = tenant.get(&order_path(&order)).await;
        assert_eq!(gone.refusal(410), "order_gone");
        let shown = gone.json()["order"].clone();
        assert_eq!((lookup(&shown), text(&shown, "status")), (lookup(&order), "expired".to_owned()));
        assert_eq!(shown["authorizations"][0]["status"], "expired");
        let finalized = tenant.post_empty(&finalize_path(&order)).await;
        assert_eq!(finalized.refusal(410), "order_gone");
        assert_eq!(finalized.json()["order"], shown);
        for gone in [tenant.post_empty(&paths[0]).await, tenant.delete(&paths[0]).await] {
            assert_eq!(gone.refusal(410), "authorization_gone");
            assert_eq!(gone.json()["challenge"]["status"], "pending");
        }
        let codes = format!("/v1/authz/{}/challenges", lookup(&order["authorizations"][0]));
        let gone = tenant.post_empty(&codes).await;
        assert_eq!(gone.refusal(410), "authorization_gone");
        assert_eq!(gone.json()["authorization"]["status"], "expired");
        assert_eq!(tenant.get(&certificate_path(&order)).await.refusal(410), "certificate_gone");
        let listed = tenant.get("/v1/order?status=expired").await.expect(200);
        assert_eq!(each(&listed, "lookup"), [lookup(&order)]);
        assert_eq!(each(&tenant.get("/v1/order?status=pending").await.expect(200), "lookup"), [""; 0]);
    }

    async fn what_finalizing_cancelling_and_choosing_do_not_take_is_refused(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = world.make_ready(&tenant, &account, &["a.test"]).await;
        let challenge = challenge_paths(&tenant, &order, 0).await[0].clone();
        let codes = format!("/v1/authz/{}/challenges", lookup(&order["authorizations"][0]));
        let body = json!({"csr": csr(&["b.test"])});
        let nobodys = order_path(&json!({"lookup": "ord_01jcq3v9k2e7x8t5m4n6p0r1sw"}));
        for (method, path) in [
            (Method::POST, finalize_path(&order)),
            (Method::DELETE, order_path(&order)),
            (Method::POST, codes),
            (Method::POST, challenge.clone()),
            (Method::DELETE, challenge),
        ] {
            let refused = tenant.send(method.clone(), &path, &[], Some(&body)).await;
            assert_eq!(refused.refusal(400), "unknown_field", "{method} {path}");
            assert_eq!(text(&refused.json()["errors"][0], "field"), "csr");
            let refused = tenant.send(method.clone(), &format!("{path}?dry_run=true"), &[], None).await;
            assert_eq!(refused.refusal(400), "unknown_field", "{method} {path}");
        }
        for (method, path) in [(Method::POST, format!("{nobodys}/finalize")), (Method::DELETE, nobodys)] {
            assert_eq!(tenant.send(method, &path, &[], Some(&body)).await.refusal(404), "order_not_found");
        }
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "ready");
        tenant.post(&finalize_path(&order), json!({})).await.expect(202);
    }

    async fn that_something_is_gone_is_told_before_what_it_does_not_take(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let cancelled = tenant.make_order(&account, &["a.test"]).await;
        let expired = tenant.make_order(&account, &["b.test"]).await;
        let mut paths = Vec::new();
        for order in [&cancelled, &expired] {
            let challenge = challenge_paths(&tenant, order, 0).await[0].clone();
            let codes = format!("/v1/authz/{}/challenges", lookup(&order["authorizations"][0]));
            paths.extend([
                (Method::POST, finalize_path(order), "order"),
                (Method::DELETE, order_path(order), "order"),
                (Method::POST, codes, "authorization"),
                (Method::POST, challenge.clone(), "challenge"),
                (Method::DELETE, challenge, "challenge"),
            ]);
        }
        tenant.delete(&order_path(&cancelled)).await.expect(200);
        later(&world, &mut tenant, Duration::from_secs(7 * 86_400)).await;
        for (method, path, member) in paths {
            let plain = tenant.send(method.clone(), &path, &[], None).await;
            let refused = tenant.send(method.clone(), &path, &[], Some(&json!({"x": 1}))).await;
            assert_eq!(refused.refusal(410), plain.refusal(410), "{method} {path}");
            assert_eq!(refused.json()[member], plain.json()[member], "{method} {path}");
            assert!(refused.json()[member].is_object(), "{method} {path}");
            assert_eq!(tenant.send(method.clone(), &format!("{path}?x=1"), &[], None).await.status, 410);
        }
    }

    async fn nothing_is_ordered_for_accounts_and_credentials_that_are_not_there_or_gone(world: World) {
        let (tenant, account) = stage(&world).await;
        let csr = csr(&["a.test"]);
        let child = tenant.post_empty(&format!("/v1/account/{account}/eab-credential")).await.expect(201);
        let kid = text(&child, "kid");
        let order = |way: &str, value: &str| json!({way: value, "csr": csr});
        tenant.post("/v1/order", order("eab_kid", &kid)).await.expect(201);
        for (way, unknown) in [
            ("account_lookup", "acc_01jcq3v9k2e7x8t5m4n6p0r1sw"),
            ("account_lookup", "nobody"),
            ("customer_email", "nobody@example.com"),
            ("eab_kid", "00000000-0000-4000-8000-000000000000"),
            ("eab_kid", "no kid"),
        ] {
            assert_eq!(tenant.post("/v1/order", order(way, unknown)).await.status, 404, "{unknown}");
        }
        let other = world.tenant("OTHER").await;
        for (way, value) in
            [("account_lookup", account.as_str()), ("eab_kid", &kid), ("customer_email", "a@example.com")]
        {
            assert_eq!(other.post("/v1/order", order(way, value)).await.status, 404, "{way}");
        }

        tenant.delete(&format!("/v1/eab-credential/{kid}")).await.expect(200);
        assert_eq!(tenant.post("/v1/order", order("eab_kid", &kid)).await.refusal(410), "eab_credential_gone");
        tenant.delete(&format!("/v1/account/{account}")).await.expect(200);
        for (way, value) in
            [("account_lookup", account.as_str()), ("eab_kid", &kid), ("customer_email", "a@example.com")]
        {
            assert_eq!(tenant.post("/v1/order", order(way, value)).await.refusal(410), "account_terminated", "{way}");
        }
    }

    async fn an_account_without_its_first_credential_still_orders_by_its_other_names(world: World) {
        let (tenant, account) = stage(&world).await;
        let shown = tenant.get(&format!("/v1/account/{account}")).await.expect(200);
        tenant.delete(&format!("/v1/eab-credential/{}", text(&shown, "kid"))).await.expect(200);
        world.advance(Duration::from_secs(1));
        let order = world.issue(&tenant, &account, &["a.test"]).await;
        assert_eq!(order["status"], "valid");
    }
}
