//! `GET /v1/order`.

use std::collections::BTreeSet;

use chancery_tests::{lookup, on_both_databases};

use crate::common::{order_path, stage, text};

on_both_databases! {
    async fn orders_are_listed_by_account_and_status(world: World) {
        let (tenant, account) = stage(&world).await;
        let other = lookup(&tenant.make_account("b@example.com").await);
        let valid = world.issue(&tenant, &account, &["a.test"]).await;
        let ready = world.make_ready(&tenant, &other, &["b.test"]).await;
        let cancelled = tenant.make_order(&other, &["c.test"]).await;
        tenant.delete(&order_path(&cancelled)).await.expect(200);
        let found = async |query: &str| {
            let listed = tenant.get(&format!("/v1/order?{query}")).await.expect(200);
            listed["items"].as_array().unwrap().iter().map(|order| text(order, "lookup")).collect::<BTreeSet<_>>()
        };
        let these = |orders: &[&serde_json::Value]| orders.iter().map(|order| lookup(order)).collect::<BTreeSet<_>>();
        assert_eq!(found("").await, these(&[&valid, &ready, &cancelled]));
        assert_eq!(found("status=valid").await, these(&[&valid]));
        assert_eq!(found("status=ready").await, these(&[&ready]));
        assert_eq!(found(&format!("account_lookup={other}")).await, these(&[&ready, &cancelled]));
        assert_eq!(found(&format!("account_lookup={other}&status=cancelled")).await, these(&[&cancelled]));
        assert_eq!(found("account_lookup=nobody").await, these(&[]));
        assert_eq!(found("status=expired").await, these(&[]));
        assert_eq!(tenant.get("/v1/order?status=issued").await.status, 400);
    }
}
