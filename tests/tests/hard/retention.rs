//! What has been kept long enough goes, in small steps that hold nobody up; what something rests on stays.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chancery_domain::{AuditId, CertificateId, PageRequest, ResellerId};
use chancery_service::{Retention, Swept};
use chancery_store::{AuditFilter, AuditRecord, OrderFilter, Outcome};
use chancery_testkit::{Address, SeededEntropy};
use chancery_tests::{AcmeClient, Tenant, World, lookup, on_both_databases, settings};
use futures_util::future::join_all;
use serde_json::{Value, json};

const DAY: Duration = Duration::from_secs(86_400);

on_both_databases! {
    async fn what_came_to_nothing_goes_after_its_time(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let cancelled = tenant.make_order(&account, &["cancelled.test"]).await;
        tenant.delete(&format!("/v1/order/{}", lookup(&cancelled))).await.expect(200);
        let lapsed = tenant.make_order(&account, &["lapsed.test"]).await;
        // Control was shown for it, which may stand behind a certificate of another order.
        let proven = world.make_ready(&tenant, &account, &["proven.test"]).await;
        tenant.delete(&format!("/v1/order/{}", lookup(&proven))).await.expect(200);
        assert_eq!(sweep(&world).await, Swept::default());

        // 90 days after it was cancelled.
        days_later(&world, &mut tenant, 91).await;
        assert_eq!(sweep(&world).await.orders, 1);
        gone(&tenant, &cancelled).await;
        there(&tenant, &lapsed).await;
        // 90 days after the seven that it could have been finished in.
        days_later(&world, &mut tenant, 7).await;
        assert_eq!(sweep(&world).await.orders, 1);
        gone(&tenant, &lapsed).await;
        there(&tenant, &proven).await;
        let listed = tenant.get("/v1/order").await.expect(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(sweep(&world).await, Swept::default());
        // As long as the longest certificate that may rest on it, also of a profile that was longer once, and two years.
        days_later(&world, &mut tenant, 730 + 199 + 17).await;
        assert_eq!(sweep(&world).await, Swept::default());
        days_later(&world, &mut tenant, 398 - 199).await;
        assert_eq!(sweep(&world).await.orders, 1);
        gone(&tenant, &proven).await;
    }

    async fn a_certificate_stays_with_its_evidence_until_it_is_long_expired_and_on_a_list(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let issued = world.issue(&tenant, &account, &["issued.test"]).await;
        let revoked = world.issue(&tenant, &account, &["revoked.test"]).await;
        let path = format!("/v1/certificates/{}/revocation", lookup(&revoked));
        tenant.post(&path, json!({"reason": "keyCompromise"})).await.expect(202);
        world.services.publication.look().await.unwrap();
        let serial = serial_of(&tenant, "revoked.test").await;
        let id: CertificateId = revoked["certificateLookup"].as_str().unwrap().parse().unwrap();
        let key = world.store.read(move |tx| tx.key_hash(id)).await.unwrap().unwrap();

        days_later(&world, &mut tenant, 90 + 729).await;
        world.services.publication.look().await.unwrap();
        assert_eq!(sweep(&world).await.certificates, 0);
        for order in [&issued, &revoked] {
            there(&tenant, order).await;
        }
        // Long enough for all; but no list was made since it expired, so a list may still need its row.
        world.advance(DAY * 2000);
        unlist(&world);
        assert_eq!(sweep(&world).await.certificates, 0, "a revocation would never be published");
        world.services.publication.look().await.unwrap();
        assert_eq!(sweep(&world).await.certificates, 2);
        days_later(&world, &mut tenant, 0).await;
        for order in [&issued, &revoked] {
            gone(&tenant, order).await;
        }
        // The key stays refused, whatever became of the certificate.
        assert!(world.store.read(move |tx| tx.blocked_key(&key)).await.unwrap().is_some());
        let found = world.store.read(move |tx| tx.certificate_by_serial(&serial)).await.unwrap();
        assert!(found.is_none());
        let left = world.store.read(|tx| tx.crl_heads()).await.unwrap();
        assert!(!left.is_empty(), "the lists go on");
    }

    async fn authorizations_ahead_of_an_order_go_when_nothing_can_rest_on_them(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        let client = AcmeClient::registered(&world, &tenant.make_account("a@example.com").await).await;
        let ask = |name: &str| json!({"identifier": {"type": "dns", "value": name}});
        let url = client.url("newAuthz");
        client.post(&url, &ask("never.test")).await.expect(201);
        days_later(&world, &mut tenant, 96).await;
        assert_eq!(sweep(&world).await.authorizations, 0);
        days_later(&world, &mut tenant, 2).await;
        assert_eq!(sweep(&world).await.authorizations, 1);
    }

    async fn the_trail_is_cut_at_its_end_and_nowhere_else(world: World) {
        note(&world, START_NOTE, Outcome::Refused).await;
        note(&world, START_NOTE, Outcome::Done).await;
        world.advance(DAY * 91);
        note(&world, "later", Outcome::Refused).await;
        assert_eq!(sweep(&world).await.audit, 1);
        assert_eq!(noted(&world, START_NOTE).await, [Outcome::Done]);
        assert_eq!(noted(&world, "later").await, [Outcome::Refused]);
        let cut = "DELETE FROM audit";
        let error = raw(&world, cut).expect_err("what is young cannot be deleted by anybody");
        assert!(error.contains("append-only"), "{error}");
        world.advance(DAY * 1005);
        note(&world, "now", Outcome::Done).await;
        assert!(sweep(&world).await.audit >= 2);
        assert_eq!(noted(&world, START_NOTE).await, []);
        assert_eq!(noted(&world, "now").await, [Outcome::Done]);
        let told = trail(&world, AuditFilter { action: Some("retention.delete".to_owned()), ..AuditFilter::default() }).await;
        assert_eq!(told.len(), 2, "the trail says what is no longer there");
        assert!(told[0].detail.contains("auditKeptFrom"), "{}", told[0].detail);
    }

    async fn one_node_at_a_time_does_it(world: World) {
        note(&world, START_NOTE, Outcome::Refused).await;
        note(&world, "newest", Outcome::Done).await;
        world.advance(DAY * 91);
        let now = world.services.now();
        let soon = Duration::from_secs(60);
        let (until, beyond) = (now.plus(soon), now.plus(4 * soon));
        let take = move |tx: &mut chancery_store::Tx<'_>| tx.take_lease("retention", "another", now, until, beyond);
        assert!(world.store.write(take).await.unwrap());
        assert_eq!(sweep(&world).await, Swept::default());
        world.advance(soon);
        assert_eq!(sweep(&world).await.audit, 1);
    }

    async fn a_clock_that_is_years_ahead_deletes_nothing_for_a_day(world: World) {
        let tries = async || world.services.retention.sweep().await.unwrap().audit;
        note(&world, START_NOTE, Outcome::Refused).await;
        note(&world, "newest", Outcome::Done).await;
        // Nothing is known of the clock yet.
        world.advance(DAY * 91);
        assert_eq!(tries().await, 0);
        world.advance(DAY);
        assert_eq!(tries().await, 1);
        note(&world, "young", Outcome::Refused).await;
        note(&world, "newest", Outcome::Done).await;
        world.advance(DAY * 2000);
        for _ in 0..24 {
            assert_eq!(tries().await, 0, "a clock that jumped was believed");
            world.advance(Duration::from_secs(3600));
        }
        // It has been steady, so the service was off for that long.
        assert!(tries().await >= 1);
        assert_eq!(noted(&world, "young").await, []);
    }

    /// Whoever writes meanwhile waits for one small step at most, and a row that somebody holds is passed over.
    async fn deleting_holds_nobody_up(world: World) {
        const MANY: usize = 200;
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        for first in (0..MANY).step_by(20) {
            let names: Vec<_> = (first..first + 20).map(|number| format!("n{number}.test")).collect();
            join_all(names.iter().map(|name| async { tenant.make_order(&account, &[name]).await })).await;
        }
        world.advance(DAY * 98);
        trust_the_clock(&world).await;
        let reseller = tenant_id(&world, &tenant).await;
        let held = hold_an_order(&world);
        let (sweeper, busy) = (world.services.retention.clone(), Arc::new(AtomicBool::new(true)));
        let still = busy.clone();
        let sweeping = tokio::spawn(async move {
            let swept = sweeper.sweep().await;
            still.store(false, Ordering::SeqCst);
            swept
        });
        let (mut longest, mut writes, mut left) = (Duration::ZERO, 0, BTreeSet::new());
        while busy.load(Ordering::SeqCst) {
            let began = Instant::now();
            note(&world, "meanwhile", Outcome::Done).await;
            longest = longest.max(began.elapsed());
            writes += 1;
            left.insert(orders(&world, reseller).await);
        }
        let swept = sweeping.await.unwrap().unwrap();
        let passed_over = usize::from(held.is_some());
        assert_eq!(swept.orders as usize, MANY - passed_over);
        assert!(left.len() >= 3, "it went in {} steps, {writes} writes were made meanwhile", left.len());
        assert!(longest < Duration::from_secs(10), "somebody waited for {longest:?}");
        drop(held);
        assert_eq!(sweep(&world).await.orders as usize, passed_over);
    }
}

#[tokio::test]
async fn what_is_to_be_kept_for_ever_is() {
    let for_ever = Retention {
        orders: None,
        authorizations: None,
        certificates: None,
        audit: None,
        refusals: None,
        ..Retention::default()
    };
    let settings = chancery_service::Settings { retention: for_ever, ..settings() };
    let world = World::over(chancery_testkit::TestStore::sqlite(), settings, Vec::new()).await;
    let tenant = world.tenant("DEMO").await;
    let account = lookup(&tenant.make_account("a@example.com").await);
    tenant.make_order(&account, &["a.test"]).await;
    note(&world, START_NOTE, Outcome::Refused).await;
    world.advance(DAY * 10_000);
    assert_eq!(sweep(&world).await, Swept::default());
}

const START_NOTE: &str = "start";

/// Looks after it, as if that had been done all along.
async fn sweep(world: &World) -> Swept {
    trust_the_clock(world).await;
    world.services.retention.sweep().await.unwrap()
}

async fn trust_the_clock(world: &World) {
    let now = world.services.now();
    world.store.write(move |tx| tx.note_sweep(now)).await.unwrap();
}

/// Time passes, and whoever comes back signs in again.
async fn days_later(world: &World, tenant: &mut Tenant, days: u32) {
    world.advance(DAY * days);
    world.services.identity.refresh_keys().await.unwrap();
    tenant.sign_in().await;
}

async fn there(tenant: &Tenant, order: &Value) {
    let reply = tenant.get(&format!("/v1/order/{}", lookup(order))).await;
    // One that has expired is told with 410.
    assert!(reply.status == 200 || reply.status == 410, "{}", reply.text());
}

/// Nothing of an order is shown any more, whatever name it is asked for by.
async fn gone(tenant: &Tenant, order: &Value) {
    let certificate = order["certificateLookup"].as_str().unwrap();
    let authorization = lookup(&order["authorizations"][0]);
    for path in [
        format!("/v1/order/{}", lookup(order)),
        format!("/v1/authz/{authorization}"),
        format!("/v1/certificate/{certificate}"),
    ] {
        let reply = tenant.get(&path).await;
        assert_eq!(reply.status, 404, "{path}: {}", reply.text());
    }
}

async fn serial_of(tenant: &Tenant, name: &str) -> String {
    let shown = tenant.get(&format!("/v1/certificates?name={name}")).await.expect(200);
    shown["items"][0]["serialNumber"].as_str().unwrap().to_owned()
}

async fn note(world: &World, subject: &str, outcome: Outcome) {
    static SEEDS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let entropy = SeededEntropy::new(9000 + SEEDS.fetch_add(1, Ordering::Relaxed));
    let now = world.services.now();
    let record = AuditRecord {
        id: AuditId::new(now, &entropy),
        at: now,
        reseller: None,
        actor_kind: "anonymous".to_owned(),
        actor: "nobody".to_owned(),
        address: String::new(),
        request_id: String::new(),
        action: "test".to_owned(),
        subject: subject.to_owned(),
        outcome,
        detail: "{}".to_owned(),
    };
    world.store.write(move |tx| tx.append_audit(&record)).await.unwrap();
}

async fn trail(world: &World, filter: AuditFilter) -> Vec<AuditRecord> {
    world.services.audit.list(filter, PageRequest { after: None, limit: 100 }).await.unwrap()
}

async fn noted(world: &World, subject: &str) -> Vec<Outcome> {
    let filter = AuditFilter { subject: Some(subject.to_owned()), ..AuditFilter::default() };
    trail(world, filter).await.into_iter().map(|record| record.outcome).collect()
}

async fn tenant_id(world: &World, tenant: &Tenant) -> ResellerId {
    let code = tenant.code.clone();
    world.store.read(move |tx| tx.reseller_by_code(&code)).await.unwrap().unwrap().id
}

async fn orders(world: &World, reseller: ResellerId) -> usize {
    let page = PageRequest { after: None, limit: 1000 };
    let filter = OrderFilter { account: None, external_id: None, status: None, now: world.services.now() };
    world.store.read(move |tx| tx.orders(reseller, &filter, &page)).await.unwrap().items.len()
}

/// As if no list had been made since the certificates ended.
fn unlist(world: &World) {
    raw(world, "UPDATE crls SET scheduled_at = 1").unwrap();
}

fn raw(world: &World, sql: &str) -> Result<(), String> {
    match world.store.address() {
        Address::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            connection.busy_timeout(Duration::from_secs(5)).unwrap();
            connection.execute_batch(sql).map_err(|error| error.to_string())
        }
        // The driver blocks, which it may not do on a thread of an async runtime.
        Address::Postgres(url) => std::thread::scope(|scope| {
            let run = || {
                let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
                client.batch_execute(sql).map_err(|error| format!("{:?}", error.as_db_error()))
            };
            scope.spawn(run).join().unwrap()
        }),
    }
}

/// Somebody who holds one of the orders, where several can work at once; lets go of it when this is dropped.
fn hold_an_order(world: &World) -> Option<Holder> {
    let Address::Postgres(url) = world.store.address() else { return None };
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (holds, held) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
        let mut transaction = client.transaction().unwrap();
        transaction.query_one("SELECT id FROM orders ORDER BY id LIMIT 1 FOR UPDATE", &[]).unwrap();
        holds.send(()).unwrap();
        let _ = released.recv();
        transaction.rollback().unwrap();
    });
    held.recv().unwrap();
    Some(Holder { release: Some(release), thread: Some(thread) })
}

struct Holder {
    release: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.release.take());
        self.thread.take().unwrap().join().unwrap();
    }
}
