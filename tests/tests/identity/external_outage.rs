//! The network to the provider is slow, gone or abused, and the service goes on.

use std::time::Duration;

use chancery_domain::Timestamp;
use chancery_jose::SigningKey;
use chancery_tests::{Node, Reply, World, on_both_databases, settings};
use futures_util::future::join_all;

use crate::forge::{parts, signed};
use crate::provider::Provider;

on_both_databases! {
    async fn keys_that_were_never_fetched_are_a_failure_of_ours(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        let ours = world.tenant("DEMO").await;
        let node = world.another_node(settings(), vec![provider.external(Duration::ZERO)]).await;
        let token = provider.token("demo");
        set_clock(&world, &token);
        provider.stop();

        // The token may well be good: it is not for us to call it bad.
        let reply = get(&node, &token).await;
        assert_eq!(reply.refusal(503), "unavailable");
        assert_eq!(reply.header("retry-after"), Some("5"));
        assert!(!reply.text().contains("127.0.0.1"), "{}", reply.text());
        // Whoever has a token of ours is not concerned.
        let mut ours = node.hears(&ours);
        ours.sign_in().await;
        ours.get("/v1/account").await.expect(200);
    }

    async fn keys_that_were_fetched_are_kept(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let node = world.another_node(settings(), vec![provider.external(Duration::ZERO)]).await;
        let [seen, unseen] = [provider.token("demo"), provider.token("demo")];
        set_clock(&world, &seen);
        get(&node, &seen).await.expect(200);
        provider.turn_key("ES256", true);
        let unknown = provider.token("demo");
        provider.stop();

        get(&node, &seen).await.expect(200);
        get(&node, &unseen).await.expect(200);
        let (header, claims) = parts(&unseen);
        let forged = signed(&SigningKey::generate().unwrap(), header["kid"].as_str().unwrap(), "at+jwt", &claims);
        assert_eq!(get(&node, &forged).await.status, 401);
        // Of a key that cannot be fetched now nobody knows whether it is good.
        let reply = get(&node, &unknown).await;
        assert_eq!(reply.refusal(503), "unavailable");
        assert_eq!(reply.header("retry-after"), Some("5"));
    }

    async fn the_service_recovers_with_the_provider(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let node = world.another_node(settings(), vec![provider.external(Duration::ZERO)]).await;
        let token = provider.token("demo");
        set_clock(&world, &token);
        provider.set_outage(true);
        assert_eq!(get(&node, &token).await.refusal(503), "unavailable");
        provider.set_outage(false);
        get(&node, &token).await.expect(200);
    }

    async fn a_flood_of_unknown_keys_does_not_reach_the_provider(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let node = world.another_node(settings(), vec![provider.external(Duration::from_secs(60))]).await;
        let token = provider.token("demo");
        set_clock(&world, &token);
        let (_, claims) = parts(&token);
        let key = SigningKey::generate().unwrap();

        let forged: Vec<_> = (0..300).map(|n| signed(&key, &format!("made-up-{n}"), "at+jwt", &claims)).collect();
        for reply in join_all(forged.iter().map(|token| get(&node, token))).await {
            assert_eq!(reply.status, 401);
        }
        get(&node, &token).await.expect(200);
        assert_eq!(provider.times_asked(), 1);
    }

    async fn a_known_token_is_not_asked_about_again(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let node = world.another_node(settings(), vec![provider.external(Duration::ZERO)]).await;
        let token = provider.token("demo");
        set_clock(&world, &token);
        for _ in 0..20 {
            get(&node, &token).await.expect(200);
        }
        for _ in 0..5 {
            get(&node, &provider.token("demo")).await.expect(200);
        }
        assert_eq!(provider.times_asked(), 1);
    }
}

fn set_clock(world: &World, token: &str) {
    world.clock.set(Timestamp::from_secs(parts(token).1["iat"].as_i64().unwrap()));
}

async fn get(node: &Node, token: &str) -> Reply {
    node.stranger().with_authorization(&format!("Bearer {token}")).get("/v1/account").await
}
