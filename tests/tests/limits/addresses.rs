//! Those who are not known are held by where they come from, before anybody looks at what they say.

use std::time::Duration;

use axum::Extension;
use chancery_http::{Edge, PeerAddr, TrustedProxies, finish};
use chancery_overload::{Limit, Rate};
use chancery_tests::{Tenant, VERSION};
use serde_json::json;

use crate::common::{from, limited, number, worlds};

fn at(tenant: &Tenant, router: axum::Router) -> Tenant {
    tenant.hears_by(router)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_given_to_an_address_at_a_rate_whoever_asks() {
    let rate = Rate::new(number(3), Duration::from_secs(60));
    for world in worlds(&limited(&[(Limit::TokenRequestsPerAddress, rate)])).await {
        let tenant = at(&world.tenant("DEMO").await, from(&world.router, "192.0.2.1"));
        for _ in 0..3 {
            assert_eq!(tenant.ask_token(json!({"client_secret": "wrong"})).await.status, 401);
        }
        let refused = tenant.ask_token(json!({})).await;
        assert_eq!(refused.refusal(429), "rate_limited");
        assert_eq!(refused.header("retry-after"), Some("20"));
        assert_eq!(refused.header("ratelimit-policy"), Some(r#""tokens-per-address";q=3;w=60"#));
        let elsewhere = at(&tenant, from(&world.router, "192.0.2.2"));
        assert_eq!(elsewhere.ask_token(json!({})).await.status, 200);
        world.advance(Duration::from_secs(20));
        assert_eq!(tenant.ask_token(json!({})).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_guesses_tokens_is_not_looked_at_while_those_whose_token_is_known_go_on() {
    let rate = Rate::new(number(4), Duration::from_secs(60));
    for world in worlds(&limited(&[(Limit::UnauthorizedPerAddress, rate)])).await {
        let good = world.tenant("DEMO").await;
        good.get("/v1/account").await.expect(200);
        let fresh = world.client_of("DEMO", chancery_domain::ScopeSet::all()).await;
        let here = from(&world.router, "2001:db8::1");
        // One host has all of a /64.
        for host in ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4:5"] {
            let guess = at(&good, from(&world.router, host)).with_authorization("Bearer guess");
            assert_eq!(guess.get("/v1/account").await.status, 401);
        }
        let guess = at(&good, here.clone()).with_authorization("Bearer guess");
        let refused = guess.get("/v1/account").await;
        assert_eq!(refused.refusal(429), "rate_limited");
        assert_eq!(refused.header("retry-after"), Some("15"));
        at(&good, here.clone()).get("/v1/account").await.expect(200);
        assert_eq!(at(&fresh, here.clone()).get("/v1/account").await.status, 429);
        at(&fresh, from(&world.router, "2001:db8:0:1::1")).get("/v1/account").await.expect(200);
        world.advance(Duration::from_secs(60));
        at(&fresh, here).get("/v1/account").await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_is_trusted_tells_whose_request_it_is_and_nobody_else_does() {
    let rate = Rate::new(number(1), Duration::from_secs(60));
    let world = worlds(&limited(&[(Limit::UnauthorizedPerAddress, rate)])).await.remove(0);
    let networks = vec!["10.0.0.0/8".parse().unwrap()];
    let services = std::sync::Arc::new(world.services.clone());
    let door = chancery_http::Door { services, urls: world.urls.clone(), version: VERSION };
    let edge = Edge::new(std::sync::Arc::new(|| "r".into()));
    let edge = edge.trusting(TrustedProxies { networks, ..TrustedProxies::default() });
    let router = finish(chancery_reseller::router(door), edge);
    let ask = async |peer: &str, said: &str| {
        let router = router.clone().layer(Extension(PeerAddr(format!("{peer}:9").parse().unwrap())));
        let stranger = world.stranger().hears_by(router).with_authorization("Bearer guess");
        stranger.send(http::Method::GET, "/v1/account", &[("x-forwarded-for", said)], None).await.status.as_u16()
    };
    assert_eq!([ask("10.0.0.1", "192.0.2.1").await, ask("10.0.0.1", "192.0.2.1").await], [401, 429]);
    assert_eq!(ask("10.0.0.1", "192.0.2.2").await, 401);
    assert_eq!(ask("10.0.0.1", "192.0.2.9, 192.0.2.2").await, 429, "what a client writes itself is not believed");
    assert_eq!(ask("203.0.113.1", "192.0.2.3").await, 401);
    assert_eq!(ask("203.0.113.1", "192.0.2.4").await, 429, "a stranger is not believed");
}
