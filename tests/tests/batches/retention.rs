//! What has been kept long enough goes a hundred rows at a time, with all that belongs to it.

use std::time::Duration;

use chancery_domain::OrderId;
use chancery_store::Tx;
use chancery_tests::{lookup, on_both_databases};

use crate::common::small_transactions;

const DAY: Duration = Duration::from_secs(86_400);

on_both_databases! {
    async fn an_order_with_a_hundred_names_goes_in_parts(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let names: Vec<_> = (0..100).map(|number| format!("n{number}.test")).collect();
        let order = lookup(&tenant.make_order(&account, &names.iter().map(String::as_str).collect::<Vec<_>>()).await);
        let few = lookup(&tenant.make_order(&account, &["few.test"]).await);
        let mut orders: Vec<OrderId> = vec![order.parse().unwrap(), few.parse().unwrap()];
        orders.extend(world.copy_order(orders[0], 3).await);
        orders.extend(world.copy_order(orders[1], 60).await);
        world.advance(DAY * 98);
        world.store.take_write_peaks();
        // The first sweep of a database believes no clock before a day has passed.
        world.services.retention.sweep().await.unwrap();
        world.advance(DAY);
        let swept = world.services.retention.sweep().await.unwrap();
        assert_eq!(swept.orders, orders.len() as u64, "{swept:?}");
        small_transactions(&world);
        let left = move |tx: &mut Tx<'_>| {
            let mut left = Vec::new();
            for id in &orders {
                left.extend(tx.any_order(*id)?);
                assert_eq!(tx.authorizations(*id)?, []);
                assert_eq!(tx.certificate_of_order(*id)?, None);
            }
            Ok::<_, chancery_store::StoreError>(left)
        };
        assert_eq!(world.store.read(left).await.unwrap(), []);
    }
}
