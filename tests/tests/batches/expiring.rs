//! Very many certificates that end at the same time.

use std::time::Duration;

use chancery_domain::OrderId;
use chancery_tests::{lookup, on_both_databases, settings};

use crate::common::{small_transactions, trail};

const DAY: Duration = Duration::from_secs(86_400);
const MANY: usize = 330;

on_both_databases! {
    async fn each_certificate_is_told_of_once_though_all_end_at_the_same_time(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let node = world.another_node(settings(), Vec::new()).await;
        let (one, two) = (&world.services.expiry, &node.services.expiry);
        one.sweep().await.unwrap();
        let issued = world.issue(&tenant, &account, &["a.test"]).await;
        let order: OrderId = lookup(&issued).parse().unwrap();
        world.copy_order(order, MANY - 1).await;
        world.advance(DAY * 59);
        assert_eq!(one.sweep().await.unwrap(), 0);
        world.advance(DAY * 2);
        world.store.take_write_peaks();
        // Two nodes look at once; what the one has told the other does not.
        let (first, second) = tokio::join!(one.sweep(), two.sweep());
        assert_eq!(first.unwrap() + second.unwrap(), MANY);
        small_transactions(&world);
        assert_eq!(one.sweep().await.unwrap() + two.sweep().await.unwrap(), 0);
        let told = trail(&world, "certificate.expire_soon").await;
        let subjects: std::collections::HashSet<_> = told.iter().map(|line| line.subject.clone()).collect();
        assert_eq!((told.len(), subjects.len()), (MANY, MANY));
    }
}
