//! How many requests a reseller may make.

use std::num::NonZeroU32;
use std::time::Duration;

use chancery_domain::ScopeSet;
use chancery_overload::{Limit, LimitSettings, Rate};
use chancery_service::Settings;
use chancery_testkit::TestStore;
use chancery_tests::{Reply, World, settings};
use serde_json::json;

async fn limited(per_second: u32, burst: u32) -> World {
    let number = |number| NonZeroU32::new(number).unwrap();
    let rate = Rate::per_second(number(per_second), number(burst));
    let limits = LimitSettings::none().with(Limit::Requests, Some(rate));
    World::over(TestStore::sqlite(), Settings { limits, ..settings() }, Vec::new()).await
}

/// `r` of the header `RateLimit`: how many more may pass.
fn remaining(reply: &Reply) -> u32 {
    let header = reply.header("ratelimit").unwrap_or_else(|| panic!("no RateLimit on {}", reply.status));
    header.split(';').find_map(|part| part.strip_prefix("r=")).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_reseller_beyond_its_rate_is_told_when_to_come_again_and_others_go_on() {
    let world = limited(1, 3).await;
    let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
    for left in [2, 1, 0] {
        let reply = tenant.get("/v1/account").await;
        reply.expect(200);
        assert_eq!(remaining(&reply), left);
        assert_eq!(reply.header("ratelimit-policy"), Some(r#""requests";q=3;w=3"#));
        assert_eq!(reply.header("retry-after"), None);
    }
    let refused = tenant.post("/v1/account", json!({"customer_email": "a@example.com"})).await;
    assert_eq!(refused.refusal(429), "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.header("ratelimit"), Some(r#""requests";r=0;t=1"#));
    assert_eq!(refused.header("ratelimit-policy"), Some(r#""requests";q=3;w=3"#));
    assert!(refused.header("x-request-id").is_some());

    let unaffected = other.get("/v1/account").await;
    unaffected.expect(200);
    assert_eq!(remaining(&unaffected), 2);
    world.advance(Duration::from_secs(1));
    assert_eq!(tenant.get("/v1/account").await.expect(200)["items"], json!([]), "what was refused was done");
}

#[tokio::test]
async fn the_clients_of_a_reseller_share_its_rate() {
    let world = limited(1, 2).await;
    let tenant = world.tenant("DEMO").await;
    let second = world.client_of("DEMO", ScopeSet::all()).await;
    let key =
        world.services.operator.create_api_key("DEMO", chancery_domain::Name::parse("k").unwrap(), ScopeSet::all());
    let key = tenant.with_authorization(key.await.unwrap().text.reveal());
    tenant.get("/v1/account").await.expect(200);
    second.get("/v1/account").await.expect(200);
    assert_eq!(key.get("/v1/account").await.refusal(429), "rate_limited");
}

#[tokio::test]
async fn a_refusal_counts_as_a_request_but_one_who_is_not_known_does_not() {
    let world = limited(1, 2).await;
    let tenant = world.tenant("DEMO").await;
    for _ in 0..5 {
        let reply = tenant.with_authorization("Bearer garbage").get("/v1/account").await;
        assert_eq!((reply.status.as_u16(), reply.header("ratelimit")), (401, None));
    }
    let reply = tenant.get("/v1/account/nobody").await;
    assert_eq!((reply.refusal(404).as_str(), remaining(&reply)), ("account_not_found", 1));
    let reply = tenant.post("/v1/account", json!({})).await;
    assert_eq!((reply.refusal(400).as_str(), remaining(&reply)), ("invalid_request", 0));
    assert_eq!(tenant.get("/v1/account").await.refusal(429), "rate_limited");
}

#[tokio::test]
async fn without_a_limit_there_is_no_header_of_one() {
    let world = World::sqlite().await;
    let reply = world.tenant("DEMO").await.get("/v1/account").await;
    assert_eq!((reply.status.as_u16(), reply.header("ratelimit"), reply.header("ratelimit-policy")), (200, None, None));
}
