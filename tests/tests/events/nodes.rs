//! Several nodes, some of which die: every event is told at least once, and by one node at a time.

use std::time::Duration;

use chancery_publish::PublisherConfig;
use chancery_service::Sent;
use chancery_tests::{START, lookup, on_both_databases, settings};
use chancery_workers::Courier;
use tokio::sync::oneshot;

use crate::receiver::{Receiver, courier, courier_of, deliveries, publisher_with};

on_both_databases! {
    async fn what_a_node_left_behind_between_commit_and_delivery_is_told_by_another(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        tenant.make_account("a@example.com").await;
        // The event is committed, and the node that takes the webhook dies before it sends anything.
        let dying = world.another_node(settings(), Vec::new()).await;
        let due = dying.services.dispatch.due().await.unwrap();
        let round = dying.services.dispatch.begin(due[0]).await.unwrap().unwrap();
        assert_eq!(round.messages, 1);
        assert_eq!(round.webhook.id.to_string(), lookup(&webhook));
        assert!(world.services.dispatch.begin(due[0]).await.unwrap().is_none(), "nor by force");
        drop(dying);
        courier(&world).deliver_all().await;
        assert!(receiver.take().is_empty(), "while it is leased nobody else tells it");
        world.advance(Duration::from_secs(91));
        courier(&world).deliver_all().await;
        assert_eq!(receiver.kinds(), ["account.created"]);
    }

    async fn what_was_sent_and_not_noted_is_sent_again_under_the_same_name(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        tenant.make_account("a@example.com").await;
        let dying = world.another_node(settings(), Vec::new()).await;
        let due = dying.services.dispatch.due().await.unwrap();
        dying.services.dispatch.begin(due[0]).await.unwrap().unwrap();
        // It arrives, and then the node dies.
        let message = dying.services.dispatch.next_message(due[0]).await.unwrap().unwrap();
        let headers = message.sign(world.services.now());
        let post = chancery_publish::Post { url: &message.url, headers: &headers, body: &message.body };
        crate::receiver::publisher().post(&post).await.unwrap();
        let first = receiver.take().remove(0);
        world.advance(Duration::from_secs(91));
        courier(&world).deliver_all().await;
        let second = receiver.take().remove(0);
        assert_eq!(second.header("webhook-id"), first.header("webhook-id"));
        // Should the node live after all, what it has to say does no harm.
        let sent = Sent { at: START, took: Duration::ZERO, answer: Ok(200) };
        assert!(!dying.services.dispatch.conclude(&message, sent).await.unwrap(), "the webhook is not its own any more");
        courier(&world).deliver_all().await;
        assert!(receiver.take().is_empty());
        assert_eq!(deliveries(&tenant, &webhook).await.len(), 1);
    }

    async fn what_a_node_was_about_when_it_was_told_to_stop_is_told_by_the_next_at_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        receiver.webhook(&tenant, &[]).await;
        tenant.make_account("a@example.com").await;
        receiver.delay(Duration::from_secs(60));
        let stopping = world.another_node(settings(), Vec::new()).await;
        let patient = publisher_with(PublisherConfig::new(true, true));
        let courier_that_stops = Courier::new(stopping.services.clone(), patient, world.clock.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(courier_that_stops.run(async move {
            let _ = stopped.await;
        }));
        let patience = Duration::from_secs(30);
        let first = tokio::time::timeout(patience, async {
            loop {
                if let Some(message) = receiver.take().pop() {
                    break message;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        let first = first.await.expect("the first message");
        stop.send(()).unwrap();
        tokio::time::timeout(patience, running).await.expect("it stops").unwrap();
        receiver.delay(Duration::ZERO);
        courier(&world).deliver_all().await;
        let [second] = &receiver.take()[..] else { panic!("one message") };
        assert_eq!(second.header("webhook-id"), first.header("webhook-id"));
    }

    /// On SQLite one process serves at a time: who starts knows that nobody else is at work.
    async fn what_a_process_had_that_was_killed_need_not_wait_where_there_is_only_one(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        receiver.webhook(&tenant, &[]).await;
        tenant.make_account("a@example.com").await;
        let dying = world.another_node(settings(), Vec::new()).await;
        let due = dying.services.dispatch.due().await.unwrap();
        dying.services.dispatch.begin(due[0]).await.unwrap().unwrap();
        drop(dying);
        // It starts, and is told to stop before it looks.
        courier(&world).run(std::future::ready(())).await;
        courier(&world).deliver_all().await;
        let told = receiver.kinds();
        assert_eq!(told.is_empty(), world.store.is_shared(), "{told:?}");
        world.advance(Duration::from_secs(90));
        courier(&world).deliver_all().await;
        assert_eq!(told.len() + receiver.take().len(), 1, "once in all");
    }

    async fn two_nodes_tell_each_event_once_where_none_dies(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        receiver.webhook(&tenant, &[]).await;
        let other = world.another_node(settings(), Vec::new()).await;
        tokio::spawn(courier(&world).run(std::future::pending()));
        tokio::spawn(courier_of(&world, &other).run(std::future::pending()));
        let mut told = Vec::new();
        for number in 0..30 {
            tenant.make_account(&format!("a{number}@example.com")).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for _ in 0..200 {
            told.extend(receiver.take().iter().map(|message| message.event()["data"]["email"].to_string()));
            if told.len() >= 30 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep(Duration::from_millis(700)).await;
        told.extend(receiver.take().iter().map(|message| message.event()["data"]["email"].to_string()));
        let expected: Vec<_> = (0..30).map(|number| format!("\"a{number}@example.com\"")).collect();
        assert_eq!(told, expected, "each once, in order");
    }
}
