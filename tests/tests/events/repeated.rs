//! What is asked of a webhook twice under one `Idempotency-Key` happens once.

use chancery_tests::{at_once, lookup, on_both_databases};
use http::Method;
use serde_json::json;

use crate::receiver::{Receiver, courier, deliveries};

on_both_databases! {
    /// Without this, one who asks again for want of an answer would end the secret that the receiver has.
    async fn under_one_key_a_secret_is_drawn_once_and_the_first_one_still_signs(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        let path = format!("/v1/webhook/{}/secret", lookup(&webhook));
        let first = tenant.send(Method::POST, &path, &[("idempotency-key", "k")], None).await;
        assert_eq!(first.header("idempotency-replayed"), None);
        let rotated = first.expect(200);
        assert_ne!(rotated["secret"], webhook["secret"]);
        let again = at_once(8, |_| {
            let (tenant, path) = (tenant.clone(), path.clone());
            async move { tenant.send(Method::POST, &path, &[("idempotency-key", "k")], None).await }
        })
        .await;
        for again in &again {
            assert_eq!(again.header("idempotency-replayed"), Some("true"));
            assert_eq!(again.expect(200), rotated);
        }
        tenant.make_account("a@example.com").await;
        courier(&world).deliver_all().await;
        let [message] = &receiver.take()[..] else { panic!("one message") };
        for secret in [&webhook["secret"], &rotated["secret"]] {
            assert_eq!(message.verified_by(secret.as_str().unwrap()), 1);
        }
        let other = tenant.send(Method::POST, &path, &[("idempotency-key", "K")], None).await;
        assert_eq!(other.header("idempotency-replayed"), None);
        assert_ne!(other.expect(200)["secret"], rotated["secret"]);
    }

    async fn of_many_at_once_under_one_key_one_draws_a_secret(world: World) {
        let tenant = world.tenant("DEMO").await;
        let webhook = tenant.post("/v1/webhook", json!({"url": "https://example.com"})).await.expect(201);
        let path = format!("/v1/webhook/{}/secret", lookup(&webhook));
        let replies = at_once(8, |_| {
            let (tenant, path) = (tenant.clone(), path.clone());
            async move { tenant.send(Method::POST, &path, &[("idempotency-key", "k")], None).await }
        })
        .await;
        let told: Vec<_> = replies.iter().map(|reply| reply.expect(200)).collect();
        assert!(told.iter().all(|each| *each == told[0]), "{told:?}");
        let fresh = replies.iter().filter(|reply| reply.header("idempotency-replayed").is_none()).count();
        assert_eq!(fresh, 1);
    }

    async fn under_one_key_a_test_is_sent_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        let path = format!("/v1/webhook/{}/test", lookup(&webhook));
        let first = tenant.send(Method::POST, &path, &[("idempotency-key", "k")], None).await;
        assert_eq!(first.header("idempotency-replayed"), None);
        courier(&world).deliver_all().await;
        let again = tenant.send(Method::POST, &path, &[("idempotency-key", "k")], None).await;
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(again.expect(202), first.expect(202));
        courier(&world).deliver_all().await;
        assert_eq!(receiver.kinds(), ["webhook.test"]);
        assert_eq!(deliveries(&tenant, &webhook).await.len(), 1);
        // Without a key each stands for itself.
        for _ in 0..2 {
            let reply = tenant.post_empty(&path).await;
            assert_eq!((reply.status.as_u16(), reply.header("idempotency-replayed")), (202, None));
        }
        courier(&world).deliver_all().await;
        assert_eq!(receiver.kinds(), ["webhook.test", "webhook.test"]);
        assert_eq!(deliveries(&tenant, &webhook).await.len(), 3);
    }

    async fn a_key_of_another_request_about_a_webhook_is_refused(world: World) {
        let tenant = world.tenant("DEMO").await;
        let body = json!({"url": "https://example.com"});
        let one = tenant.post("/v1/webhook", body.clone()).await.expect(201);
        let other = tenant.post("/v1/webhook", body.clone()).await.expect(201);
        let ask = async |webhook: &str, what: &str, key: &str| {
            let path = format!("/v1/webhook/{webhook}/{what}");
            tenant.send(Method::POST, &path, &[("idempotency-key", key)], None).await
        };
        let (mine, another) = (lookup(&one), lookup(&other));
        let rotated = ask(&mine, "secret", "k").await.expect(200);
        for reply in [
            ask(&mine, "test", "k").await,
            ask(&another, "secret", "k").await,
            ask(&another, "test", "k").await,
            tenant.send(Method::POST, "/v1/webhook", &[("idempotency-key", "k")], Some(&body)).await,
        ] {
            assert_eq!(reply.refusal(422), "idempotency_key_reused");
            assert_eq!(reply.header("idempotency-replayed"), None);
        }
        for what in ["secret", "test"] {
            assert_eq!(ask(&mine, what, "tab\there").await.refusal(400), "invalid_idempotency_key");
            // What the path names comes before the key.
            for key in ["k", "tab\there", "new"] {
                let nowhere = ask("whk_00000000000000000000000000", what, key).await;
                assert_eq!(nowhere.refusal(404), "webhook_not_found", "{what} {key}");
            }
        }
        assert!(deliveries(&tenant, &one).await.is_empty());
        assert!(deliveries(&tenant, &other).await.is_empty());
        assert_eq!(ask(&mine, "secret", "k").await.expect(200), rotated);
    }
}
