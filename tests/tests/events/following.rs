//! Who follows the feed misses nothing and sees nothing twice, however late something is committed.

use std::sync::mpsc;
use std::time::Duration;

use chancery_domain::{AuditId, Clock as _};
use chancery_store::{AuditRecord, Outcome, Place, StoreError, Tx};
use chancery_testkit::{Address, SeededEntropy};
use chancery_tests::{START, Tenant, World, lookup, on_both_databases, settings};

use crate::common::{page, texts, types, whole};

/// Follows from a cursor to the end, so many at a time.
async fn follow(tenant: &Tenant, cursor: &mut String, limit: usize) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let from = if cursor.is_empty() { String::new() } else { format!("&cursor={cursor}") };
        let found = page(tenant, &format!("order=oldest&limit={limit}{from}")).await;
        *cursor = found["nextCursor"].as_str().expect("a cursor always").to_owned();
        let ids = texts(&found, "id");
        if ids.is_empty() {
            return seen;
        }
        seen.extend(ids);
    }
}

async fn record(world: &World, subject: &str) -> AuditRecord {
    let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
    AuditRecord {
        id: AuditId::new(START, &SeededEntropy::new(99)),
        at: START,
        reseller: Some(reseller),
        actor_kind: "service".to_owned(),
        actor: String::new(),
        address: String::new(),
        request_id: String::new(),
        action: "account.create".to_owned(),
        subject: subject.to_owned(),
        outcome: Outcome::Done,
        detail: "{}".to_owned(),
    }
}

on_both_databases! {
    /// Whoever follows may have come further than the copy that was put back.
    async fn what_is_written_after_a_restore_comes_after_all_that_was_seen(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        let horizon = world.store.read(|tx| tx.event_horizon()).await.unwrap();
        world.services.operator.settle_restored().await.unwrap();
        let mut cursor = String::new();
        assert_eq!(follow(&tenant, &mut cursor, 10).await.len(), 1, "what there was is there");
        tenant.make_account("b@example.com").await;
        assert_eq!(follow(&tenant, &mut cursor, 10).await.len(), 1);
        let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
        let all = move |tx: &mut Tx<'_>| tx.records_after(reseller, &Place::default(), i64::MAX, 100);
        let placed = world.store.read(all).await.unwrap();
        assert!(placed.last().unwrap().place.position > horizon + 1_000_000_000, "{horizon}, then {placed:?}");
        if world.store.is_shared() {
            return;
        }
        // The same copy is put back a second time.
        world.advance(Duration::from_secs(1));
        world.store.write(|tx| tx.set_watermark("audit_base", 0)).await.unwrap();
        world.services.operator.settle_restored().await.unwrap();
        tenant.make_account("c@example.com").await;
        assert_eq!(follow(&tenant, &mut cursor, 10).await.len(), 1);
    }

    async fn pages_of_any_size_give_each_event_once_and_lead_on(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        world.issue(&tenant, &account, &["a.test"]).await;
        world.issue(&tenant, &account, &["b.test"]).await;
        let all = texts(&whole(&tenant, "limit=1000").await, "id");
        assert!(all.len() > 8, "{all:?}");
        for limit in [1, 2, 3, 100] {
            let mut cursor = String::new();
            assert_eq!(follow(&tenant, &mut cursor, limit).await, all, "{limit} at a time");
            // Newest first, page by page.
            let (mut newest, mut at) = (Vec::new(), String::new());
            loop {
                let found = page(&tenant, &format!("limit={limit}{at}")).await;
                newest.extend(texts(&found, "id"));
                let Some(next) = found["nextCursor"].as_str() else { break };
                at = format!("&cursor={next}");
            }
            newest.reverse();
            assert_eq!(newest, all, "{limit} at a time");
        }
        let mut cursor = String::new();
        follow(&tenant, &mut cursor, 2).await;
        assert_eq!(follow(&tenant, &mut cursor, 2).await, Vec::<String>::new());
        tenant.make_account("b@example.com").await;
        assert_eq!(follow(&tenant, &mut cursor, 2).await.len(), 1);
        assert_eq!(follow(&tenant, &mut cursor, 2).await.len(), 0);
    }

    /// Refusals are written after the fact, with ids from before: a follower by ids would never see them.
    async fn a_record_with_an_old_id_is_not_missed(world: World) {
        let tenant = world.tenant("DEMO").await;
        world.advance(std::time::Duration::from_secs(60));
        tenant.make_account("a@example.com").await;
        let mut cursor = String::new();
        assert_eq!(follow(&tenant, &mut cursor, 10).await.len(), 1);
        let late = record(&world, "acc_late").await;
        world.store.write(move |tx| tx.append_audit(&late)).await.unwrap();
        assert_eq!(follow(&tenant, &mut cursor, 10).await.len(), 1);
    }
}

/// On PostgreSQL transactions commit in any order; SQLite has one writer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_committed_late_is_waited_for_and_comes_first() {
    let Some(world) = World::postgres().await else { return };
    let tenant = world.tenant("DEMO").await;
    let mut cursor = String::new();
    follow(&tenant, &mut cursor, 10).await;
    let (begun, wait_begun) = mpsc::channel();
    let (go, wait_go) = mpsc::channel::<()>();
    let late = record(&world, "acc_late").await;
    let store = world.store.clone();
    let slow = tokio::spawn(async move {
        let unit = move |tx: &mut chancery_store::Tx<'_>| -> Result<(), StoreError> {
            tx.append_audit(&late)?;
            // A question, so that the database has heard of the record.
            tx.issuers()?;
            begun.send(()).unwrap();
            wait_go.recv().unwrap();
            Ok(())
        };
        store.write(unit).await
    });
    tokio::task::spawn_blocking(move || wait_begun.recv().unwrap()).await.unwrap();
    let account = lookup(&tenant.make_account("quick@example.com").await);
    // The quick one is there to be seen, but not to be passed.
    assert_eq!(types(&page(&tenant, "").await), ["account.created"]);
    assert_eq!(follow(&tenant, &mut cursor, 10).await, Vec::<String>::new());
    go.send(()).unwrap();
    slow.await.unwrap().unwrap();
    let found = page(&tenant, &format!("order=oldest&cursor={cursor}")).await;
    assert_eq!(texts(&found, "subject"), ["acc_late", account.as_str()]);
}

/// A dump that is loaded into another cluster meets smaller transaction numbers there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn positions_go_on_growing_after_a_database_was_restored_elsewhere() {
    let Some(world) = World::postgres().await else { return };
    let tenant = world.tenant("DEMO").await;
    let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
    let from_elsewhere = format!(
        "INSERT INTO audit (id, at, reseller_id, actor_kind, actor, address, request_id, action, subject, outcome, detail,
         position) VALUES ('{}', {}, '{reseller}', '', '', '', '', 'account.create', 'acc_old', 'done', '{{}}', 900000000000)",
        AuditId::new(world.clock.now(), &SeededEntropy::new(98)),
        world.clock.now().as_millis(),
    );
    let Address::Postgres(url) = world.store.address() else { panic!("PostgreSQL") };
    let insert =
        move || ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap().batch_execute(&from_elsewhere).unwrap();
    tokio::task::spawn_blocking(insert).await.unwrap();
    let mut cursor = String::new();
    assert_eq!(follow(&tenant, &mut cursor, 10).await.len(), 0, "it lies beyond what this cluster has counted");
    let node = world.another_node(settings(), Vec::new()).await;
    let mut cursor = String::new();
    assert_eq!(follow(&node.hears(&tenant), &mut cursor, 10).await.len(), 1);
    tenant.make_account("new@example.com").await;
    assert_eq!(follow(&tenant, &mut cursor, 10).await.len(), 1);
}
