//! A page of the console has at most 4 MiB, however long what it shows is.

use chancery_domain::{AccountId, OrderId, PAGE_BYTES};
use chancery_store::{AuditRecord, StoreError, Tx};
use chancery_tests::{LongThings, lookup, on_both_databases};

use crate::browser::Browser;

on_both_databases! {
    async fn a_page_of_long_things_has_at_most_4_mib(world: World) {
        let tenant = world.tenant("DEMO").await;
        let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
        let account: AccountId = lookup(&tenant.make_account("a@example.com").await).parse().unwrap();
        let like = tenant.make_order(&account.to_string(), &["a.test"]).await;
        let like: OrderId = lookup(&like).parse().unwrap();
        // In HTML a quotation mark has six bytes.
        let of = move |seed| LongThings::of(reseller, seed, "\"");
        let groups = world.store.write(move |tx| of(101).groups(tx, 60)).await.unwrap();
        let first = groups[0].clone();
        let group = first.id;
        world.store.write(move |tx| of(102).accounts(tx, &first, 60)).await.unwrap();
        let mut policies = Vec::new();
        for seed in 201..207 {
            let groups = groups.clone();
            policies.extend(world.store.write(move |tx| of(seed).policies(tx, &groups, 10)).await.unwrap());
        }
        let policy = policies[0];
        let order = world.store.write(move |tx| of(103).orders(tx, like, 60, false)).await.unwrap()[0];
        let shown = world.store.write(move |tx| of(104).orders(tx, like, 1, true)).await.unwrap()[0];
        let lines = move |tx: &mut Tx<'_>| {
            let long = of(105);
            for _ in 0..60 {
                let detail = format!(r#"{{"problem":"{}"}}"#, r#"\""#.repeat(4000));
                tx.append_audit(&AuditRecord { detail, ..long.make.audit(Some(reseller), "s") })?;
            }
            Ok::<_, StoreError>(())
        };
        world.store.write(lines).await.unwrap();
        let mut browser = Browser::of(&world, &tenant).await;
        for path in [
            "/console".to_owned(),
            "/console/customers".to_owned(),
            "/console/customers?q=customer".to_owned(),
            "/console/groups".to_owned(),
            format!("/console/groups/{group}"),
            "/console/policies".to_owned(),
            format!("/console/policies/{policy}"),
            "/console/orders".to_owned(),
            format!("/console/orders/{order}"),
            format!("/console/orders/{shown}"),
            "/console/certificates".to_owned(),
            "/console/audit".to_owned(),
        ] {
            let page = browser.look(&path).await;
            assert!(page.len() <= PAGE_BYTES, "{path}: {} bytes", page.len());
        }
        // The names are all there, and the API has what is left out.
        let page = browser.look(&format!("/console/orders/{shown}")).await;
        assert!(page.contains("The API shows it") && page.matches("Control of").count() == 100);
    }
}
