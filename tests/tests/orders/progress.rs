//! What an order tells about how far it has come.

use chancery_tests::{Tenant, on_both_databases};
use serde_json::Value;

use crate::common::{fail_validation, finalize_path, finalized, order_path, stage, text};

/// Every step as `step status`.
async fn progress(tenant: &Tenant, order: &Value) -> Vec<String> {
    let shown = tenant.get(&order_path(order)).await.expect(200);
    let steps = shown["progress"].as_array().unwrap();
    for step in steps {
        assert_eq!(step.get("at").is_some(), step["status"] != "waiting", "{step}");
        assert!(step["status"] != "failed" || step["detail"].as_str().is_some_and(|why| !why.is_empty()), "{step}");
    }
    steps.iter().map(|step| format!("{} {}", text(step, "step"), text(step, "status"))).collect()
}

on_both_databases! {
    async fn an_order_tells_how_far_it_has_come_and_where_it_failed(world: World) {
        let (tenant, account) = stage(&world).await;
        let order = tenant.make_order(&account, &["a.test", "b.test"]).await;
        assert_eq!(
            progress(&tenant, &order).await,
            ["policy done", "validation waiting", "caa waiting", "sign waiting", "lint waiting", "publish waiting",]
        );
        let shown = tenant.get(&order_path(&order)).await.expect(200);
        assert_eq!(shown["progress"][1]["detail"], "0 of 2 names are shown");
        tenant.choose_all(&order).await;
        world.work(None).await;
        let ready = ["policy done", "validation done", "caa done", "sign waiting", "lint waiting", "publish waiting"];
        assert_eq!(progress(&tenant, &order).await, ready);
        tenant.post_empty(&finalize_path(&order)).await.expect(202);
        assert_eq!(progress(&tenant, &order).await, ready);
        world.work(None).await;
        assert_eq!(
            progress(&tenant, &order).await,
            ["policy done", "validation done", "caa done", "sign done", "lint done", "publish done",]
        );

        let failed = tenant.make_order(&account, &["c.test"]).await;
        fail_validation(&world, &tenant, &failed).await;
        assert_eq!(progress(&tenant, &failed).await, ["policy done", "validation failed"]);
        let cancelled = tenant.make_order(&account, &["d.test"]).await;
        tenant.delete(&order_path(&cancelled)).await.expect(200);
        assert_eq!(progress(&tenant, &cancelled).await, ["policy done"]);
        let refused = finalized(&world, &tenant, &account, &["e.test"]).await;
        tenant.delete(&format!("/v1/eab-credential/{}", text(&refused, "eabKid"))).await.expect(200);
        world.work(None).await;
        assert_eq!(progress(&tenant, &refused).await, ["policy done", "validation done", "caa done", "policy failed"]);
    }
}
