//! Messages to webhooks: signed, in order, to whom they concern, and as often as they are asked for.

use std::time::Duration;

use chancery_service::{Sent, Settings, WebhookSettings};
use chancery_testkit::TestStore;
use chancery_tests::{World, at_once, lookup, on_both_databases, settings};
use http::Method;
use serde_json::json;

use crate::common::{texts, whole};
use crate::receiver::{Receiver, courier, deliveries};

on_both_databases! {
    async fn messages_are_signed_and_come_in_the_order_of_events(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("before@example.com").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        let secret = webhook["secret"].as_str().unwrap();
        let account = lookup(&tenant.make_account("a@example.com").await);
        world.issue(&tenant, &account, &["a.test"]).await;
        // What happened before the webhook was made is not told; the rest is, as the feed tells it.
        let feed = whole(&tenant, "limit=1000").await;
        courier(&world).deliver_all().await;
        let arrived = receiver.take();
        let told: Vec<_> = arrived.iter().map(|message| message.event()).collect();
        assert_eq!(told, feed["items"].as_array().unwrap()[1..]);
        assert!(told.len() >= 6, "{told:?}");
        for message in &arrived {
            assert_eq!(message.header("webhook-id"), message.event()["id"].as_str().unwrap());
            assert_eq!(message.header("content-type"), "application/json");
            assert_eq!(message.verified_by(secret), 1, "{message:?}");
            assert_eq!(message.verified_by("whsec_AAAA"), 0);
        }
        let log = deliveries(&tenant, &webhook).await;
        assert_eq!(log.len(), told.len());
        for delivery in &log {
            assert_eq!((&delivery["status"], &delivery["attempts"]), (&json!("delivered"), &json!(1)), "{delivery}");
            assert_eq!(delivery["responseStatus"], 204);
        }
        courier(&world).deliver_all().await;
        assert!(receiver.take().is_empty(), "nothing is told twice");
        assert!(!tenant.get(&format!("/v1/webhook/{}", lookup(&webhook))).await.text().contains("whsec_"));
    }

    /// Receivers refuse what was signed more than five minutes ago, and a round can take longer than that.
    async fn a_message_is_signed_at_the_moment_it_is_sent(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &["account.created"]).await;
        let new = tenant.post_empty(&format!("/v1/webhook/{}/secret", lookup(&webhook))).await.expect(200);
        for number in 0..40 {
            tenant.make_account(&format!("a{number}@example.com")).await;
        }
        let (clock, start) = (world.clock.clone(), world.services.now().as_secs());
        receiver.meanwhile(move || {
            clock.advance(Duration::from_secs(10));
        });
        courier(&world).deliver_all().await;
        let arrived = receiver.take();
        let signed: Vec<i64> = arrived.iter().map(|each| each.header("webhook-timestamp").parse().unwrap()).collect();
        let sent: Vec<i64> = (0..40).map(|place| start + 10 * place).collect();
        assert_eq!(signed, sent);
        for message in &arrived {
            for secret in [&webhook["secret"], &new["secret"]] {
                assert_eq!(message.verified_by(secret.as_str().unwrap()), 1, "{message:?}");
            }
        }
    }

    async fn a_webhook_is_told_of_the_types_it_names_and_of_no_other_reseller(world: World) {
        let (mine, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let (some, all, theirs) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
        some.webhook(&mine, &["account.suspended"]).await;
        let tested = all.webhook(&mine, &[]).await;
        theirs.webhook(&other, &[]).await;
        let account = lookup(&mine.make_account("a@example.com").await);
        let suspend = json!({"suspended": true});
        mine.send(Method::PATCH, &format!("/v1/account/{account}"), &[], Some(&suspend)).await.expect(200);
        other.make_account("theirs@example.com").await;
        mine.post_empty(&format!("/v1/webhook/{}/test", lookup(&tested))).await.expect(202);
        courier(&world).deliver_all().await;
        assert_eq!(some.kinds(), ["account.suspended"]);
        let mut told = all.kinds();
        told.sort();
        assert_eq!(told, ["account.created", "account.suspended", "webhook.test"]);
        assert_eq!(theirs.kinds(), ["account.created"]);
    }

    async fn an_event_is_told_again_on_request_under_its_own_name(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        tenant.make_account("a@example.com").await;
        courier(&world).deliver_all().await;
        let first = receiver.take().remove(0);
        let delivery = lookup(&deliveries(&tenant, &webhook).await[0]);
        world.advance(Duration::from_secs(60));
        let path = format!("/v1/webhook/{}/delivery/{delivery}/redeliver", lookup(&webhook));
        let again = tenant.post_empty(&path).await.expect(202);
        assert_eq!((&again["status"], &again["attempts"]), (&json!("pending"), &json!(0)));
        courier(&world).deliver_all().await;
        let [second] = &receiver.take()[..] else { panic!("one message") };
        assert_eq!(second.header("webhook-id"), first.header("webhook-id"));
        assert_eq!(second.body, first.body);
        assert_ne!(second.header("webhook-timestamp"), first.header("webhook-timestamp"));
        assert_eq!(second.verified_by(webhook["secret"].as_str().unwrap()), 1);
    }

    /// Without this, an answer that comes after the request would settle what was asked for since.
    async fn a_redelivery_that_is_asked_for_while_the_message_is_on_its_way_is_not_lost(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        tenant.make_account("a@example.com").await;
        let dispatch = &world.services.dispatch;
        let due = dispatch.due().await.unwrap();
        // On its first try, in the moment it is due; then on its second.
        for answer in [500, 200] {
            let round = dispatch.begin(due[0]).await.unwrap().unwrap();
            assert_eq!(round.messages, 1);
            let message = dispatch.next_message(round.webhook).await.unwrap().unwrap();
            let redeliver = format!("/v1/webhook/{}/delivery/{}/redeliver", lookup(&webhook), message.delivery.id);
            tenant.post_empty(&redeliver).await.expect(202);
            let sent = Sent { at: world.services.now(), took: Duration::ZERO, answer: Ok(answer) };
            assert!(dispatch.conclude(&message, sent).await.unwrap());
            dispatch.end(round.webhook).await.unwrap();
            let asked = &deliveries(&tenant, &webhook).await[0];
            assert_eq!((&asked["status"], &asked["attempts"]), (&json!("pending"), &json!(0)), "{asked}");
            let answers: &[u16] = if answer == 500 { &[503] } else { &[] };
            receiver.answer(answers);
            courier(&world).deliver_all().await;
            assert_eq!(receiver.kinds(), ["account.created"], "at once");
            world.advance(Duration::from_secs(6));
        }
        let told = &deliveries(&tenant, &webhook).await[0];
        assert_eq!((&told["status"], &told["attempts"]), (&json!("delivered"), &json!(1)), "{told}");
        courier(&world).deliver_all().await;
        assert!(receiver.take().is_empty());
    }

    async fn what_is_left_of_a_round_goes_to_a_new_url_and_is_signed_with_a_new_secret(world: World) {
        let tenant = world.tenant("DEMO").await;
        let (former, present) = (Receiver::start().await, Receiver::start().await);
        let webhook = former.webhook(&tenant, &["account.created"]).await;
        let path = format!("/v1/webhook/{}", lookup(&webhook));
        for number in 0..4 {
            tenant.make_account(&format!("a{number}@example.com")).await;
        }
        let dispatch = &world.services.dispatch;
        let due = dispatch.due().await.unwrap();
        let sent = |status| Sent { at: world.services.now(), took: Duration::ZERO, answer: Ok(status) };
        let id = due[0];
        let next = async || dispatch.next_message(id).await.unwrap().unwrap();
        assert_eq!(dispatch.begin(id).await.unwrap().unwrap().messages, 4);
        assert!(dispatch.conclude(&next().await, sent(204)).await.unwrap(), "nothing has changed");
        let message = next().await;
        tenant.send(Method::PATCH, &path, &[], Some(&json!({"url": present.url}))).await.expect(200);
        assert!(!dispatch.conclude(&message, sent(410)).await.unwrap(), "the URL has changed");
        dispatch.end(id).await.unwrap();
        assert_eq!(tenant.get(&path).await.expect(200)["status"], "active", "the former URL is gone, not this one");
        assert_eq!(dispatch.begin(id).await.unwrap().unwrap().messages, 2);
        let message = next().await;
        assert_eq!(message.url, present.url);
        let new = tenant.post_empty(&format!("{path}/secret")).await.expect(200);
        assert!(!dispatch.conclude(&message, sent(204)).await.unwrap(), "the secret has changed");
        let left = next().await;
        assert_eq!(left.url, present.url);
        dispatch.end(id).await.unwrap();
        courier(&world).deliver_all().await;
        let [last] = &present.take()[..] else { panic!("one message") };
        assert_eq!(last.body.as_bytes(), left.body);
        assert_eq!(last.verified_by(new["secret"].as_str().unwrap()), 1);
        world.advance(Duration::from_secs(6));
        courier(&world).deliver_all().await;
        assert_eq!(present.take().len(), 1, "the one that met with 410");
        assert!(former.take().is_empty());
        let log = deliveries(&tenant, &webhook).await;
        let delivered: Vec<_> = log.iter().map(|delivery| delivery["status"] == "delivered").collect();
        assert_eq!(delivered, [true; 4], "{log:?}");
    }

    async fn a_url_may_have_a_query_and_no_path(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let url = receiver.url.replace("/hook", "?q=1");
        tenant.post("/v1/webhook", json!({"url": url})).await.expect(201);
        tenant.make_account("a@example.com").await;
        courier(&world).deliver_all().await;
        let [arrived] = &receiver.take()[..] else { panic!("one message") };
        assert_eq!(arrived.path, "/?q=1");
    }

    async fn the_two_newest_secrets_sign_and_no_other(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        let mut secrets = vec![webhook["secret"].as_str().unwrap().to_owned()];
        for _ in 0..3 {
            let rotated = tenant.post_empty(&format!("/v1/webhook/{}/secret", lookup(&webhook))).await.expect(200);
            secrets.push(rotated["secret"].as_str().unwrap().to_owned());
        }
        tenant.make_account("a@example.com").await;
        courier(&world).deliver_all().await;
        let [message] = &receiver.take()[..] else { panic!("one message") };
        let verified: Vec<_> = secrets.iter().map(|secret| message.verified_by(secret)).collect();
        assert_eq!(verified, [0, 0, 1, 1]);
        assert_eq!(message.header("webhook-signature").split(' ').count(), 2);
    }

    async fn for_a_day_messages_are_signed_with_the_secret_before_as_well(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        let old = webhook["secret"].as_str().unwrap();
        let rotated = tenant.post_empty(&format!("/v1/webhook/{}/secret", lookup(&webhook))).await.expect(200);
        let new = rotated["secret"].as_str().unwrap();
        assert_ne!(old, new);
        assert!(rotated["previousSecretEndsAt"].is_string());
        let tell = async |email: &str| {
            tenant.make_account(email).await;
            courier(&world).deliver_all().await;
            let message = receiver.take().remove(0);
            (message.verified_by(old), message.verified_by(new))
        };
        assert_eq!(tell("a@example.com").await, (1, 1));
        world.advance(Duration::from_secs(86_399));
        assert_eq!(tell("b@example.com").await, (1, 1));
        world.advance(Duration::from_secs(2));
        tenant.sign_in().await;
        let tell = async |email: &str| {
            tenant.make_account(email).await;
            courier(&world).deliver_all().await;
            let message = receiver.take().remove(0);
            (message.verified_by(old), message.verified_by(new))
        };
        assert_eq!(tell("c@example.com").await, (0, 1));
    }

    async fn a_paused_webhook_goes_on_where_it_stood(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let path = format!("/v1/webhook/{}", lookup(&receiver.webhook(&tenant, &[]).await));
        let set = async |change: serde_json::Value| tenant.send(Method::PATCH, &path, &[], Some(&change)).await.expect(200);
        assert_eq!(set(json!({"enabled": false})).await["status"], "paused");
        tenant.make_account("a@example.com").await;
        courier(&world).deliver_all().await;
        assert!(receiver.take().is_empty());
        assert_eq!(set(json!({"enabled": true})).await["status"], "active");
        courier(&world).deliver_all().await;
        assert_eq!(receiver.kinds(), ["account.created"]);
        tenant.send(Method::DELETE, &path, &[], None).await.expect(200);
        tenant.make_account("b@example.com").await;
        courier(&world).deliver_all().await;
        assert!(receiver.take().is_empty());
        assert_eq!(tenant.get(&path).await.refusal(404), "webhook_not_found");
    }

    async fn a_reseller_has_so_many_webhooks_and_no_more(world: World) {
        let tenant = world.tenant("DEMO").await;
        let body = json!({"url": "https://hooks.example.com/x"});
        let made = at_once(12, |_| {
            let (tenant, body) = (tenant.clone(), body.clone());
            async move { tenant.post("/v1/webhook", body).await }
        })
        .await;
        assert_eq!(made.iter().filter(|reply| reply.status == 201).count(), 10);
        let refused: Vec<_> = made.iter().filter(|reply| reply.status != 201).map(|reply| reply.refusal(400)).collect();
        assert_eq!(refused, ["too_many_webhooks", "too_many_webhooks"]);
        assert_eq!(texts(&tenant.get("/v1/webhook").await.expect(200), "url").len(), 10);
    }

    async fn mistakes_are_told(world: World) {
        let tenant = world.tenant("DEMO").await;
        for (body, field) in [
            (json!({"url": "ftp://example.com"}), "url"),
            (json!({"url": "https://user:pw@example.com"}), "url"),
            (json!({"url": "http://[::1/x"}), "url"),
            (json!({"url": "http://127.0.0.1:+8080/"}), "url"),
            (json!({"url": "http://127.0.0.1:8080/a|b"}), "url"),
            (json!({"url": "https://example.com", "types": ["order.gone"]}), "types"),
            (json!({"url": "https://example.com", "description": "a\u{0}b"}), "description"),
        ] {
            let refused = tenant.post("/v1/webhook", body).await.expect(400);
            assert_eq!(refused["errors"][0]["field"], field, "{refused}");
        }
        let unknown = json!({"url": "https://example.com", "types": ["order.gone", "order.lost"]});
        let told = tenant.post("/v1/webhook", unknown).await.expect(400)["errors"].to_string();
        assert!(told.contains("order.gone") && told.contains("order.lost"), "{told}");
        let webhook = tenant.post("/v1/webhook", json!({"url": "https://example.com"})).await.expect(201);
        let path = format!("/v1/webhook/{}", lookup(&webhook));
        tenant.send(Method::PATCH, &path, &[], Some(&json!({}))).await.expect(400);
        tenant.send(Method::PATCH, &path, &[], Some(&json!({"url": "x"}))).await.expect(400);
    }

    async fn creating_under_one_key_gives_one_webhook_and_its_secret_again(world: World) {
        let tenant = world.tenant("DEMO").await;
        let body = json!({"url": "https://example.com"});
        let key = [("idempotency-key", "k")];
        let first = tenant.send(Method::POST, "/v1/webhook", &key, Some(&body)).await.expect(201);
        let again = tenant.send(Method::POST, "/v1/webhook", &key, Some(&body)).await.expect(201);
        assert_eq!(first, again);
    }
}

#[tokio::test]
async fn i10_outside_of_dev_inner_addresses_and_plain_http_are_refused() {
    let rules = chancery_domain::WebhookUrlRules { plain_http: false, special_addresses: false };
    let strict = Settings { webhooks: WebhookSettings::of(rules), ..settings() };
    let world = World::over(TestStore::sqlite(), strict, Vec::new()).await;
    let tenant = world.tenant("DEMO").await;
    for url in
        ["http://example.com/", "https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/", "https://10.0.0.1"]
    {
        tenant.post("/v1/webhook", json!({"url": url})).await.expect(400);
    }
    tenant.post("/v1/webhook", json!({"url": "https://example.com/"})).await.expect(201);
}
