//! What is shown of customers to those who may not read accounts, and the list for a spreadsheet.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_http::{Door, Edge, account_for, finish};
use chancery_overload::{Limit, LimitSettings, Rate};
use chancery_service::Settings;
use chancery_testkit::{Address, TestStore};
use chancery_tests::{Reply, Tenant, VERSION, World, lookup, on_both_databases, settings};
use futures_util::StreamExt as _;
use tower::ServiceExt as _;

use crate::browser::Browser;

const ADDRESS: &str = "=cmd@customer.example";

on_both_databases! {
    async fn who_may_not_read_accounts_sees_no_address(world: World) {
        let tenant = world.tenant("NORTH").await;
        let lookup = lookup(&tenant.make_account(ADDRESS).await);
        let order = tenant.make_order(&lookup, &["a.test"]).await;
        let narrow = world.client_of("NORTH", "reseller read:certificate".parse().unwrap()).await;
        let (mut all, mut some) = (Browser::of(&world, &tenant).await, Browser::new(&world));
        assert_eq!(some.sign_in(&narrow.client_id, &narrow.client_secret).await.status, 303);

        let cancel = format!("/console/orders/{}/cancel", order["lookup"].as_str().unwrap());
        all.done(&cancel, &[]).await;
        let page = all.look("/console/certificates").await;
        assert!(page.contains(ADDRESS), "{page}");
        let certificate = page.split("/console/certificates/cert_").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let one = format!("/console/certificates/cert_{certificate}");
        assert!(all.look(&one).await.contains(ADDRESS));
        let rows = all.look("/console/certificates.csv").await;
        assert!(rows.contains(&format!(",'{ADDRESS},")), "a formula is text: {rows}");
        for path in ["/console/certificates", &one, "/console/certificates.csv"] {
            let page = some.look(path).await;
            assert!(!page.contains("cmd@customer") && page.contains(&lookup), "{path}: {page}");
        }
        // Nor is anybody told which address is a customer's.
        for address in [ADDRESS, "nobody@customer.example"] {
            for list in ["/console/certificates", "/console/certificates.csv"] {
                let reply = some.get(&format!("{list}?customer={}", address.replace('@', "%40").replace('=', "%3D"))).await;
                assert_eq!(reply.status, 403, "{list} of {address}");
                assert!(reply.text().contains("read:account") && !reply.text().contains(&lookup), "{}", reply.text());
            }
        }
        let mine = some.look(&format!("/console/certificates.csv?customer={lookup}")).await;
        assert_eq!(mine.matches("\r\n").count(), 2);
    }

    async fn a_list_has_no_more_in_it_than_was_asked_for(world: World) {
        let tenant = world.tenant("NORTH").await;
        let account = lookup(&tenant.make_account("anna@example.com").await);
        tenant.make_order(&account, &["shown.example.com"]).await;
        let mut browser = Browser::of(&world, &tenant).await;
        for list in ["/console/certificates", "/console/certificates.csv"] {
            assert!(browser.look(&format!("{list}?status=pending")).await.contains("shown.example.com"), "{list}");
            let reply = browser.get(&format!("{list}?status=bogus")).await;
            assert_eq!(reply.status, 400, "{list}");
            let page = reply.text();
            assert!(page.contains("<h1>That cannot be done</h1>") && page.contains("is not a certificate status"), "{page}");
            assert!(!page.contains("shown.example.com"), "{page}");
        }
    }
}

/// So many that they are more than two pages of the download.
const MANY: u32 = 2_500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_download_ends_with_the_session() {
    let (world, tenant) = furnished(LimitSettings::none(), MANY).await;
    for ended in [false, true] {
        let mut browser = Browser::of(&world, &tenant).await;
        let cookie = browser.cookie("__Host-chancery-session").unwrap();
        let request = http::Request::get("/console/certificates.csv").header("host", "ca.test");
        let request = request.header("cookie", format!("__Host-chancery-session={cookie}"));
        let reply = world.router.clone().oneshot(request.body(axum::body::Body::empty()).unwrap()).await.unwrap();
        assert_eq!(reply.status(), 200);
        let mut frames = reply.into_body().into_data_stream();
        let (mut rows, mut broken) = (0, false);
        while let Some(frame) = frames.next().await {
            let Ok(frame) = frame else {
                broken = true;
                break;
            };
            rows += frame.iter().filter(|byte| **byte == b'\n').count();
            if ended && rows > 1 && browser.cookie("__Host-chancery-session").is_some() {
                browser.done("/console/sign-out", &[]).await;
            }
        }
        let all = MANY as usize + 2;
        assert_eq!((broken, rows == all), (ended, !ended), "{rows} of {all} lines");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_download_is_under_way_until_it_is_read() {
    let (world, tenant) = furnished(LimitSettings::none(), 10).await;
    let browser = Browser::of(&world, &tenant).await;
    let cookie = browser.cookie("__Host-chancery-session").unwrap();
    let door = Door { services: Arc::new(world.services.clone()), urls: world.urls.clone(), version: VERSION };
    let edge = Edge::new(Arc::new(|| "r".into())).at_most(1);
    let router = finish(account_for(chancery_console::router(door.clone()), door), edge);
    let download = || {
        let request = http::Request::get("/console/certificates.csv").header("host", "ca.test");
        let request = request.header("cookie", format!("__Host-chancery-session={cookie}"));
        router.clone().oneshot(request.body(axum::body::Body::empty()).unwrap())
    };
    let unread = download().await.unwrap();
    assert_eq!((unread.status().as_u16(), download().await.unwrap().status().as_u16()), (200, 503));
    drop(unread);
    assert_eq!(download().await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reseller_has_eight_downloads_at_a_time_by_whichever_door() {
    let (world, tenant) = furnished(LimitSettings::none(), 10).await;
    let browser = Browser::of(&world, &tenant).await;
    let cookie = format!("__Host-chancery-session={}", browser.cookie("__Host-chancery-session").unwrap());
    let by_console = async || {
        let request = http::Request::get("/console/certificates.csv").header("host", "ca.test");
        let request = request.header("cookie", &cookie).body(axum::body::Body::empty()).unwrap();
        world.router.clone().oneshot(request).await.unwrap()
    };
    let by_api = async |tenant: &Tenant| {
        let request = http::Request::get("/v1/certificates").header("accept", "text/csv");
        let request = request.header("authorization", tenant.authorization.as_deref().unwrap());
        world.router.clone().oneshot(request.body(axum::body::Body::empty()).unwrap()).await.unwrap()
    };
    let mut unread = Vec::new();
    for _ in 0..4 {
        unread.extend([by_console().await, by_api(&tenant).await]);
    }
    assert!(unread.iter().all(|reply| reply.status() == 200));
    for refused in [by_console().await, by_api(&tenant).await] {
        assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (429, &"5".parse().unwrap()));
    }
    let refused = by_api(&tenant).await;
    assert_eq!(refused.headers()["ratelimit"], "\"downloads-at-a-time\";r=0;t=5");
    assert_eq!(refused.headers()["ratelimit-policy"], "\"downloads-at-a-time\";q=8");
    assert_eq!(tenant.get("/v1/certificates").await.status, 200, "a page is no list as a whole");
    assert_eq!(by_api(&world.tenant("SOUTH").await).await.status(), 200);
    unread.pop();
    assert_eq!(by_console().await.status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_of_a_long_download_counts_as_a_request() {
    let number = |number| NonZeroU32::new(number).unwrap();
    let rate = Rate::per_second(number(1), number(50));
    let (world, tenant) = furnished(LimitSettings::none().with(Limit::Requests, Some(rate)), MANY).await;
    let mut browser = Browser::of(&world, &tenant).await;
    let before = requests_left(&browser.get("/console/calendar").await);
    browser.look("/console/certificates.csv").await;
    let counted = before - requests_left(&browser.get("/console/calendar").await);
    assert_eq!(counted, 4, "three pages, and the calendar");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_download_by_the_api_ends_with_its_client_and_counts() {
    let number = |number| NonZeroU32::new(number).unwrap();
    let rate = Rate::per_second(number(1), number(50));
    let (world, tenant) = furnished(LimitSettings::none().with(Limit::Requests, Some(rate)), MANY).await;
    let csv = [("accept", "text/csv")];
    let before = requests_left(&tenant.get("/v1/limits").await);
    let whole = tenant.send(http::Method::GET, "/v1/certificates", &csv, None).await;
    assert_eq!(whole.text().lines().count(), MANY as usize + 2);
    let counted = before - requests_left(&tenant.get("/v1/limits").await);
    assert_eq!(counted, 4, "three pages, and the limits");

    let request = http::Request::get("/v1/certificates").header("accept", "text/csv");
    let request = request.header("authorization", tenant.authorization.as_deref().unwrap());
    let reply = world.router.clone().oneshot(request.body(axum::body::Body::empty()).unwrap()).await.unwrap();
    let mut frames = reply.into_body().into_data_stream();
    let header = frames.next().await.unwrap().unwrap();
    assert!(header.starts_with(b"lookup,"));
    let client = tenant.client_id.parse().unwrap();
    world.services.operator.set_client_disabled(client, true).await.unwrap();
    let began = Instant::now();
    while tenant.get("/v1/limits").await.status != 401 {
        assert!(began.elapsed() < Duration::from_secs(10), "a disabled client is let in");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(frames.next().await.unwrap().is_ok(), "what was asked for when it was let in");
    assert!(frames.next().await.unwrap().is_err(), "a list that breaks off, and does not end");
}

fn requests_left(reply: &Reply) -> u32 {
    let header = reply.header("ratelimit").unwrap().to_owned();
    header.split(';').find_map(|part| part.strip_prefix("r=")).unwrap().parse().unwrap()
}

/// A reseller with an order, and with so many certificates that were cancelled.
pub(crate) async fn furnished(limits: LimitSettings, many: u32) -> (World, Tenant) {
    let world = World::over(TestStore::sqlite(), Settings { limits, ..settings() }, Vec::new()).await;
    let tenant = world.tenant("NORTH").await;
    let account = lookup(&tenant.make_account("many@example.com").await);
    tenant.make_order(&account, &["real.test"]).await;
    let Address::Sqlite(path) = world.store.address() else { panic!("a file") };
    tokio::task::spawn_blocking(move || {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = 10000").unwrap();
        let sql = format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {many} - 1)
             INSERT INTO certificates (id, order_id, reseller_id, account_id, kid, via, profile, identifiers, state, state_at,
                created_at, updated_at, version)
             SELECT 'cert_' || printf('%026d', n), 'ord_' || printf('%026d', n), reseller_id, account_id, kid, via, profile,
                identifiers, 'cancelled', state_at, created_at, updated_at, version FROM certificates, numbers"
        );
        connection.execute(&sql, []).unwrap();
    })
    .await
    .unwrap();
    (world, tenant)
}
