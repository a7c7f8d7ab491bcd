//! A page of the console has at most 4 MiB, however long what it shows is.

use chancery_domain::{AccountId, OrderId, PAGE_BYTES};
use chancery_store::StoreError;
use chancery_tests::{LongThings, lookup, on_both_databases};

use crate::browser::Browser;

on_both_databases! {
    async fn a_page_of_long_things_has_at_most_4_mib(world: World) {
        let tenant = world.tenant("DEMO").await;
        let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
        let account: AccountId = lookup(&tenant.make_account("a@example.com").await).parse().unwrap();
        let like = tenant.make_order(&account.to_string(), &["a.test"]).await;
        let like: OrderId = lookup(&like).parse().unwrap();
        let filled = world.store.write(move |tx| {
            // In HTML a quotation mark has six bytes.
            let long = LongThings::of(reseller, "\"");
            let groups = long.groups(tx, 60)?;
            long.accounts(tx, &groups[0], 60)?;
            let policies = long.policies(tx, &groups, 60)?;
            let order = long.orders(tx, like, 60, false)?;
            let shown = long.orders(tx, like, 1, true)?;
            for _ in 0..60 {
                let detail = format!(r#"{{"problem":"{}"}}"#, "\\\"".repeat(4000));
                tx.append_audit(&chancery_store::AuditRecord { detail, ..long.make.audit(Some(reseller), "s") })?;
            }
            Ok::<_, StoreError>((groups[0].id, policies[0], order[0], shown[0]))
        });
        let (group, policy, order, shown) = filled.await.unwrap();
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
