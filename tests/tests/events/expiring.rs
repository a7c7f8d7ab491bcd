//! Who does not renew is told in time, once for each notice, and nobody else is.

use std::time::Duration;

use chancery_domain::Clock as _;
use chancery_tests::{lookup, on_both_databases, settings};
use serde_json::json;

use crate::common::{page, texts, types, whole};

const DAY: Duration = Duration::from_secs(86_400);

on_both_databases! {
    async fn a_certificate_that_nothing_replaces_is_told_of_before_its_end(world: World) {
        let mut tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let node = world.another_node(settings(), Vec::new()).await;
        let sweep = async || world.services.expiry.sweep().await.unwrap() + node.services.expiry.sweep().await.unwrap();
        sweep().await;
        let issued = world.issue(&tenant, &account, &["a.test", "b.test"]).await;
        let replaced = world.issue(&tenant, &account, &["c.test"]).await;
        let end = page(&tenant, "type=certificate.issued&limit=1").await["items"][0]["data"]["notAfter"].clone();
        let end = chancery_domain::Timestamp::parse(end.as_str().unwrap()).unwrap();
        let days = end.since(world.clock.now()).as_secs() / 86_400;
        assert!(days >= 80, "{days}");
        for _ in 0..days - 32 {
            world.advance(DAY);
        }
        tenant.sign_in().await;
        assert_eq!(sweep().await, 0);
        world.issue(&tenant, &account, &["c.test", "d.test"]).await;
        // A newer one with some of the names is no replacement.
        world.issue(&tenant, &account, &["a.test"]).await;
        let mut told = Vec::new();
        for _ in 0..40 {
            world.advance(DAY);
            let count = sweep().await;
            assert_eq!(sweep().await, 0, "once is enough");
            told.push(count);
        }
        assert_eq!(told.iter().sum::<usize>(), 3, "{told:?}");
        tenant_sees(&tenant, &issued).await;
        assert_ne!(issued["certificateLookup"], replaced["certificateLookup"]);
    }

    async fn a_clock_that_was_ahead_takes_no_notice_away(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let sweep = async || world.services.expiry.sweep().await.unwrap();
        sweep().await;
        world.issue(&tenant, &account, &["a.test"]).await;
        let right = world.clock.now();
        world.advance(85 * DAY);
        assert_eq!(sweep().await, 2, "two of three, far too early");
        world.clock.set(right);
        world.issue(&tenant, &account, &["b.test"]).await;
        let mut told = Vec::new();
        for _ in 0..95 {
            world.advance(DAY);
            told.push(sweep().await);
            assert_eq!(sweep().await, 0, "once is enough");
        }
        assert_eq!(told.iter().sum::<usize>(), 6, "{told:?}");
    }

    async fn a_clock_that_is_behind_tells_nobody_again(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let sweep = async || world.services.expiry.sweep().await.unwrap();
        sweep().await;
        world.issue(&tenant, &account, &["a.test"]).await;
        world.advance(61 * DAY);
        assert_eq!(sweep().await, 1);
        world.advance(3 * DAY);
        assert_eq!(sweep().await, 0);
        let right = world.clock.now();
        world.store.write(move |tx| tx.note_sweep(right)).await.unwrap();
        world.clock.set(right.minus(7 * DAY / 2));
        assert_eq!(sweep().await, 0, "it was told three days ago");
        world.clock.set(right);
        assert_eq!(sweep().await, 0);
    }

    async fn a_node_whose_clock_stays_ahead_makes_nobody_be_told_again_and_again(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let sweep = async || world.services.expiry.sweep().await.unwrap();
        sweep().await;
        world.issue(&tenant, &account, &["a.test"]).await;
        world.advance(50 * DAY);
        let mut told = 0;
        for _ in 0..45 {
            world.advance(DAY);
            let right = world.clock.now();
            told += sweep().await;
            world.advance(3 * DAY);
            told += sweep().await;
            world.clock.set(right);
        }
        // At most once by each clock.
        assert!((3..=6).contains(&told), "{told}");
    }
}

async fn tenant_sees(tenant: &chancery_tests::Tenant, issued: &serde_json::Value) {
    let mut tenant = tenant.clone();
    tenant.sign_in().await;
    let found = whole(&tenant, "type=certificate.expiring").await;
    assert_eq!(types(&found).len(), 3);
    for (event, days) in found["items"].as_array().unwrap().iter().zip([30, 7, 1]) {
        assert_eq!(event["subject"], issued["certificateLookup"]);
        assert_eq!(event["data"]["daysLeft"], days, "{event}");
        assert_eq!(event["data"]["names"], json!(["a.test", "b.test"]));
        assert_eq!(event["data"]["order"], lookup(issued));
    }
    assert_eq!(texts(&found, "account").len(), 3);
}
