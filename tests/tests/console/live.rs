//! Pages that are loaded again while something is under way.

use std::time::Duration;

use chancery_tests::{lookup, on_both_databases};

use crate::browser::Browser;

/// After how many seconds an order's page asks to be loaded again.
async fn refresh(browser: &mut Browser, order: &str) -> Option<u32> {
    let page = browser.look(&format!("/console/orders/{order}")).await;
    let said = page.split_once("data-refresh=\"")?.1.split('"').next()?;
    Some(said.parse().unwrap())
}

on_both_databases! {
    async fn an_order_is_looked_at_again_until_it_has_ended(world: World) {
        let tenant = world.tenant("NORTH").await;
        let account = lookup(&tenant.make_account("anna@example.com").await);
        let mut browser = Browser::of(&world, &tenant).await;
        let open = tenant.make_order(&account, &["open.example.com"]).await;
        let id = lookup(&open);
        assert_eq!(refresh(&mut browser, &id).await, Some(15), "nobody has gone on yet");
        tenant.choose_all(&open).await;
        assert_eq!(refresh(&mut browser, &id).await, Some(3), "we look");
        world.work(None).await;
        assert_eq!(refresh(&mut browser, &id).await, Some(15), "it waits to be finalized");
        tenant.post_empty(&format!("/v1/order/{id}/finalize")).await.expect(202);
        assert_eq!(refresh(&mut browser, &id).await, Some(3), "we issue");
        world.work(None).await;
        assert_eq!(refresh(&mut browser, &id).await, None, "issued");

        let failed = lookup(&world.fail(&tenant, &account, "broken.test").await);
        assert_eq!(refresh(&mut browser, &failed).await, None, "failed");
        let cancelled = lookup(&tenant.make_order(&account, &["cancelled.example.com"]).await);
        browser.done(&format!("/console/orders/{cancelled}/cancel"), &[]).await;
        assert_eq!(refresh(&mut browser, &cancelled).await, None, "cancelled");
        let expired = lookup(&tenant.make_order(&account, &["expired.example.com"]).await);
        world.advance(Duration::from_secs(100 * 86_400));
        let mut browser = Browser::of(&world, &tenant).await;
        assert_eq!(refresh(&mut browser, &expired).await, None, "expired");
    }
}
