//! Accounts with very much to end, and the trail that tells of all of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chancery_domain::{AccountId, OrderStatus, PageRequest, RevocationReason};
use chancery_store::{AuditFilter, AuditRecord, OrderFilter, Outcome};
use chancery_tests::{Tenant, World, lookup, on_both_databases};
use futures_util::future::join_all;
use serde_json::{Value, json};

const MANY: usize = 320;

on_both_databases! {
    /// Others come in between, rather than wait until all of it is done.
    async fn very_many_open_orders_are_cancelled_a_few_at_a_time(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        for first in (0..MANY).step_by(40) {
            let names: Vec<_> = (first..first + 40).map(|number| format!("n{number}.test")).collect();
            join_all(names.iter().map(|name| async { tenant.make_order(&account, &[name]).await })).await;
        }
        let (busy, path) = (Arc::new(AtomicBool::new(true)), format!("/v1/account/{account}"));
        let (still, terminator) = (busy.clone(), tenant.clone());
        let terminating = tokio::spawn(async move {
            let reply = terminator.delete(&path).await;
            still.store(false, Ordering::SeqCst);
            reply
        });
        let mut seen = Vec::new();
        while busy.load(Ordering::SeqCst) {
            seen.push(cancelled(&world, &tenant).await);
        }
        assert_eq!(terminating.await.unwrap().status, 200);
        assert_eq!(cancelled(&world, &tenant).await, MANY);
        assert!(seen.iter().any(|seen| (1..MANY).contains(seen)), "all at once, or nothing was seen: {seen:?}");
        let told = trail(&world, "order.cancel").await;
        assert_eq!(told.len(), MANY);
        let [whole] = &trail(&world, "account.terminate").await[..] else { panic!("one line tells of it") };
        // Each order is told of as what it is a part of: by the same request.
        assert!(told.iter().all(|line| (&line.request_id, &line.actor) == (&whole.request_id, &whole.actor)));
        // Somebody else's account is not touched on the way.
        let other = world.tenant("OTHER").await;
        let account = lookup(&tenant.make_account("b@example.com").await);
        tenant.make_order(&account, &["kept.test"]).await;
        assert_eq!(other.delete(&format!("/v1/account/{account}")).await.status, 404);
        assert_eq!(cancelled(&world, &tenant).await, MANY);
    }

    async fn each_certificate_that_ends_with_its_account_is_in_the_trail(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let mut expected = Vec::new();
        for name in ["a.test", "b.test"] {
            let order = world.issue(&tenant, &account, &[name]).await;
            expected.push((order["certificateLookup"].as_str().unwrap().to_owned(), lookup(&order), name));
        }
        tenant.delete(&format!("/v1/account/{account}?revoke_certificates=true")).await.expect(200);
        let told = trail(&world, "certificate.revoke").await;
        assert_eq!(told.len(), expected.len());
        for (certificate, order, name) in expected {
            let told = told.iter().find(|record| record.subject == certificate).unwrap();
            let detail: Value = serde_json::from_str(&told.detail).unwrap();
            // What any revocation says, and why.
            assert_eq!(detail["account"], account, "{detail}");
            assert_eq!(detail["order"], order, "{detail}");
            assert_eq!(detail["names"], json!([name]), "{detail}");
            assert_eq!(detail["reason"], "cessationOfOperation", "{detail}");
            assert_eq!(detail["because"], "account.terminate", "{detail}");
            assert!(detail["serial"].is_string(), "{detail}");
        }
        let events = tenant.get("/v1/event?type=certificate.revoked").await.expect(200);
        let events = events["items"].as_array().unwrap();
        assert!(events.len() == 2 && events.iter().all(|event| event["data"]["names"].is_array()), "{events:?}");
    }

    /// Revocations are counted off with the certificates, a few at a time.
    async fn what_a_termination_that_was_cut_off_has_revoked_is_not_active(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let id: AccountId = account.parse().unwrap();
        let mut issued = Vec::new();
        for _ in 0..4 {
            issued.push(world.issue(&tenant, &account, &["a.test"]).await);
        }
        assert_eq!(active(&world, id).await, 4);
        let revocation = format!("/v1/certificates/{}/revocation", lookup(&issued[0]));
        tenant.post(&revocation, json!({})).await.expect(202);
        assert_eq!(active(&world, id).await, 3);
        let now = world.services.now();
        let reason = RevocationReason::CessationOfOperation;
        let unit = move |tx: &mut chancery_store::Tx<'_>| tx.revoke_some(id, reason, now, 2);
        assert_eq!(world.store.write(unit).await.unwrap().len(), 2);
        assert_eq!(active(&world, id).await, 1);
        tenant.delete(&format!("/v1/account/{account}?revoke_certificates=true")).await.expect(200);
        assert_eq!(active(&world, id).await, 0);
    }

    /// One that died is followed by another, which goes on with what waits.
    async fn refusals_are_written_down_after_the_writer_has_died(world: World) {
        let writer = |world: &World| {
            let audit = world.services.audit.clone();
            tokio::spawn(async move { audit.run(std::future::pending()).await })
        };
        let first = writer(&world);
        tokio::time::sleep(Duration::from_millis(50)).await;
        first.abort();
        let _ = first.await;
        assert_eq!(world.stranger().get("/v1/account").await.status, 401);
        let second = writer(&world);
        let began = Instant::now();
        while refusals(&world).await.is_empty() {
            assert!(began.elapsed() < Duration::from_secs(10), "nobody writes refusals down any more");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        second.abort();
    }
}

async fn cancelled(world: &World, tenant: &Tenant) -> usize {
    let (code, now) = (tenant.code.clone(), world.services.now());
    let read = move |tx: &mut chancery_store::Tx<'_>| {
        let reseller = tx.reseller_by_code(&code)?.expect("it is there").id;
        let filter = OrderFilter { account: None, external_id: None, status: Some(OrderStatus::Cancelled), now };
        tx.orders(reseller, &filter, &PageRequest { after: None, limit: 1000 })
    };
    world.store.read(read).await.unwrap().items.len()
}

/// How many certificates the quota of active ones counts.
async fn active(world: &World, account: AccountId) -> i64 {
    let now = world.services.now();
    let counted = world.store.read(move |tx| tx.active_certificates(account, now)).await.unwrap();
    counted.iter().map(|counted| counted.certificates).sum()
}

async fn trail(world: &World, action: &str) -> Vec<AuditRecord> {
    let filter = AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
    world.services.audit.list(filter, PageRequest { after: None, limit: 1000 }).await.unwrap()
}

async fn refusals(world: &World) -> Vec<AuditRecord> {
    let filter = AuditFilter { outcome: Some(Outcome::Refused), ..AuditFilter::default() };
    world.services.audit.list(filter, PageRequest { after: None, limit: 10 }).await.unwrap()
}
