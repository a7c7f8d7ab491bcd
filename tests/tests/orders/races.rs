//! Two who want different things of one order at the same instant.

use std::collections::BTreeSet;

use chancery_tests::{at_once, count, csr, lookup, on_both_databases, settings};
use serde_json::json;

use crate::common::{challenge_paths, finalize_path, order_path, stage};

on_both_databases! {
    async fn an_order_is_either_finalized_or_cancelled(world: World) {
        let (tenant, account) = stage(&world).await;
        let second = world.another_node(settings(), Vec::new()).await;
        for round in 0..5 {
            let order = world.make_ready(&tenant, &account, &[&format!("r{round}.test")]).await;
            let (here, there, order) = (tenant.clone(), second.hears(&tenant), order.clone());
            let (cancel, finalize) = (order_path(&order), finalize_path(&order));
            let replies =
                at_once(8, |number| {
                    let (here, there, cancel, finalize) =
                        (here.clone(), there.clone(), cancel.clone(), finalize.clone());
                    async move {
                        if number % 2 == 0 { here.post_empty(&finalize).await } else { there.delete(&cancel).await }
                    }
                })
                .await;
            let (accepted, cancelled) = (count(&replies, 202), count(&replies, 200));
            assert_eq!(accepted + cancelled, 1);
            assert_eq!((count(&replies, 208), count(&replies, 400)), if accepted == 1 { (3, 4) } else { (0, 0) });
            assert_eq!(count(&replies, 410), if cancelled == 1 { 7 } else { 0 });
            world.work(None).await;
            let status = tenant.get(&order_path(&order)).await.expect(200)["status"].clone();
            assert_eq!(status, if accepted == 1 { "valid" } else { "cancelled" });
        }
    }

    async fn codes_are_the_same_for_all_and_only_one_choice_counts(world: World) {
        let (tenant, account) = stage(&world).await;
        let second = world.another_node(settings(), Vec::new()).await;
        let order = tenant.make_order(&account, &["a.test"]).await;
        let codes = format!("/v1/authz/{}/challenges", lookup(&order["authorizations"][0]));
        let nodes = [tenant.clone(), second.hears(&tenant)];
        let replies = at_once(12, |number| {
            let (who, codes) = (nodes[number % 2].clone(), codes.clone());
            async move { who.post_empty(&codes).await }
        })
        .await;
        let told: BTreeSet<_> = replies.iter().map(|reply| reply.expect(200)["challenges"].to_string()).collect();
        assert_eq!(told.len(), 1);

        let paths = challenge_paths(&tenant, &order, 0).await;
        let replies = at_once(12, |number| {
            let (who, path) = (nodes[number % 2].clone(), paths[number % 3].clone());
            async move { who.post_empty(&path).await }
        })
        .await;
        assert_eq!((count(&replies, 200), count(&replies, 410)), (1, 11));
        let chosen = replies.iter().find(|reply| reply.status == 200).unwrap().json();
        let refused = replies.iter().filter(|reply| reply.status == 410);
        assert!(refused.into_iter().all(|reply| lookup(&reply.json()["challenge"]) == lookup(&chosen)));
    }

    async fn a_reference_is_given_to_one_order(world: World) {
        let (tenant, account) = stage(&world).await;
        let second = world.another_node(settings(), Vec::new()).await;
        let nodes = [tenant.clone(), second.hears(&tenant)];
        let body = json!({"account_lookup": account, "csr": csr(&["a.test"]), "external_id": "PO-1"});
        let replies = at_once(10, |number| {
            let (who, body) = (nodes[number % 2].clone(), body.clone());
            async move { who.post("/v1/order", body).await }
        })
        .await;
        assert_eq!((count(&replies, 201), count(&replies, 400)), (1, 9));
        assert_eq!(tenant.get("/v1/certificates").await.expect(200)["items"].as_array().unwrap().len(), 1);
    }

    async fn no_order_of_a_terminated_account_stays_open(world: World) {
        let tenant = world.tenant("DEMO").await;
        let second = world.another_node(settings(), Vec::new()).await;
        for round in 0..3 {
            let account = lookup(&tenant.make_account(&format!("a{round}@example.com")).await);
            let body = json!({"account_lookup": account, "csr": csr(&["a.test"])});
            let (nodes, path) = ([tenant.clone(), second.hears(&tenant)], format!("/v1/account/{account}"));
            let replies = at_once(12, |number| {
                let (who, body, path) = (nodes[number % 2].clone(), body.clone(), path.clone());
                async move { if number == 5 { who.delete(&path).await } else { who.post("/v1/order", body).await } }
            })
            .await;
            assert_eq!(count(&replies, 201) + count(&replies, 410), 11);
            let listed = tenant.get(&format!("/v1/order?account_lookup={account}")).await.expect(200);
            let orders = listed["items"].as_array().unwrap();
            assert_eq!(orders.len(), count(&replies, 201));
            assert!(orders.iter().all(|order| order["status"] == "cancelled"), "{listed}");
        }
    }
}
