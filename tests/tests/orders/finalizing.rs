//! `POST /v1/order/{order_lookup}/finalize`: every status.

use std::time::Duration;

use chancery_tests::{lookup, on_both_databases};

use crate::common::{challenge_paths, days, fail_validation, finalize_path, later, order_path, problems, stage, text};

on_both_databases! {
    async fn finalizing_tells_each_name_that_is_still_missing(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test", "b.test"]).await;
        let finalize = finalize_path(&order);
        let refused = tenant.post_empty(&finalize).await;
        assert_eq!(refused.refusal(400), "order_not_ready");
        assert_eq!(problems(&refused), ["authorizations[0] pending", "authorizations[1] pending"]);
        for place in 0..2 {
            let message = text(&refused.json()["errors"][place], "message");
            assert!(message.contains(&lookup(&order["authorizations"][place])), "{message}");
            assert!(message.contains(["a.test", "b.test"][place]), "{message}");
        }

        let chosen = challenge_paths(&tenant, &order, 1).await.remove(0);
        tenant.post_empty(&chosen).await.expect(200);
        let waiting = tenant.post_empty(&finalize).await;
        assert_eq!(problems(&waiting), ["authorizations[0] pending", "authorizations[1] pending"]);
        assert!(text(&waiting.json()["errors"][1], "message").contains("being verified"));
        world.work(None).await;
        assert_eq!(problems(&tenant.post_empty(&finalize).await), ["authorizations[0] pending"]);
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "pending");
    }

    async fn finalizing_is_accepted_once_and_reported_ever_after(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = world.make_ready(&tenant, &account, &["a.test"]).await;
        assert!(order.get("finalizedAt").is_none());
        let accepted = tenant.post_empty(&finalize_path(&order)).await.expect(202);
        assert_eq!(accepted["status"], "processing");
        let at = text(&accepted, "finalizedAt");
        world.advance(Duration::from_secs(5));
        let again = tenant.post_empty(&finalize_path(&order)).await.expect(208);
        assert_eq!((again["status"].as_str(), text(&again, "finalizedAt")), (Some("processing"), at.clone()));
        world.work(None).await;
        let done = tenant.post_empty(&finalize_path(&order)).await.expect(208);
        assert_eq!((done["status"].as_str(), text(&done, "finalizedAt")), (Some("valid"), at));
    }

    async fn an_order_that_has_ended_cannot_be_finalized(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let cancelled = tenant.make_order(&account, &["a.test"]).await;
        tenant.delete(&order_path(&cancelled)).await.expect(200);
        let failed = tenant.make_order(&account, &["b.test"]).await;
        fail_validation(&world, &tenant, &failed).await;
        let shown = tenant.get(&order_path(&failed)).await.expect(200);
        assert_eq!(shown["status"], "invalid");
        assert_eq!(shown["authorizations"][0]["status"], "invalid");
        assert!(text(&shown["error"], "detail").contains("b.test"), "{shown}");
        let late = world.make_ready(&tenant, &account, &["c.test"]).await;
        for order in [&cancelled, &failed] {
            assert_eq!(tenant.post_empty(&finalize_path(order)).await.refusal(410), "order_gone");
        }
        later(&world, &mut tenant, days(7)).await;
        assert_eq!(tenant.post_empty(&finalize_path(&late)).await.refusal(410), "order_gone");
    }

    async fn finalizing_what_is_not_there_or_not_ones_own_is_not_found(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = world.make_ready(&tenant, &account, &["a.test"]).await;
        let other = world.tenant("OTHER").await;
        for (who, path) in [
            (&other, finalize_path(&order)),
            (&tenant, "/v1/order/ord_01jcq3v9k2e7x8t5m4n6p0r1sw/finalize".to_owned()),
            (&tenant, format!("/v1/order/{account}/finalize")),
        ] {
            assert_eq!(who.post_empty(&path).await.refusal(404), "order_not_found");
        }
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "ready");
    }
}
