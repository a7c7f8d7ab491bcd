//! Many at once, and more than one node.

use chancery_tests::{identifiers, on_both_databases, settings, unhurried};
use futures_util::future::join_all;
use serde_json::json;

use super::common::{stage, text};

on_both_databases! {
    async fn two_hundred_orders_at_once_on_one_account_all_come_to_be(world: World) {
        let (tenant, _, client) = stage(&world).await;
        let url = client.url("newOrder");
        let asked = (0..200).map(|number| {
            let (client, url) = (&client, &url);
            async move { client.post(url, &json!({"identifiers": identifiers(&[&format!("n{number}.test")])})).await }
        });
        let replies = join_all(asked).await;
        let mut places: Vec<_> = replies.iter().map(|reply| {
            assert_eq!(reply.status, 201, "{}", reply.text());
            reply.header("location").unwrap()
        }).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 200);
        let listed = tenant.get("/v1/certificates?limit=1000").await.expect(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 200);
    }

    async fn an_order_goes_on_at_another_node(world: World) {
        let (_, _, client) = stage(&world).await;
        let node = world.another_node(settings(), Vec::new()).await;
        let (url, order) = client.order(&["a.test"]).await;
        let client = client.speaking_to(node.stranger());
        client.answer_all(&order).await;
        node.work(None).await;
        let order = client.wait_for(&url, "ready").await;
        let third = world.another_node(unhurried(), Vec::new()).await;
        let client = client.speaking_to(third.stranger());
        let order = client.finalize(&order, &["a.test"]).await.expect(200);
        assert_eq!(order["status"], "processing");
        node.work(None).await;
        let order = client.wait_for(&url, "valid").await;
        assert_eq!(client.read(text(&order, "certificate")).await.status, 200);
    }

    async fn finalizing_many_times_at_once_gives_one_certificate(world: World) {
        world.start_workers();
        let (tenant, _, client) = stage(&world).await;
        let (url, order) = client.order(&["a.test"]).await;
        client.answer_all(&order).await;
        let order = client.wait_for(&url, "ready").await;
        let asked = (0..8).map(|_| client.finalize(&order, &["a.test"]));
        for reply in join_all(asked).await {
            assert!(reply.status == 200 || reply.status == 403, "{}", reply.text());
        }
        client.wait_for(&url, "valid").await;
        let issued = tenant.get("/v1/certificates?certificate_status=issued").await.expect(200);
        assert_eq!(issued["items"].as_array().unwrap().len(), 1);
    }
}
