//! Endpoints that fail: tried again and again for three days, then left alone, and never at the cost of others.

use std::time::{Duration, Instant};

use chancery_publish::PublisherConfig;
use chancery_tests::{lookup, on_both_databases};
use chancery_workers::Courier;
use http::Method;
use serde_json::json;

use crate::common::{page, texts, types};
use crate::receiver::{Receiver, courier, deliveries, publisher_with};

const HOUR: Duration = Duration::from_secs(3600);

on_both_databases! {
    async fn a_message_that_fails_is_sent_again_later(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        receiver.answer(&[500, 302]);
        let webhook = receiver.webhook(&tenant, &[]).await;
        tenant.make_account("a@example.com").await;
        courier(&world).deliver_all().await;
        let failed = &deliveries(&tenant, &webhook).await[0];
        assert_eq!((&failed["status"], &failed["responseStatus"]), (&json!("pending"), &json!(500)), "{failed}");
        assert!(failed["error"].as_str().unwrap().contains("500"));
        let shown = tenant.get(&format!("/v1/webhook/{}", lookup(&webhook))).await.expect(200);
        assert!(shown["failingSince"].is_string(), "{shown}");
        courier(&world).deliver_all().await;
        assert_eq!(receiver.take().len(), 1, "not before its time");
        world.advance(Duration::from_secs(6));
        courier(&world).deliver_all().await;
        let redirected = receiver.take();
        assert_eq!(redirected.len(), 1);
        assert!(redirected.iter().all(|message| message.path == "/hook"), "redirects are not followed");
        assert_eq!(deliveries(&tenant, &webhook).await[0]["responseStatus"], 302);
        world.advance(Duration::from_secs(40));
        courier(&world).deliver_all().await;
        assert_eq!(receiver.take().len(), 1);
        let delivered = &deliveries(&tenant, &webhook).await[0];
        assert_eq!((&delivered["status"], &delivered["attempts"]), (&json!("delivered"), &json!(3)), "{delivered}");
        let shown = tenant.get(&format!("/v1/webhook/{}", lookup(&webhook))).await.expect(200);
        assert!(shown["failingSince"].is_null(), "{shown}");
    }

    async fn one_that_fails_for_days_is_disabled_and_told_of_in_the_feed(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        let (dead, alive) = (Receiver::start().await, Receiver::start().await);
        dead.answer(&[503; 100]);
        let webhook = dead.webhook(&tenant, &["account.created"]).await;
        alive.webhook(&tenant, &["webhook.disabled"]).await;
        tenant.make_account("a@example.com").await;
        for _ in 0..71 {
            courier(&world).deliver_all().await;
            world.advance(HOUR);
        }
        tenant.sign_in().await;
        let path = format!("/v1/webhook/{}", lookup(&webhook));
        assert_eq!(tenant.get(&path).await.expect(200)["status"], "active");
        assert!((10..=13).contains(&dead.take().len()));
        tenant.make_account("b@example.com").await;
        for _ in 0..3 {
            world.advance(HOUR);
            courier(&world).deliver_all().await;
        }
        assert_eq!(tenant.get(&path).await.expect(200)["status"], "disabled");
        assert_eq!(texts(&page(&tenant, "type=webhook.disabled").await, "subject"), [lookup(&webhook)]);
        courier(&world).deliver_all().await;
        assert_eq!(alive.kinds(), ["webhook.disabled"]);
        tenant.make_account("c@example.com").await;
        dead.take();
        dead.answer(&[]);
        world.advance(HOUR);
        courier(&world).deliver_all().await;
        assert!(dead.take().is_empty(), "nothing is sent to one that is disabled");
        tenant.send(Method::PATCH, &path, &[], Some(&json!({"enabled": true}))).await.expect(200);
        world.advance(30 * HOUR);
        courier(&world).deliver_all().await;
        assert!(dead.take().len() >= 2, "what was missed meanwhile is told");
    }

    async fn one_that_says_gone_is_disabled_at_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        receiver.answer(&[410]);
        let webhook = receiver.webhook(&tenant, &[]).await;
        tenant.make_account("a@example.com").await;
        tenant.make_account("b@example.com").await;
        courier(&world).deliver_all().await;
        assert_eq!(receiver.take().len(), 1);
        assert_eq!(types(&page(&tenant, "type=webhook.disabled").await).len(), 1);
        let path = format!("/v1/webhook/{}", lookup(&webhook));
        tenant.send(Method::PATCH, &path, &[], Some(&json!({"enabled": true}))).await.expect(200);
        world.advance(Duration::from_secs(60));
        courier(&world).deliver_all().await;
        let mut told = receiver.kinds();
        told.sort();
        assert_eq!(told, ["account.created", "account.created", "webhook.disabled"], "its own end among them");
    }

    async fn a_slow_endpoint_of_one_reseller_does_not_delay_another(world: World) {
        let (slow, quick) = (world.tenant("SLOW").await, world.tenant("QUICK").await);
        let (silent, lively) = (Receiver::start().await, Receiver::start().await);
        silent.delay(Duration::from_secs(60));
        for _ in 0..5 {
            silent.webhook(&slow, &[]).await;
        }
        for number in 0..20 {
            slow.make_account(&format!("s{number}@example.com")).await;
        }
        tokio::spawn(courier(&world).run(std::future::pending()));
        while silent.take().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        lively.webhook(&quick, &[]).await;
        quick.make_account("q@example.com").await;
        let began = Instant::now();
        loop {
            if lively.kinds() == ["account.created"] {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(10), "it waited for another");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Thirteen resellers whose 130 servers never answer leave a permit to one that has none, and no more than 128
    /// connections are open at a time.
    async fn silent_servers_of_many_resellers_do_not_delay_another(world: World) {
        let (silent, lively) = (Receiver::start().await, Receiver::start().await);
        let gate = silent.hold();
        let (resellers, each) = (13, 10);
        for number in 0..resellers {
            let tenant = world.tenant(&format!("R{number}")).await;
            for _ in 0..each {
                silent.webhook(&tenant, &[]).await;
            }
            tenant.make_account("a@example.com").await;
        }
        let quick = world.tenant("QUICK").await;
        lively.webhook(&quick, &[]).await;
        let patient = PublisherConfig { timeout: Duration::from_secs(600), ..PublisherConfig::new(true, true) };
        let courier = Courier::new(world.services.clone(), publisher_with(patient), world.clock.clone());
        tokio::spawn(courier.run(std::future::pending()));
        let arrive = async |receiver: &Receiver, mut arrived: usize, all: usize| {
            let began = Instant::now();
            while arrived < all {
                assert!(began.elapsed() < Duration::from_secs(100), "{arrived} of {all}");
                tokio::time::sleep(Duration::from_millis(20)).await;
                arrived += receiver.take().len();
            }
            arrived
        };
        // Each reseller that holds fewer than are free gets another: of 128 permits, at least nine each are taken.
        let arrived = arrive(&silent, 0, resellers * 9).await;
        quick.make_account("q@example.com").await;
        arrive(&lively, 0, 1).await;
        let arrived = arrived + silent.take().len();
        assert!(arrived < 128, "{arrived} messages, and the one that has arrived");
        gate.send_replace(true);
        arrive(&silent, arrived, resellers * each).await;
    }

    /// A name may lead inside; that is found out when it is looked up, and nothing is sent.
    async fn i10_a_name_that_leads_inside_is_not_spoken_to(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let url = receiver.url.replace("127.0.0.1", "localhost");
        let webhook = tenant.post("/v1/webhook", json!({"url": url})).await.expect(201);
        tenant.make_account("a@example.com").await;
        let guarded = publisher_with(PublisherConfig::new(true, false));
        Courier::new(world.services.clone(), guarded, world.clock.clone()).deliver_all().await;
        assert!(receiver.take().is_empty());
        let refused = &deliveries(&tenant, &webhook).await[0];
        // Where it leads is not told.
        assert_eq!(refused["error"], "the host has no address that may be spoken to", "{refused}");
        courier(&world).deliver_all().await;
        world.advance(Duration::from_secs(6));
        courier(&world).deliver_all().await;
        assert_eq!(receiver.take().len(), 1, "without the guard it would have been");
    }
}
