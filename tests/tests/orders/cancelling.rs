//! `DELETE /v1/order/{order_lookup}`: every status, and what it takes along.

use chancery_tests::{lookup, on_both_databases};

use crate::common::{
    certificate_path, challenge_paths, days, fail_validation, finalize_path, finalized, later, order_path, stage,
};

on_both_databases! {
    async fn cancelling_deactivates_every_authorization_and_the_certificate_will_not_come(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test", "b.test"]).await;
        let shown = challenge_paths(&tenant, &order, 0).await.remove(0);
        tenant.post_empty(&shown).await.expect(200);
        world.work(None).await;
        let waiting = challenge_paths(&tenant, &order, 1).await.remove(0);
        tenant.post_empty(&waiting).await.expect(200);

        let cancelled = tenant.delete(&order_path(&order)).await.expect(200);
        assert_eq!(cancelled["status"], "cancelled");
        for place in 0..2 {
            assert_eq!(cancelled["authorizations"][place]["status"], "deactivated");
        }
        assert_eq!(tenant.delete(&order_path(&order)).await.refusal(410), "order_gone");
        assert_eq!(tenant.get(&certificate_path(&order)).await.refusal(410), "certificate_gone");
        // The look that was under way comes too late.
        world.work(None).await;
        let after = tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!((&after["status"], &after["authorizations"]), (&cancelled["status"], &cancelled["authorizations"]));
        // And nothing of it is used again.
        let again = tenant.make_order(&account, &["a.test"]).await;
        assert_eq!(again["status"], "pending");
    }

    async fn after_cancellation_authorizations_and_challenges_are_gone(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test", "b.test"]).await;
        let challenges = challenge_paths(&tenant, &order, 0).await;
        tenant.delete(&order_path(&order)).await.expect(200);
        for place in 0..2 {
            let authorization = format!("/v1/authz/{}", lookup(&order["authorizations"][place]));
            let codes = tenant.post_empty(&format!("{authorization}/challenges")).await;
            for gone in [codes, tenant.get(&authorization).await] {
                assert_eq!(gone.refusal(410), "authorization_gone");
                assert_eq!(gone.json()["authorization"]["status"], "deactivated");
            }
        }
        for challenge in &challenges {
            let (chosen, given_up) = (tenant.post_empty(challenge).await, tenant.delete(challenge).await);
            for gone in [chosen, given_up, tenant.get(challenge).await] {
                assert_eq!(gone.refusal(410), "authorization_gone");
                assert_eq!(gone.json()["challenge"]["status"], "pending");
            }
        }
        let (finalized, cancelled) = (tenant.post_empty(&finalize_path(&order)).await, tenant.delete(&order_path(&order)).await);
        for gone in [finalized, cancelled] {
            assert_eq!(gone.refusal(410), "order_gone");
            assert_eq!(gone.json()["order"]["status"], "cancelled");
        }
    }

    async fn what_is_being_issued_or_issued_is_not_cancelled_but_revoked(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        assert_eq!(tenant.delete(&order_path(&order)).await.refusal(400), "order_not_cancellable");
        world.work(None).await;
        let refused = tenant.delete(&order_path(&order)).await;
        assert_eq!(refused.refusal(400), "order_not_cancellable");
        assert!(refused.text().contains("revoke"));
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
        // Once its permission is given up, that is why.
        let challenge = challenge_paths(&tenant, &order, 0).await.remove(0);
        tenant.delete(&challenge).await.expect(200);
        assert_eq!(tenant.delete(&order_path(&order)).await.refusal(410), "authorization_gone");
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
    }

    async fn an_order_that_has_ended_otherwise_cannot_be_cancelled(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let failed = tenant.make_order(&account, &["a.test"]).await;
        fail_validation(&world, &tenant, &failed).await;
        let given_up = tenant.make_order(&account, &["b.test"]).await;
        let challenge = challenge_paths(&tenant, &given_up, 0).await.remove(0);
        tenant.delete(&challenge).await.expect(200);
        let expired = tenant.make_order(&account, &["c.test"]).await;
        later(&world, &mut tenant, days(7)).await;
        for order in [&failed, &given_up, &expired] {
            assert_eq!(tenant.delete(&order_path(order)).await.refusal(410), "order_gone");
        }
        let other = world.tenant("OTHER").await;
        assert_eq!(other.delete(&order_path(&expired)).await.refusal(404), "order_not_found");
    }

    async fn every_order_of_a_terminated_account_is_gone(world: World) {
        let (tenant, account) = stage(&world).await;
        let open = tenant.make_order(&account, &["a.test"]).await;
        let issued = world.issue(&tenant, &account, &["b.test"]).await;
        let processing = finalized(&world, &tenant, &account, &["c.test"]).await;
        let challenge = challenge_paths(&tenant, &processing, 0).await.remove(0);
        tenant.delete(&format!("/v1/account/{account}")).await.expect(200);
        let gone = tenant.delete(&challenge).await;
        assert_eq!(gone.refusal(410), "authorization_gone");
        assert!(gone.text().contains("account was terminated"), "{}", gone.text());
        for order in [&open, &issued, &processing] {
            assert_eq!(tenant.delete(&order_path(order)).await.status, 410);
        }
        assert_eq!(tenant.post_empty(&finalize_path(&open)).await.refusal(410), "order_gone");
        assert_eq!(tenant.get(&order_path(&issued)).await.expect(200)["status"], "valid");
    }
}
