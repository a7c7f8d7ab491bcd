//! The feed: every change is told once, in its order, to whom it concerns.

use std::time::Duration;

use chancery_tests::{AcmeClient, lookup, on_both_databases};
use http::Method;
use serde_json::json;

use crate::common::{history, page, texts, types};

on_both_databases! {
    async fn a_customers_whole_life_is_told_in_its_order(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("customer@example.com").await);
        let patch = async |body: serde_json::Value| {
            tenant.send(Method::PATCH, "/v1/account/customer@example.com", &[], Some(&body)).await
        };
        patch(json!({"suspended": true})).await.expect(200);
        patch(json!({"suspended": false})).await.expect(200);
        patch(json!({"external_id": "c-1"})).await.expect(200);
        let kid = tenant.post_empty(&format!("/v1/account/{account}/eab-credential")).await.expect(201)["kid"].clone();
        let kid = kid.as_str().unwrap();
        tenant.send(Method::DELETE, &format!("/v1/eab-credential/{kid}"), &[], None).await.expect(200);
        let first = world.issue(&tenant, &account, &["a.test"]).await;
        world.issue(&tenant, &account, &["a.test"]).await;
        let revocation = format!("/v1/certificates/{}/revocation", lookup(&first));
        tenant.post(&revocation, json!({})).await.expect(202);
        let open = tenant.make_order(&account, &["b.test"]).await;
        let given_up = lookup(&tenant.codes(&lookup(&open["authorizations"][0])).await[0]);
        tenant.send(Method::DELETE, &format!("/v1/challenge/{given_up}"), &[], None).await.expect(200);
        tenant.make_order(&account, &["c.test"]).await;
        let end = format!("/v1/account/{account}?revoke_certificates=true");
        tenant.send(Method::DELETE, &end, &[], None).await.expect(200);

        let expected = [
            "account.created",
            "account.suspended",
            "account.resumed",
            "account.updated",
            "eab_credential.created",
            "eab_credential.revoked",
            "order.created",
            "authorization.valid",
            "order.ready",
            "certificate.issued",
            "order.valid",
            // The second order uses the authorization again.
            "order.created",
            "order.ready",
            "certificate.issued",
            "order.valid",
            "certificate.revoked",
            "order.created",
            "authorization.deactivated",
            "order.cancelled",
            "order.created",
            "order.cancelled",
            "account.terminated",
            "certificate.revoked",
        ];
        let mut told = history(&tenant).await;
        // The last ones are of one moment and one commit, and the clock stands still: they have no order.
        told[expected.len() - 3..].sort();
        let mut last = expected.to_vec();
        last[expected.len() - 3..].sort_unstable();
        assert_eq!(told, last);
        let newest = page(&tenant, "limit=1000").await;
        let mut all = types(&newest);
        all.sort();
        told.sort();
        assert_eq!(all, told);
        assert!(newest.get("nextCursor").is_none());
        for event in newest["items"].as_array().unwrap() {
            assert_eq!(event["account"], account.as_str(), "{event}");
            let id = event["id"].as_str().unwrap();
            assert_eq!(tenant.get(&format!("/v1/event/{id}")).await.expect(200), *event);
        }
        let mut issued = newest["items"].as_array().unwrap().iter().filter(|event| event["type"] == "certificate.issued");
        let issued = issued.find(|event| event["subject"] == first["certificateLookup"]).unwrap();
        assert_eq!(issued["data"]["order"], lookup(&first));
        assert_eq!(issued["data"]["names"], json!(["a.test"]));
        for member in ["serial", "fingerprint", "notBefore", "notAfter", "profile"] {
            assert!(issued["data"][member].is_string(), "{member} in {issued}");
        }
        let text = newest.to_string();
        assert!(!text.contains("hmac") && !text.contains("droppedSerial") && !text.contains("actor"), "{text}");
    }

    async fn a_change_of_an_account_is_told_by_what_it_changed(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        for (change, told) in [
            (json!({"customer_email": "b@example.com", "suspended": true}), vec!["account.suspended", "account.updated"]),
            (json!({"metadata": {"plan": "large"}, "suspended": false}), vec!["account.resumed", "account.updated"]),
            (json!({"customer_email": "b@example.com"}), vec![]),
            (json!({"suspended": false}), vec![]),
        ] {
            let before = history(&tenant).await.len();
            let path = format!("/v1/account/{account}");
            tenant.send(Method::PATCH, &path, &[], Some(&change)).await.expect(200);
            assert_eq!(history(&tenant).await[before..], told, "{change}");
        }
    }

    async fn who_follows_an_account_that_is_still_to_come_goes_on(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let asked = "order=oldest&account_lookup=b@example.com";
        let nothing = page(&tenant, asked).await;
        assert_eq!(nothing["items"], json!([]));
        let cursor = nothing["nextCursor"].as_str().unwrap();
        tenant.make_account("b@example.com").await;
        let found = page(&tenant, &format!("{asked}&cursor={cursor}")).await;
        assert_eq!(types(&found), ["account.created"]);
    }

    async fn an_order_that_fails_is_told_with_its_problem(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let order = world.make_ready(&tenant, &account, &["a.test"]).await;
        tenant.post_empty(&format!("/v1/order/{}/finalize", lookup(&order))).await.expect(202);
        tenant.send(Method::DELETE, &format!("/v1/account/{account}"), &[], None).await.expect(200);
        world.work(None).await;
        let failed = page(&tenant, "type=order.invalid").await;
        assert_eq!(texts(&failed, "subject"), [lookup(&order)]);
        assert!(failed["items"][0]["data"]["problem"].as_str().unwrap().len() > 10, "{failed}");
    }

    async fn a_credential_is_told_of_once_when_it_is_first_used(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("a@example.com").await;
        for _ in 0..2 {
            let mut client = AcmeClient::at(world.stranger(), "TLS-90d").await;
            client.register(&account).await.expect(201);
        }
        let used = page(&tenant, "type=eab_credential.first_used").await;
        assert_eq!(texts(&used, "subject"), [account["kid"].as_str().unwrap()]);
        assert_eq!(used["items"][0]["account"], account["lookup"]);
        assert!(used["items"][0]["data"]["acmeAccount"].as_str().unwrap().starts_with("acme_"));
    }

    async fn filters_narrow_the_feed_and_mistakes_are_told(world: World) {
        let tenant = world.tenant("DEMO").await;
        let one = lookup(&tenant.make_account("one@example.com").await);
        world.advance(Duration::from_secs(3600));
        let other = lookup(&tenant.make_account("other@example.com").await);
        world.issue(&tenant, &other, &["a.test"]).await;
        assert_eq!(types(&page(&tenant, &format!("account_lookup={one}")).await), ["account.created"]);
        assert_eq!(types(&page(&tenant, "account_lookup=one@example.com").await), ["account.created"]);
        assert_eq!(types(&page(&tenant, "account_lookup=nobody@example.com").await), Vec::<String>::new());
        let both = page(&tenant, "type=account.created,%20order.valid").await;
        assert_eq!(types(&both), ["order.valid", "account.created", "account.created"]);
        for order in ["newest", "oldest"] {
            let early = page(&tenant, &format!("order={order}&created_before=2027-01-15T08:30:00Z")).await;
            assert_eq!(texts(&early, "subject"), [one.as_str()], "{order}");
            let late = page(&tenant, &format!("order={order}&created_after=2027-01-15T08:30:00Z")).await;
            assert_eq!(types(&late).len(), 6, "{order} {late}");
        }
        for wrong in ["type=order.gone", "order=up", "created_after=yesterday", "kind=x"] {
            tenant.get(&format!("/v1/event?{wrong}")).await.expect(400);
        }
    }

    async fn nobody_sees_the_events_of_another(world: World) {
        let (me, them) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let mine = lookup(&me.make_account("a@example.com").await);
        let theirs = lookup(&them.make_account("a@example.com").await);
        for order in ["newest", "oldest"] {
            assert_eq!(texts(&page(&me, &format!("order={order}")).await, "subject"), [mine.as_str()]);
            assert_eq!(texts(&page(&them, &format!("order={order}")).await, "subject"), [theirs.as_str()]);
        }
        let event = texts(&page(&them, "").await, "id").remove(0);
        assert_eq!(me.get(&format!("/v1/event/{event}")).await.refusal(404), "event_not_found");
        let cursor = page(&them, "order=oldest").await["nextCursor"].as_str().unwrap().to_owned();
        assert_eq!(me.get(&format!("/v1/event?order=oldest&cursor={cursor}")).await.refusal(400), "invalid_cursor");
        // The record of an event has a name too, which is not told.
        assert_eq!(me.get(&format!("/v1/event/{}", event.replace("evt_", "aud_"))).await.refusal(404), "event_not_found");
    }
}
