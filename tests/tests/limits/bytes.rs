//! No page and no answer is longer than 4 MiB, however many and however long the items are that a reseller has.

use std::collections::BTreeSet;

use chancery_domain::{AccountId, OrderId, PAGE_BYTES};
use chancery_testkit::Address;
use chancery_tests::{LongThings, Tenant, World, lookup, on_both_databases};
use http::Request;
use http_body_util::BodyExt;
use tower::ServiceExt;

/// Walks a list to its end: no page is too long, and each item comes once. Gives how many items and pages there were.
async fn walk(tenant: &Tenant, path: &str) -> (usize, usize) {
    let (mut seen, mut pages, mut cursor) = (BTreeSet::new(), 0, String::new());
    loop {
        let reply = tenant.get(&format!("{path}?limit=1000{cursor}")).await;
        assert!(reply.body.len() <= PAGE_BYTES, "{path}: {} bytes", reply.body.len());
        let page = reply.expect(200);
        let items = page["items"].as_array().unwrap();
        assert!(!items.is_empty(), "{path}");
        assert!(items.iter().all(|item| seen.insert(lookup(item))), "{path}: an item came twice");
        pages += 1;
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (seen.len(), pages),
        }
    }
}

/// The whole list of certificates as CSV: how many lines there are. No part is too long.
async fn csv_lines(world: &World, tenant: &Tenant) -> usize {
    let request = Request::get("/v1/certificates").header("accept", "text/csv");
    let request = request.header("authorization", tenant.authorization.as_deref().unwrap());
    let answer = world.router.clone().oneshot(request.body(axum::body::Body::empty()).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200);
    let (mut body, mut lines) = (answer.into_body(), 0);
    while let Some(frame) = body.frame().await {
        let part = frame.unwrap().into_data().unwrap();
        assert!(part.len() <= PAGE_BYTES, "a part of {} bytes", part.len());
        lines += part.iter().filter(|byte| **byte == b'\n').count();
    }
    lines
}

on_both_databases! {
    async fn a_page_of_any_list_has_at_most_4_mib_and_leads_on(world: World) {
        let tenant = world.tenant("DEMO").await;
        let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
        let account: AccountId = lookup(&tenant.make_account("a@example.com").await).parse().unwrap();
        let like = tenant.make_order(&account.to_string(), &["a.test"]).await;
        let like: OrderId = lookup(&like).parse().unwrap();
        let of = move |seed| LongThings::of(reseller, seed, "😀");
        let groups = world.store.write(move |tx| of(101).groups(tx, 600)).await.unwrap();
        let first = groups[0].clone();
        let group = first.id;
        world.store.write(move |tx| of(102).accounts(tx, &first, 150)).await.unwrap();
        for seed in 201..221 {
            let groups = groups[..300].to_vec();
            world.store.write(move |tx| of(seed).policies(tx, &groups, 1)).await.unwrap();
        }
        world.store.write(move |tx| of(103).orders(tx, like, 200, false)).await.unwrap();
        let order = world.store.write(move |tx| of(104).orders(tx, like, 12, true)).await.unwrap()[0];

        for (path, items, pages) in [
            ("/v1/account-group".to_owned(), 600, 2),
            ("/v1/account".to_owned(), 151, 2),
            ("/v1/eab-credential".to_owned(), 151, 2),
            (format!("/v1/account-group/{group}/member"), 150, 2),
            ("/v1/policy".to_owned(), 20, 2),
            ("/v1/order".to_owned(), 213, 4),
            ("/v1/certificates".to_owned(), 213, 2),
        ] {
            let walked = walk(&tenant, &path).await;
            assert_eq!(walked.0, items, "{path}");
            assert!(walked.1 >= pages, "{path}: {} pages", walked.1);
        }
        assert_eq!(csv_lines(&world, &tenant).await, 213 + 1);

        // One thing by itself, as long as it can be.
        let policy = lookup(&tenant.get("/v1/policy?limit=1").await.expect(200)["items"][0]);
        for path in [format!("/v1/order/{order}"), format!("/v1/policy/{policy}"), format!("/v1/account-group/{group}")] {
            let reply = tenant.get(&path).await;
            assert!(reply.body.len() <= PAGE_BYTES, "{path}: {} bytes", reply.body.len());
            reply.expect(200);
        }
    }

    /// Earlier versions wrote all that policies had against an order into the order itself.
    async fn a_long_problem_of_an_earlier_version_is_not_read(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let order = lookup(&world.fail(&tenant, &account, "a.test").await);
        let address = world.store.address();
        let sql = format!("UPDATE orders SET problem = '{{\"kind\":\"caa\",\"detail\":\"{}\"}}' WHERE id = '{order}'", "x".repeat(5_000_000));
        tokio::task::spawn_blocking(move || match address {
            Address::Sqlite(path) => assert_eq!(rusqlite::Connection::open(path).unwrap().execute(&sql, []).unwrap(), 1),
            Address::Postgres(url) => {
                let mut client = ::postgres::Client::connect(&url, ::postgres::NoTls).unwrap();
                assert_eq!(client.execute(&sql, &[]).unwrap(), 1);
            }
        })
        .await
        .unwrap();
        let shown = tenant.show_order(&order).await;
        assert_eq!(shown["error"]["type"], "rejectedIdentifier");
        let listed = tenant.get(&format!("/v1/order?status=invalid&account_lookup={account}")).await;
        assert!(listed.body.len() < 10_000);
        assert_eq!(lookup(&listed.expect(200)["items"][0]), order);
        let id: OrderId = order.parse().unwrap();
        let read = world.store.read(move |tx| tx.any_order(id).map(|_| tx.bytes_read())).await.unwrap();
        assert!(read < 10_000, "{read} bytes");
    }
}
