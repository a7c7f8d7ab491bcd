//! The database's time is shared between resellers, and work for one of them is charged to it, whoever does it.

use std::time::Duration;

use chancery_domain::{GroupId, ResellerId};
use chancery_service::{Issuing, Settings};
use chancery_testkit::TestStore;
use chancery_tests::{AcmeClient, Flood, Reply, World, lookup, settings};
use chancery_workers::Workers;
use serde_json::json;
use tokio::time::timeout;

use crate::common::worlds;

const LONG: Duration = Duration::from_secs(60);

/// Does the jobs that are due while their reseller's share of the queues is full: they fail, and would wait for ever in the
/// system's queue.
async fn work_in_vain(world: &World, reseller: ResellerId) {
    world.advance(world.services.settings.issuing.job_lease);
    let jobs = world.services.jobs.lease().await.unwrap();
    assert!(!jobs.is_empty());
    let workers = Workers::new(world.services.clone(), None, world.clock.clone());
    let _flood = Flood::of(&world.store, reseller).await;
    for job in jobs {
        let kind = job.kind;
        assert!(timeout(LONG, workers.work(job)).await.is_ok(), "{kind:?} waits in the system's queue");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i13_jobs_wait_in_the_queue_of_their_reseller() {
    // A job that fails is tried again for so long.
    let issuing = Issuing { job_lease: Duration::from_secs(1), ..settings().issuing };
    let world = World::over(TestStore::sqlite(), Settings { issuing, ..settings() }, Vec::new()).await;
    let (tenant, reseller) = (world.tenant("DEMO").await, world.reseller_id("DEMO").await);
    let account = lookup(&tenant.make_account("c@example.com").await);
    let order = tenant.make_order(&account, &["www.example.com"]).await;
    tenant.choose_all(&order).await;
    let order = lookup(&order);
    work_in_vain(&world, reseller).await;
    assert_eq!(tenant.show_order(&order).await["status"], "pending");
    world.work(None).await;
    tenant.post_empty(&format!("/v1/order/{order}/finalize")).await.expect(202);
    work_in_vain(&world, reseller).await;
    assert_eq!(tenant.show_order(&order).await["status"], "processing");
    world.work(None).await;
    assert_eq!(tenant.show_order(&order).await["status"], "valid");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i13_batches_wait_in_the_queue_of_their_reseller() {
    // A job that fails is retried for as long as its lease.
    let issuing = Issuing { job_lease: Duration::from_secs(1), ..settings().issuing };
    let world = World::over(TestStore::sqlite(), Settings { issuing, ..settings() }, Vec::new()).await;
    let (tenant, reseller) = (world.tenant("DEMO").await, world.reseller_id("DEMO").await);
    let group = tenant.make_group("group").await;
    let id: GroupId = group.parse().unwrap();
    // The request applies twenty batches of 100 itself, and leaves the rest to a worker.
    world.fill_group(reseller, id, 2_300).await;
    tenant.delete(&format!("/v1/account-group/{group}")).await.expect(200);
    work_in_vain(&world, reseller).await;
    let members = world.store.write(move |tx| tx.delete_members(id, 1000)).await.unwrap();
    assert_eq!(members, 300);
    world.work(None).await;
    let jobs = world.services.jobs.backlog().await.unwrap();
    assert!(jobs.iter().all(|queue| queue.jobs == 0), "{jobs:?}");
}

#[track_caller]
fn refused_by_the_queue(reply: &Reply) {
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert_eq!(reply.json()["limit"], "store-queue", "{}", reply.text());
}

/// What is not charged to the tenant of strangers would wait for ever in the system's queue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i13_strangers_wait_in_a_queue_of_their_own() {
    for world in worlds(&settings()).await {
        let credential = world.tenant("DEMO").await.make_account("c@example.com").await;
        let mut client = AcmeClient::at(world.stranger(), "TLS-90d").await;
        let _flood = Flood::of_strangers(&world.store).await;
        let stranger = world.stranger();
        let asked = timeout(LONG, stranger.get("/acme/renewal-info/AAAA.AQAB")).await;
        refused_by_the_queue(&asked.expect("renewal information waits in another queue"));
        let registered = timeout(LONG, client.register(&credential)).await;
        refused_by_the_queue(&registered.expect("a registration waits in another queue"));
    }
}

/// Where the store redeems nonces, the request is verified by then, and its reseller is known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i13_nonces_are_redeemed_in_the_queue_of_their_reseller() {
    let Some(store) = TestStore::postgres() else { return };
    let world = World::over(store, settings(), Vec::new()).await;
    let credential = world.tenant("DEMO").await.make_account("c@example.com").await;
    let client = AcmeClient::registered(&world, &credential).await;
    let ask = async || client.post(&client.url("newOrder"), &json!({})).await;
    // The node knows the key of the account from now on.
    assert_eq!(ask().await.status, 400);
    let _flood = Flood::of(&world.store, world.reseller_id("DEMO").await).await;
    refused_by_the_queue(&timeout(LONG, ask()).await.expect("the nonce waits in another queue"));
}
