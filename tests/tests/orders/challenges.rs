//! Codes, the one choice, and giving a permission up: every status.

use std::time::Duration;

use chancery_tests::{lookup, on_both_databases};
use serde_json::json;

use crate::common::{challenge_paths, days, fail_validation, finalize_path, finalized, later, order_path, stage, text};

on_both_databases! {
    async fn codes_are_made_once_and_are_the_same_ever_after(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test", "*.a.test", "192.0.2.7"]).await;
        let mut offered = Vec::new();
        for authorization in order["authorizations"].as_array().unwrap() {
            assert_eq!(authorization["challenges"], json!([]));
            let codes = tenant.codes(&lookup(authorization)).await;
            world.advance(Duration::from_secs(60));
            assert_eq!(tenant.codes(&lookup(authorization)).await, codes);
            let name = (text(&authorization["identifier"], "value"), authorization["wildcard"] == true);
            let kinds: Vec<_> = codes.iter().map(|code| text(code, "type")).collect();
            offered.push((name, kinds.join(" ")));
            for code in &codes {
                let token = text(code, "token");
                assert!(
                    token.len() >= 43 && text(code, "keyAuthorization").starts_with(&format!("{token}.")),
                    "{code}"
                );
                assert!(code["instructions"].is_object());
            }
        }
        offered.sort();
        let row = |name: &str, wildcard, kinds: &str| ((name.to_owned(), wildcard), kinds.to_owned());
        assert_eq!(
            offered,
            [
                row("192.0.2.7", false, "http-01 tls-alpn-01"),
                row("a.test", false, "http-01 dns-01 tls-alpn-01"),
                row("a.test", true, "dns-01"),
            ]
        );
    }

    async fn the_first_choice_is_verified_and_every_later_one_is_told_of_it(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test"]).await;
        let paths = challenge_paths(&tenant, &order, 0).await;
        let chosen = tenant.post_empty(&paths[1]).await.expect(200);
        assert_eq!(chosen["status"], "processing");
        for (status, work) in [("processing", false), ("valid", true)] {
            if work {
                world.work(None).await;
            }
            for path in &paths {
                let gone = tenant.post_empty(path).await;
                assert_eq!(gone.refusal(410), "authorization_gone");
                let current = gone.json()["challenge"].clone();
                assert_eq!((lookup(&current), text(&current, "status")), (lookup(&chosen), status.to_owned()));
            }
        }
        let failed = tenant.make_order(&account, &["b.test"]).await;
        fail_validation(&world, &tenant, &failed).await;
        let paths = challenge_paths(&tenant, &failed, 0).await;
        let gone = tenant.post_empty(&paths[2]).await.expect(410);
        assert_eq!(gone["challenge"]["status"], "invalid");
        assert!(paths[0].ends_with(&lookup(&gone["challenge"])));
        assert!(text(&gone["challenge"]["error"], "detail").contains("no such name"));
    }

    async fn codes_of_an_order_that_has_failed_are_not_made_any_more(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test", "b.test"]).await;
        fail_validation(&world, &tenant, &order).await;
        let codes = |place: usize| format!("/v1/authz/{}/challenges", lookup(&order["authorizations"][place]));
        let gone = tenant.post_empty(&codes(1)).await;
        assert_eq!(gone.refusal(410), "order_gone");
        assert!(gone.text().contains("no such name"), "{}", gone.text());
        // Those that there are tell what became of them.
        assert_eq!(tenant.post_empty(&codes(0)).await.expect(200)["challenges"][0]["status"], "invalid");
    }

    async fn whatever_has_ended_is_told_so_though_the_account_is_suspended(world: World) {
        let (mut tenant, account) = stage(&world).await;
        let [cancelled, tried, open] = [
            tenant.make_order(&account, &["a.test"]).await,
            tenant.make_order(&account, &["b.test"]).await,
            tenant.make_order(&account, &["c.test"]).await,
        ];
        let mut paths = Vec::new();
        for order in [&cancelled, &tried, &open] {
            paths.push(challenge_paths(&tenant, order, 0).await.remove(0));
        }
        tenant.delete(&order_path(&cancelled)).await.expect(200);
        tenant.post_empty(&paths[1]).await.expect(200);
        world.work(None).await;
        tenant.patch(&format!("/v1/account/{account}"), json!({"suspended": true})).await.expect(200);
        assert_eq!(tenant.post_empty(&paths[0]).await.refusal(410), "authorization_gone");
        let gone = tenant.post_empty(&paths[1]).await;
        assert_eq!((gone.refusal(410), &gone.json()["challenge"]["status"]), ("authorization_gone".to_owned(), &json!("valid")));
        assert_eq!(tenant.post_empty(&paths[2]).await.status, 403);
        // Once the order has expired, there is nothing to go on with.
        later(&world, &mut tenant, days(8)).await;
        let gone = tenant.post_empty(&paths[1]).await;
        assert_eq!(gone.status, 410);
        assert!(gone.text().contains("expired"), "{}", gone.text());
    }

    async fn giving_a_challenge_up_deactivates_its_authorization_and_cancels_the_order(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test", "b.test"]).await;
        let (one, other) = (challenge_paths(&tenant, &order, 0).await, challenge_paths(&tenant, &order, 1).await);
        let given_up = tenant.delete(&one[0]).await.expect(200);
        assert_eq!(lookup(&given_up), lookup(&order["authorizations"][0]));
        assert_eq!(given_up["status"], "deactivated");
        for path in one.iter().chain(&other) {
            assert_eq!(tenant.delete(path).await.refusal(410), "authorization_gone");
        }
        let cancelled = tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!(cancelled["status"], "cancelled");
        assert_eq!(cancelled["authorizations"][1]["status"], "deactivated");
        assert_eq!(tenant.post_empty(&finalize_path(&order)).await.refusal(410), "order_gone");
    }

    async fn giving_up_an_earned_permission_keeps_what_was_issued_and_is_not_used_again(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = world.issue(&tenant, &account, &["a.test"]).await;
        let challenge = format!("/v1/challenge/{}", lookup(&order["authorizations"][0]["challenges"][0]));
        assert_eq!(tenant.delete(&challenge).await.expect(200)["status"], "deactivated");
        assert_eq!(tenant.delete(&challenge).await.refusal(410), "authorization_gone");
        assert_eq!(tenant.get(&order_path(&order)).await.expect(200)["status"], "valid");
        assert_eq!(tenant.make_order(&account, &["a.test"]).await["status"], "pending");
    }

    async fn an_order_that_was_given_up_while_it_is_issued_ends_without_a_certificate(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = finalized(&world, &tenant, &account, &["a.test"]).await;
        let challenge = format!("/v1/challenge/{}", lookup(&order["authorizations"][0]["challenges"][0]));
        tenant.delete(&challenge).await.expect(200);
        world.work(None).await;
        let ended = tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!(ended["status"], "invalid", "{ended}");
        assert!(text(&ended["error"], "detail").contains("a.test"), "{ended}");
    }

    async fn challenges_of_others_and_of_terminated_accounts_cannot_be_touched(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test"]).await;
        let issued = world.issue(&tenant, &account, &["b.test"]).await;
        let path = challenge_paths(&tenant, &order, 0).await.remove(0);
        let codes = format!("/v1/authz/{}/challenges", lookup(&order["authorizations"][0]));
        let other = world.tenant("OTHER").await;
        assert_eq!(other.post_empty(&path).await.refusal(404), "challenge_not_found");
        assert_eq!(other.delete(&path).await.refusal(404), "challenge_not_found");
        assert_eq!(other.get(&path).await.refusal(404), "challenge_not_found");
        assert_eq!(other.post_empty(&codes).await.refusal(404), "authorization_not_found");
        tenant.delete(&format!("/v1/account/{account}")).await.expect(200);
        assert_eq!(tenant.post_empty(&path).await.status, 410);
        assert_eq!(tenant.delete(&path).await.status, 410);
        assert_eq!(tenant.post_empty(&codes).await.status, 410);
        let earned = format!("/v1/challenge/{}", lookup(&issued["authorizations"][0]["challenges"][0]));
        assert_eq!(tenant.delete(&earned).await.status, 410);
    }
}
