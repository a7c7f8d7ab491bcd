//! Whoever asks for something and hangs up gets it all the same, at once: the clock stands still, so that no lease ends.

use std::time::Duration;

use chancery_service::{AcmeSettings, Settings};
use chancery_testkit::TestStore;
use chancery_tests::{World, lookup, settings};
use serde_json::Value;

use crate::common::stage;

async fn world() -> World {
    world_that_waits(AcmeSettings::of("https://ca.test").challenge_wait).await
}

async fn world_that_waits(challenge_wait: Duration) -> World {
    let acme = AcmeSettings { challenge_wait, ..AcmeSettings::of("https://ca.test") };
    let world = World::over(TestStore::sqlite(), Settings { acme, ..settings() }, Vec::new()).await;
    world.start_workers();
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_is_issued_though_the_client_does_not_wait_for_finalize() {
    let world = world().await;
    let (_, _, client) = stage(&world).await;
    let (url, order) = client.order(&["a.test"]).await;
    client.answer_all(&order).await;
    let order = client.wait_for(&url, "ready").await;
    world.hang_up(client.finalize(&order, &["a.test"])).await;
    client.wait_for(&url, "valid").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_challenge_is_looked_at_though_the_client_does_not_wait_for_its_choice() {
    // Looked at before it is chosen, and chosen at once.
    for wait in [Duration::from_secs(1), Duration::ZERO] {
        let world = world_that_waits(wait).await;
        let (_, _, client) = stage(&world).await;
        let (url, order) = client.order(&["a.test"]).await;
        world.hang_up(client.answer_all(&order)).await;
        client.wait_for(&url, "ready").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resellers_order_goes_on_though_nobody_waits_for_the_answers() {
    let world = world().await;
    let (tenant, credential, _) = stage(&world).await;
    let order = tenant.make_order(&lookup(&credential), &["a.test"]).await;
    let path = format!("/v1/order/{}", lookup(&order));
    let is = async |status: &str| {
        for _ in 0..500 {
            let order: Value = tenant.get(&path).await.expect(200);
            if order["status"] == status {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("the order is not {status}: {}", tenant.get(&path).await.text());
    };
    let codes = tenant.codes(&lookup(&order["authorizations"][0])).await;
    world.hang_up(tenant.post_empty(&format!("/v1/challenge/{}", lookup(&codes[0])))).await;
    is("ready").await;
    world.hang_up(tenant.post_empty(&format!("{path}/finalize"))).await;
    is("valid").await;
}
