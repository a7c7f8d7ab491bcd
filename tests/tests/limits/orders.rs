//! The rates of ACME clients.

use std::time::Duration;

use chancery_overload::{Limit, Rate};
use chancery_testkit::TestStore;
use chancery_tests::{AcmeClient, Reply, World, at_once, count, csr, identifiers, lookup};
use serde_json::json;

use crate::common::{from, hourly, limited, number, worlds};

#[track_caller]
fn limited_by(reply: &Reply, policy: &str) {
    assert_eq!(reply.status, 429, "{}", reply.text());
    assert_eq!(reply.json()["type"], "urn:ietf:params:acme:error:rateLimited");
    assert_eq!(reply.json()["limit"], policy);
    assert!(reply.json()["detail"].as_str().unwrap().contains("try again in"), "{}", reply.text());
    assert!(reply.header("ratelimit-policy").unwrap().starts_with(&format!("\"{policy}\"")), "{:?}", reply.headers);
    assert!(reply.header("retry-after").unwrap().parse::<u64>().unwrap() > 0);
}

async fn order(client: &AcmeClient, name: &str) -> Reply {
    client.post(&client.url("newOrder"), &json!({"identifiers": identifiers(&[name])})).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_order_rate_of_an_account_holds_at_both_front_ends_together() {
    for world in worlds(&limited(&[(Limit::NewOrdersPerAccount, hourly(4))])).await {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        let other = tenant.make_account("b@example.com").await;
        let client = AcmeClient::registered(&world, &credential).await;
        let second = AcmeClient::registered(&world, &credential).await;
        let account = lookup(&credential);
        order(&client, "n0.test").await.expect(201);
        order(&second, "n1.test").await.expect(201);
        tenant.make_order(&account, &["n2.test"]).await;
        tenant.make_order(&account, &["n3.test"]).await;

        limited_by(&order(&client, "more.test").await, "new-orders-per-account");
        let ahead = json!({"identifier": {"type": "dns", "value": "ahead.test"}});
        limited_by(&second.post(&second.url("newAuthz"), &ahead).await, "new-orders-per-account");
        let refused = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr(&["more.test"])})).await;
        assert_eq!(refused.refusal(429), "rate_limited");
        assert_eq!(refused.json()["limit"], "new-orders-per-account");
        assert_eq!(refused.header("retry-after"), Some("900"));

        tenant.make_order(&lookup(&other), &["other.test"]).await;
        world.advance(Duration::from_secs(900));
        order(&client, "later.test").await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orders_at_the_same_instant_do_not_exceed_the_rate_of_their_account() {
    for world in worlds(&limited(&[(Limit::NewOrdersPerAccount, hourly(5))])).await {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let body = json!({"account_lookup": account, "csr": csr(&["a.test"])});
        let order = |_| {
            let (tenant, body) = (tenant.clone(), body.clone());
            async move { tenant.post("/v1/order", body).await }
        };
        let replies = at_once(40, order).await;
        assert_eq!((count(&replies, 201), count(&replies, 429)), (5, 35));
        // An order that was refused returns its token.
        world.advance(Duration::from_secs(720));
        let refused = json!({"account_lookup": account, "csr": csr(&["a.test"]), "profile": "none"});
        assert_eq!(tenant.post("/v1/order", refused).await.status, 400);
        tenant.make_order(&account, &["a.test"]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_orders_and_registers_so_many_in_an_hour() {
    let limits = [(Limit::NewOrdersPerAddress, hourly(2)), (Limit::NewAccountsPerAddress, hourly(2))];
    for world in worlds(&limited(&limits)).await {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        let here = world.stranger().hears_by(from(&world.router, "192.0.2.1"));
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(AcmeClient::at(here.clone(), "TLS-90d").await);
        }
        assert_eq!(clients[0].register(&credential).await.status, 201);
        assert_eq!(clients[1].register(&credential).await.status, 201);
        limited_by(&clients[2].register(&credential).await, "new-accounts-per-address");
        // Asking for what is there is no registration.
        let found = clients[1].key.to_pkcs8().unwrap();
        let again = AcmeClient {
            kid: None,
            key: chancery_jose::SigningKey::from_pkcs8(&found).unwrap(),
            ..AcmeClient::at(here.clone(), "TLS-90d").await
        };
        for asked in [json!({"onlyReturnExisting": true}), json!({"termsOfServiceAgreed": true})] {
            let reply = again.post(&again.url("newAccount"), &asked).await;
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
        order(&clients[0], "a.test").await.expect(201);
        order(&clients[1], "b.test").await.expect(201);
        limited_by(&order(&clients[0], "c.test").await, "new-orders-per-address");
        let elsewhere = clients.remove(0).speaking_to(world.stranger().hears_by(from(&world.router, "192.0.2.2")));
        order(&elsewhere, "c.test").await.expect(201);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_credential_binds_so_many_in_an_hour_and_nobody_else_can_use_that_up() {
    for world in worlds(&limited(&[(Limit::NewAccountsPerCredential, hourly(1))])).await {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        let mut forged = credential.clone();
        forged["hmacKey"] = json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
        for _ in 0..3 {
            let mut stranger = AcmeClient::at(world.stranger(), "TLS-90d").await;
            assert_ne!(stranger.register(&forged).await.status, 429);
        }
        AcmeClient::registered(&world, &credential).await;
        let mut second = AcmeClient::at(world.stranger(), "TLS-90d").await;
        limited_by(&second.register(&credential).await, "new-accounts-per-credential");
        let mut shouted = credential.clone();
        shouted["kid"] = json!(credential["kid"].as_str().unwrap().to_uppercase());
        limited_by(&second.register(&shouted).await, "new-accounts-per-credential");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_counts_also_where_the_client_has_hung_up() {
    let settings = limited(&[(Limit::NewAccountsPerCredential, hourly(1))]);
    let world = World::over(TestStore::sqlite(), settings, Vec::new()).await;
    let tenant = world.tenant("DEMO").await;
    let credential = tenant.make_account("a@example.com").await;
    let mut impatient = AcmeClient::at(world.stranger(), "TLS-90d").await;
    world.hang_up(impatient.register(&credential)).await;
    let path = format!("/v1/account/{}/eab-credential", lookup(&credential));
    while tenant.get(&path).await.expect(200)["items"][0]["boundAccounts"].as_array().is_none_or(Vec::is_empty) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // It counts right after it can be seen.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut second = AcmeClient::at(world.stranger(), "TLS-90d").await;
    limited_by(&second.register(&credential).await, "new-accounts-per-credential");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_meets_a_limit_is_shown_the_page_that_explains_it() {
    let mut settings = limited(&[(Limit::NewOrdersPerAccount, hourly(1))]);
    settings.limits.help = Some("https://ca.test/limits".to_owned());
    let world = World::over(TestStore::sqlite(), settings, Vec::new()).await;
    let credential = world.tenant("DEMO").await.make_account("a@example.com").await;
    let client = AcmeClient::registered(&world, &credential).await;
    order(&client, "a.test").await.expect(201);
    let refused = order(&client, "b.test").await;
    let links: Vec<_> = refused.headers.get_all("link").iter().map(|link| link.to_str().unwrap()).collect();
    assert!(links.contains(&"<https://ca.test/limits>;rel=\"help\""), "{links:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i13_a_customer_beyond_its_rate_does_not_use_up_the_rate_of_its_reseller() {
    let limits = [(Limit::Requests, hourly(20)), (Limit::RequestsPerAccount, hourly(5))];
    for world in worlds(&limited(&limits)).await {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("flooding@example.com").await;
        let other = AcmeClient::registered(&world, &tenant.make_account("other@example.com").await).await;
        // The ACME accounts of a customer share its rate.
        let clients =
            [AcmeClient::registered(&world, &credential).await, AcmeClient::registered(&world, &credential).await];
        for place in [0, 1, 0, 1, 0] {
            clients[place].read(clients[place].kid.as_deref().unwrap()).await.expect(200);
        }
        for client in clients.iter().cycle().take(40) {
            limited_by(&client.read(client.kid.as_deref().unwrap()).await, "requests-per-account");
        }
        // The reseller has spent 7 of its 20 tokens.
        for _ in 0..3 {
            other.read(other.kid.as_deref().unwrap()).await.expect(200);
            tenant.get("/v1/account").await.expect(200);
        }
        world.advance(Duration::from_secs(720));
        clients[0].read(clients[0].kid.as_deref().unwrap()).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reseller_is_shown_its_limits_and_what_is_left_of_them() {
    let requests = Rate::per_second(number(1), number(10));
    let world = worlds(&limited(&[(Limit::Requests, requests), (Limit::FailedValidations, hourly(5))])).await.remove(0);
    let tenant = world.tenant("DEMO").await;
    for _ in 0..3 {
        tenant.get("/v1/account").await.expect(200);
    }
    let shown = tenant.get("/v1/limits").await.expect(200);
    assert_eq!(
        shown["rates"],
        json!([
            {"name": "requests", "what": "requests", "per": "reseller", "burst": 10, "count": 1, "seconds": 1, "remaining": 6},
            {"name": "failed-validations", "what": "failed validations of this name", "per": "account and name",
             "burst": 5, "count": 5, "seconds": 3600},
        ])
    );
    assert_eq!(shown["caps"][0], json!({"name": "open-orders-per-account", "most": 10_000}));
}
