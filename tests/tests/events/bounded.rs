//! Webhooks are bounded in bytes and rows: long records are read in part, and what a webhook has piled up is inserted and
//! removed in batches.

use std::time::Duration;

use chancery_domain::{AuditId, Clock, Delivery, DeliveryId, DeliveryState, EventId, EventType, Timestamp, WebhookId};
use chancery_store::{AuditRecord, Outcome};
use chancery_testkit::{Address, SeededEntropy};
use chancery_tests::{START, World, lookup, on_both_databases, settings};
use http::Method;
use serde_json::{Value, json};

use crate::receiver::{Receiver, courier, deliveries};

const MIB: usize = 1024 * 1024;
const DAY: Duration = Duration::from_secs(86_400);

/// The first column of what a query finds, behind the store's back.
fn numbers(world: &World, sql: &str) -> Vec<i64> {
    match world.store.address() {
        Address::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            let mut statement = connection.prepare(sql).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        }
        Address::Postgres(url) => std::thread::scope(|scope| {
            let query = || {
                let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
                client.query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
            };
            scope.spawn(query).join().unwrap()
        }),
    }
}

fn number(world: &World, sql: &str) -> i64 {
    numbers(world, sql)[0]
}

/// Appends records of the reseller DEMO with this detail.
async fn append(world: &World, count: usize, action: &str, outcome: Outcome, detail: &str) {
    let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
    let entropy = SeededEntropy::new(count as u64);
    for number in 0..count {
        let record = AuditRecord {
            id: AuditId::new(START, &entropy),
            at: START,
            reseller: Some(reseller),
            actor_kind: "service".to_owned(),
            actor: String::new(),
            address: String::new(),
            request_id: String::new(),
            action: action.to_owned(),
            subject: format!("acc_{number}"),
            outcome,
            detail: detail.to_owned(),
        };
        world.store.write(move |tx| tx.append_audit(&record)).await.unwrap();
    }
}

/// Inserts deliveries of events that never were.
async fn pile_up(world: &World, webhook: &Value, count: usize, state: DeliveryState, at: Timestamp) {
    let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
    let webhook: WebhookId = lookup(webhook).parse().unwrap();
    let entropy = SeededEntropy::new(at.as_millis() as u64 + count as u64);
    let made: Vec<_> = (0..count)
        .map(|_| Delivery {
            id: DeliveryId::new(at, &entropy),
            webhook,
            reseller,
            event: EventId { record: AuditId::new(at, &entropy), place: 0 },
            kind: EventType::AccountCreated,
            state,
            attempts: 1,
            due_at: at.plus(1000 * DAY),
            last: None,
            created_at: at,
        })
        .collect();
    world.store.write(move |tx| made.iter().try_for_each(|each| tx.insert_delivery(each))).await.unwrap();
}

/// Memory of this process in KiB, as the kernel counts it: `VmRSS` is what there is, `VmHWM` the most since the last reset.
fn memory(what: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim_matches(|each: char| !each.is_ascii_digit()).parse().unwrap()
}

on_both_databases! {
    /// Older versions wrote audit records of any size. A node that starts with a webhook behind some of them neither loads
    /// nor sends them.
    async fn records_of_many_megabytes_are_sent_truncated(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        receiver.webhook(&tenant, &[]).await;
        tenant.make_account("a@example.com").await;
        courier(&world).deliver_all().await;
        assert_eq!(receiver.kinds(), ["account.created"]);
        let problems = "x".repeat(8 * MIB);
        let detail = json!({"profile": "TLS-90d", "problems": problems}).to_string();
        append(&world, 8, "order.refuse", Outcome::Refused, &detail).await;
        drop((problems, detail));
        let small = json!({"profile": "TLS-90d", "problems": ["no"]}).to_string();
        append(&world, 1, "order.refuse", Outcome::Refused, &small).await;
        // A node that has just been started.
        let node = world.another_node(settings(), Vec::new()).await;
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        let before = memory("VmRSS:");
        crate::receiver::courier_of(&world, &node).deliver_all().await;
        let growth = memory("VmHWM:") - before;
        assert!(growth < 16 * 1024, "{growth} KiB more than before");
        let arrived = receiver.take();
        assert_eq!(arrived.len(), 9);
        for message in &arrived[..8] {
            assert_eq!(message.kind(), "policy.refused");
            assert_eq!(message.event()["data"]["truncated"], true);
            assert!(message.body.len() < 9_000, "{} bytes", message.body.len());
        }
        assert_eq!(arrived[8].event()["data"], json!({"profile": "TLS-90d", "problems": ["no"]}));
    }

    /// An event whose delivery was inserted by an older version is loaded through the same bound.
    async fn a_long_record_that_is_redelivered_is_truncated_too(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        append(&world, 1, "order.refuse", Outcome::Refused, &json!({"problems": "x".repeat(MIB)}).to_string()).await;
        courier(&world).deliver_all().await;
        let [first] = &receiver.take()[..] else { panic!("one message") };
        let delivery = lookup(&deliveries(&tenant, &webhook).await[0]);
        tenant.post_empty(&format!("/v1/webhook/{}/delivery/{delivery}/redeliver", lookup(&webhook))).await.expect(202);
        courier(&world).deliver_all().await;
        let [second] = &receiver.take()[..] else { panic!("one message") };
        assert!(first.body == second.body);
        assert_eq!(second.event()["data"]["truncated"], true);
        assert!(second.body.len() < 9_000, "{} bytes", second.body.len());
    }

    /// A record may be two events.
    async fn new_events_become_at_most_100_deliveries_in_a_transaction(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        receiver.webhook(&tenant, &["order.created", "order.ready"]).await;
        append(&world, 120, "order.create", Outcome::Done, r#"{"ready":true}"#).await;
        let dispatch = &world.services.dispatch;
        let webhook = dispatch.due().await.unwrap()[0];
        let round = dispatch.begin(webhook).await.unwrap().unwrap();
        assert_eq!((round.messages, round.has_more), (50, true));
        // One of the 50 records that were read is that of the webhook.
        assert_eq!(number(&world, "SELECT count(*) FROM deliveries"), 98);
        dispatch.end(webhook).await.unwrap();
        courier(&world).deliver_all().await;
        assert_eq!(receiver.take().len(), 240, "all of them, though the webhook was looked at once");
    }

    /// Records that a webhook does not want are passed over without waiting for the next look.
    async fn records_that_are_not_wanted_do_not_end_a_round(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        receiver.webhook(&tenant, &["account.created"]).await;
        append(&world, 120, "order.create", Outcome::Done, "{}").await;
        tenant.make_account("a@example.com").await;
        courier(&world).deliver_all().await;
        assert_eq!(receiver.kinds(), ["account.created"]);
    }

    async fn a_deleted_webhook_is_gone_at_once_and_its_deliveries_follow_after_a_crash(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        pile_up(&world, &webhook, 320, DeliveryState::Pending, START).await;
        tenant.make_account("a@example.com").await;
        let path = format!("/v1/webhook/{}", lookup(&webhook));
        tenant.send(Method::DELETE, &path, &[], None).await.expect(200);
        let rows = "SELECT count(*) FROM deliveries";
        assert_eq!(number(&world, rows), 270, "the transaction that deletes it removes no more");
        for reply in [
            tenant.get(&path).await,
            tenant.get(&format!("{path}/delivery")).await,
            tenant.send(Method::DELETE, &path, &[], None).await,
            tenant.send(Method::PATCH, &path, &[], Some(&json!({"enabled": true}))).await,
            tenant.post_empty(&format!("{path}/test")).await,
            tenant.post_empty(&format!("{path}/secret")).await,
        ] {
            assert_eq!(reply.refusal(404), "webhook_not_found");
        }
        assert_eq!(tenant.get("/v1/webhook").await.expect(200)["items"], json!([]));
        assert_eq!(number(&world, "SELECT count(*) FROM webhook_secrets"), 0);
        courier(&world).deliver_all().await;
        assert!(receiver.take().is_empty());
        // It does not count against the cap either.
        for _ in 0..10 {
            receiver.webhook(&tenant, &[]).await;
        }
        // The process dies after a batch; another one goes on.
        let id: WebhookId = lookup(&webhook).parse().unwrap();
        assert_eq!(world.store.write(move |tx| tx.purge_webhook(id, 100)).await.unwrap(), 100);
        let next = world.another_node(settings(), Vec::new()).await;
        assert_eq!(next.services.dispatch.sweep().await.unwrap(), 170);
        assert_eq!((number(&world, rows), number(&world, "SELECT count(*) FROM webhooks")), (0, 10));
        assert_eq!(next.services.dispatch.sweep().await.unwrap(), 0);
    }

    /// Nothing is left to the sweep of a webhook with few deliveries, so creating and deleting piles up nothing.
    async fn a_deleted_webhook_with_few_deliveries_leaves_nothing(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let (webhook, other) = (receiver.webhook(&tenant, &[]).await, receiver.webhook(&tenant, &[]).await);
        pile_up(&world, &webhook, 49, DeliveryState::Delivered, START).await;
        pile_up(&world, &other, 3, DeliveryState::Delivered, START).await;
        tenant.send(Method::DELETE, &format!("/v1/webhook/{}", lookup(&webhook)), &[], None).await.expect(200);
        assert_eq!(number(&world, "SELECT count(*) FROM webhooks"), 1);
        assert_eq!(number(&world, "SELECT count(*) FROM deliveries"), 3, "those of the other");
    }

    async fn two_nodes_that_sweep_at_once_remove_each_delivery_once(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        pile_up(&world, &webhook, 650, DeliveryState::Delivered, START).await;
        tenant.send(Method::DELETE, &format!("/v1/webhook/{}", lookup(&webhook)), &[], None).await.expect(200);
        let other = world.another_node(settings(), Vec::new()).await;
        let (one, two) = tokio::join!(world.services.dispatch.sweep(), other.services.dispatch.sweep());
        assert_eq!(one.unwrap() + two.unwrap(), 600);
        assert_eq!(number(&world, "SELECT count(*) FROM webhooks"), 0);
    }

    async fn finished_deliveries_are_forgotten_after_30_days_and_pending_ones_are_not(world: World) {
        let tenant = world.tenant("DEMO").await;
        let receiver = Receiver::start().await;
        let webhook = receiver.webhook(&tenant, &[]).await;
        world.advance(60 * DAY);
        let now = world.clock.now();
        pile_up(&world, &webhook, 5, DeliveryState::Pending, now.minus(40 * DAY)).await;
        pile_up(&world, &webhook, 250, DeliveryState::Delivered, now.minus(35 * DAY)).await;
        pile_up(&world, &webhook, 30, DeliveryState::Failed, now.minus(31 * DAY)).await;
        pile_up(&world, &webhook, 3, DeliveryState::Delivered, now.minus(29 * DAY)).await;
        assert_eq!(world.services.dispatch.sweep().await.unwrap(), 280);
        assert_eq!(number(&world, "SELECT count(*) FROM deliveries"), 8);
        assert_eq!(number(&world, "SELECT count(*) FROM deliveries WHERE state = 'pending'"), 5);
    }
}

/// Triggers count the rows that each transaction changes; PostgreSQL has a number for each, and the code is the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_transaction_changes_more_than_100_rows_of_webhooks() {
    let Some(world) = World::postgres().await else { return };
    let tenant = world.tenant("DEMO").await;
    let receiver = Receiver::start().await;
    let webhook = receiver.webhook(&tenant, &[]).await;
    let old = START.minus(40 * DAY);
    pile_up(&world, &webhook, 320, DeliveryState::Delivered, START).await;
    let kept = receiver.webhook(&tenant, &[]).await;
    pile_up(&world, &kept, 320, DeliveryState::Delivered, old).await;
    append(&world, 240, "order.create", Outcome::Done, r#"{"ready":true}"#).await;
    // More webhooks than a reseller can have, all of them leased to one node.
    let copies = "INSERT INTO webhooks SELECT 'whk_0000000000000000000000' || lpad(n::text, 4, '0'), reseller_id, url,
            description, types, state, failing_since, position, after_id, lease, leased_until, created_at, updated_at,
            version FROM webhooks, generate_series(1, 120) AS n WHERE id = (SELECT min(id) FROM webhooks) RETURNING 1::bigint";
    assert_eq!(numbers(&world, copies).len(), 120);
    let count = "CREATE TABLE changed (tx BIGINT, name TEXT);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN INSERT INTO changed VALUES (pg_current_xact_id()::text::bigint, TG_TABLE_NAME); RETURN NULL; END $$;
        CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON deliveries FOR EACH ROW EXECUTE FUNCTION note();
        CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON webhooks FOR EACH ROW EXECUTE FUNCTION note();";
    let Address::Postgres(url) = world.store.address() else { panic!("PostgreSQL") };
    std::thread::scope(|scope| {
        scope.spawn(|| ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap().batch_execute(count).unwrap());
    });
    let dispatch = &world.services.dispatch;
    for due in dispatch.due().await.unwrap() {
        dispatch.begin(due).await.unwrap();
    }
    assert!(number(&world, "SELECT count(*) FROM webhooks WHERE lease <> ''") > 120);
    dispatch.end_all().await.unwrap();
    assert_eq!(number(&world, "SELECT count(*) FROM webhooks WHERE lease <> ''"), 0);
    tenant.send(Method::DELETE, &format!("/v1/webhook/{}", lookup(&webhook)), &[], None).await.expect(200);
    dispatch.sweep().await.unwrap();
    assert_eq!(number(&world, "SELECT count(*) FROM deliveries WHERE state <> 'pending'"), 0);
    let most = "SELECT max(rows) FROM (SELECT count(*) AS rows FROM changed GROUP BY tx, name) AS each";
    assert_eq!(number(&world, most), 100);
}
