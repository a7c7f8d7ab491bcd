//! Authorizations that very many orders depend on.

use chancery_domain::{OrderId, OrderStatus};
use chancery_tests::{AcmeClient, Tenant, World, identifiers, lookup, on_both_databases};
use serde_json::{Value, json};

use crate::common::{SECOND, cascades, finish, orders, small_transactions, trail};

/// More than are reached while the caller waits: twenty batches of 25 orders.
const MANY: usize = 600;

struct Stage {
    tenant: Tenant,
    client: AcmeClient,
    /// The authorization that everything else stands on.
    earned: String,
    /// Orders that are ready because of it.
    ready: Vec<OrderId>,
}

fn last(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}

async fn stage(world: &World, count: usize) -> Stage {
    world.start_workers();
    let tenant = world.tenant("DEMO").await;
    let client = AcmeClient::registered(world, &tenant.make_account("a@example.com").await).await;
    let (_, first) = client.issue(&["a.test"]).await;
    let earned = first["authorizations"][0].as_str().unwrap().to_owned();
    let (url, order) = client.order(&["a.test"]).await;
    assert_eq!(order["status"], "ready", "{order}");
    let mut ready: Vec<OrderId> = vec![last(&url).parse().unwrap()];
    ready.extend(world.copy_order(ready[0], count - 1).await);
    world.store.take_write_peaks();
    Stage { tenant, client, earned, ready }
}

impl Stage {
    async fn deactivate(&self, url: &str) -> Value {
        self.client.post(url, &json!({"status": "deactivated"})).await.expect(200)
    }

    fn url_of(&self, order: OrderId) -> String {
        format!("https://ca.test/acme/order/{order}")
    }

    async fn see(&self, order: OrderId) -> Value {
        self.client.read(&self.url_of(order)).await.expect(200)
    }
}

/// An order that no batch has reached.
async fn unreached(world: &World, ready: &[OrderId]) -> Option<OrderId> {
    let ready = ready.to_vec();
    let find = move |tx: &mut chancery_store::Tx<'_>| {
        for id in &ready {
            if matches!(tx.any_order(*id)?.unwrap().state, chancery_domain::OrderState::Ready) {
                return Ok::<_, chancery_store::StoreError>(Some(*id));
            }
        }
        Ok(None)
    };
    world.store.read(find).await.unwrap()
}

on_both_databases! {
    async fn a_deactivated_authorization_counts_for_nothing_before_a_batch_has_reached_its_orders(world: World) {
        // No workers: what is not done while the client waits stays undone.
        let stage = without_workers(&world, MANY).await;
        let given_up = stage.deactivate(&stage.earned).await;
        assert_eq!(given_up["status"], "deactivated");
        small_transactions(&world);
        assert_eq!(cascades(&world).await, 1);
        let left = orders(&world, &stage.tenant, OrderStatus::Ready).await;
        assert!((1..MANY).contains(&left), "{left} orders are left");

        // Both doors show an order as failed that no batch has reached, with its authorization.
        let order = unreached(&world, &stage.ready).await.unwrap();
        let seen = stage.see(order).await;
        assert_eq!((&seen["status"], &seen["error"]["status"]), (&json!("invalid"), &json!(403)), "{seen}");
        assert_eq!(seen["error"]["detail"], "the authorization for a.test was deactivated");
        let authorization = stage.client.read(seen["authorizations"][0].as_str().unwrap()).await.expect(200);
        assert_eq!(authorization["status"], "deactivated", "{authorization}");
        let shown = stage.tenant.show_order(&order.to_string()).await;
        assert_eq!((&shown["status"], &shown["authorizations"][0]["status"]), (&json!("invalid"), &json!("deactivated")));
        // A list of ready orders has no failed one, whatever state its row is in.
        let listed = stage.tenant.get("/v1/order?status=ready&limit=1000").await.expect(200);
        assert_eq!(listed["items"], json!([]));
        // It cannot be finalized, and nothing new stands on what was given up.
        let refused = stage.client.finalize(&seen, &["a.test"]).await;
        assert_eq!(refused.status, 403, "{}", refused.text());
        assert!(refused.text().contains("orderNotReady") && refused.text().contains("was deactivated"), "{}", refused.text());
        let (_, new) = stage.client.order(&["a.test"]).await;
        assert_eq!(new["status"], "pending", "{new}");

        finish(&world).await;
        small_transactions(&world);
        assert_eq!(orders(&world, &stage.tenant, OrderStatus::Ready).await, 0);
        assert_eq!(orders(&world, &stage.tenant, OrderStatus::Invalid).await, MANY);
        // Each failed once, and the trail says by whose request.
        let told = trail(&world, "order.fail").await;
        let [whole] = &trail(&world, "authorization.deactivate").await[..] else { panic!("one line tells of it") };
        // That of the authorization itself is told of with it.
        assert_eq!(told.len(), MANY - 1);
        let by_request = told.iter().filter(|line| (&line.request_id, &line.actor) == (&whole.request_id, &whole.actor));
        // That which was finalized failed by another.
        assert_eq!(by_request.count(), MANY - 2);
        let (_, new) = stage.client.order(&["a.test"]).await;
        assert_eq!(new["status"], "pending", "{new}");
    }

    async fn what_is_earned_after_a_deactivation_outlives_its_batches(world: World) {
        let stage = without_workers(&world, MANY).await;
        stage.deactivate(&stage.earned).await;
        assert_eq!(cascades(&world).await, 1);
        world.advance(SECOND);
        let (url, order) = stage.client.order(&["a.test"]).await;
        let authorization = stage.client.read(order["authorizations"][0].as_str().unwrap()).await.expect(200);
        stage.client.post(authorization["challenges"][0]["url"].as_str().unwrap(), &json!({})).await.expect(200);
        finish(&world).await;
        let order = stage.client.read(&url).await.expect(200);
        assert_eq!(order["status"], "ready", "{order}");
        stage.client.finalize(&order, &["a.test"]).await.expect(200);
        world.work(None).await;
        assert_eq!(stage.client.read(&url).await.expect(200)["status"], "valid");
    }

    async fn two_deactivations_at_once_end_each_order_once(world: World) {
        let stage = stage(&world, 200).await;
        let copy = stage.see(stage.ready[100]).await["authorizations"][0].as_str().unwrap().to_owned();
        let (one, other) = tokio::join!(stage.deactivate(&stage.earned), stage.deactivate(&copy));
        assert_eq!((&one["status"], &other["status"]), (&json!("deactivated"), &json!("deactivated")));
        small_transactions(&world);
        assert_eq!(stage.deactivate(&stage.earned).await["status"], "deactivated");
        assert_eq!(cascades(&world).await, 0);
        assert_eq!(orders(&world, &stage.tenant, OrderStatus::Invalid).await, 200);
        // An order is told of once: by itself, or with the authorization of its own.
        let told = trail(&world, "order.fail").await.len() + trail(&world, "authorization.deactivate").await.len();
        assert_eq!(told, 201);
    }

    async fn an_order_is_issued_before_a_deactivation_or_not_at_all(world: World) {
        let stage = stage(&world, 60).await;
        let finalizing = stage.ready.iter().map(|order| async {
            let order = stage.see(*order).await;
            stage.client.finalize(&order, &["a.test"]).await.status
        });
        let finalizing = futures_util::future::join_all(finalizing);
        let giving_up = async {
            assert_eq!(stage.deactivate(&stage.earned).await["status"], "deactivated");
            orders(&world, &stage.tenant, OrderStatus::Valid).await
        };
        let (statuses, valid) = tokio::join!(finalizing, giving_up);
        assert!(statuses.iter().all(|status| [200, 403].contains(&status.as_u16())), "{statuses:?}");
        for order in &stage.ready {
            let url = stage.url_of(*order);
            let mut seen = stage.see(*order).await;
            while seen["status"] == "processing" {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                seen = stage.client.read(&url).await.expect(200);
            }
            assert!(seen["status"] == "valid" || seen["status"] == "invalid", "{seen}");
        }
        assert_eq!(cascades(&world).await, 0);
        assert_eq!(orders(&world, &stage.tenant, OrderStatus::Valid).await, valid, "issued after the answer");
        let (_, new) = stage.client.order(&["a.test"]).await;
        assert_eq!(new["status"], "pending", "{new}");
    }

    /// What others of the same customer have earned for the name is theirs, and is neither read nor changed.
    async fn what_others_have_earned_for_the_name_stays(world: World) {
        let stage = stage(&world, 30).await;
        let credential = stage.tenant.post_empty(&format!("/v1/account/{}/eab-credential", account(&stage).await)).await.expect(201);
        let other = AcmeClient::registered(&world, &credential).await;
        other.issue(&["a.test"]).await;
        stage.deactivate(&stage.earned).await;
        assert_eq!(stage.client.order(&["a.test"]).await.1["status"], "pending");
        let reply = other.post(&other.url("newOrder"), &json!({"identifiers": identifiers(&["a.test"])})).await;
        assert_eq!(reply.expect(201)["status"], "ready");
    }
}

async fn account(stage: &Stage) -> String {
    let accounts = stage.tenant.get("/v1/account").await.expect(200);
    lookup(&accounts["items"][0])
}

/// A stage on which nobody works in the background any more.
async fn without_workers(world: &World, count: usize) -> Stage {
    let tenant = world.tenant("DEMO").await;
    let client = AcmeClient::registered(world, &tenant.make_account("a@example.com").await).await;
    let (url, order) = client.order(&["a.test"]).await;
    client.answer_all(&order).await;
    world.work(None).await;
    let order = client.read(&url).await.expect(200);
    assert_eq!(order["status"], "ready", "{order}");
    let earned = order["authorizations"][0].as_str().unwrap().to_owned();
    let (url, order) = client.order(&["a.test"]).await;
    assert_eq!(order["status"], "ready", "{order}");
    let mut ready: Vec<OrderId> = vec![last(&url).parse().unwrap()];
    ready.extend(world.copy_order(ready[0], count - 2).await);
    world.store.take_write_peaks();
    Stage { tenant, client, earned, ready }
}
