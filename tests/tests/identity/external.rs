//! Tokens of an OpenID provider that is not ours: a real one, in a process of its own.

use std::time::Duration;

use chancery_domain::{Name, ResellerCode, Timestamp};
use chancery_jose::SigningKey;
use chancery_store::AuditFilter;
use chancery_tests::{Node, Reply, World, on_both_databases, settings};
use serde_json::{Value, json};

use crate::disabled::{Watching, until};
use crate::forge::{as_secrets, hs256, parts, signed, with_signature};
use crate::provider::{AUDIENCE, Provider};

const AT_ONCE: Duration = Duration::ZERO;

on_both_databases! {
    async fn a_token_of_the_provider_works_and_so_does_ours(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        let ours = world.tenant("DEMO").await;
        let node = node(&world, &provider, AT_ONCE).await;
        let token = provider.token_for("demo", AUDIENCE, "reseller read:account write:account something:else");
        set_clock(&world, &token);
        let account = json!({"customer_email": "a@example.com"});
        let holder = node.stranger().with_authorization(&format!("Bearer {token}"));
        let made = holder.post("/v1/account", account).await.expect(201);
        assert_eq!(made["resellerCode"], "DEMO");

        // Both providers at once: a token of ours sees what the other has made.
        let mut ours = node.hears(&ours);
        ours.sign_in().await;
        assert_eq!(ours.get("/v1/account").await.expect(200)["items"][0]["lookup"], made["lookup"]);
        assert_eq!(holder.get("/v1/account").await.expect(200)["items"].as_array().unwrap().len(), 1);

        // The trail names the provider and the subject of the foreign token.
        let page = chancery_domain::PageRequest { limit: 10, after: None };
        let filter = AuditFilter { actor: Some(format!("{}#demo", provider.issuer)), ..AuditFilter::default() };
        let trail = node.services.audit.list(filter, page).await.unwrap();
        assert_eq!((trail.len(), trail[0].actor_kind.as_str()), (1, "external"));
    }

    async fn its_scopes_are_what_the_token_says(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let node = node(&world, &provider, AT_ONCE).await;
        let narrow = provider.token_for("demo", AUDIENCE, "reseller read:account");
        set_clock(&world, &narrow);
        get(&node, &narrow).await.expect(200);
        let holder = node.stranger().with_authorization(&format!("Bearer {narrow}"));
        assert_eq!(holder.post("/v1/account", json!({})).await.status, 403);
        let other = provider.token_for("demo", AUDIENCE, "something:else");
        let refused = get(&node, &other).await;
        assert_eq!(refused.status, 403);
        assert!(refused.text().contains("`reseller`"), "{}", refused.text());

        let mut claims = parts(&narrow).1;
        claims["scope"] = json!(["read:account", "reseller", 7]);
        get(&node, &provider.sign(&json!({}), &claims)).await.expect(200);
        claims.as_object_mut().unwrap().remove("scope");
        assert_eq!(get(&node, &provider.sign(&json!({}), &claims)).await.status, 403);
    }

    async fn its_keys_may_change_at_any_time(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let node = node(&world, &provider, AT_ONCE).await;
        let first = provider.token("demo");
        set_clock(&world, &first);
        get(&node, &first).await.expect(200);

        for algorithm in ["RS256", "ES384", "PS256", "ES256"] {
            provider.turn_key(algorithm, true);
            let next = provider.token("demo");
            assert_ne!(parts(&first).0["kid"], parts(&next).0["kid"]);
            get(&node, &next).await.expect(200);
            get(&node, &first).await.expect(200);
        }
    }

    async fn a_key_that_the_provider_withdraws_is_not_trusted_any_more(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let node = node(&world, &provider, AT_ONCE).await;
        let stolen = provider.token("demo");
        set_clock(&world, &stolen);
        for _ in 0..2 {
            get(&node, &stolen).await.expect(200);
        }

        provider.turn_key("ES256", false);
        get(&node, &provider.token("demo")).await.expect(200);
        // Although it was good a moment ago, and is remembered.
        refused(&node, &stolen).await;
    }

    async fn what_it_did_not_sign_for_us_is_refused(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let node = node(&world, &provider, AT_ONCE).await;
        let good = provider.token("demo");
        set_clock(&world, &good);
        let (header, claims) = parts(&good);
        let with = |name: &str, value: Value| {
            let mut claims = claims.clone();
            claims[name] = value;
            claims
        };
        let without = |name: &str| {
            let mut claims = claims.clone();
            claims.as_object_mut().unwrap().remove(name);
            claims
        };
        get(&node, &provider.sign(&json!({}), &claims)).await.expect(200);

        refused(&node, &provider.token_for("demo", "https://elsewhere.test/", "reseller read:account")).await;
        // Ours is not theirs: a token for the audience of the built-in provider.
        refused(&node, &provider.token_for("demo", "https://ca.test/v1", "reseller read:account")).await;
        let slash = format!("{}/", provider.issuer);
        for claims in [
            with("iss", json!(slash)),
            with("iss", json!("https://elsewhere.test/")),
            // In the name of the built-in provider, with a key of the external one.
            with("iss", json!("https://ca.test/")),
            with("aud", json!([])),
            with("aud", json!(7)),
            without("aud"),
            without("exp"),
            with("exp", json!("tomorrow")),
            with("exp", json!(claims["iat"].as_i64().unwrap() - 31)),
            with("nbf", json!(claims["iat"].as_i64().unwrap() + 31)),
            with("iat", json!(claims["iat"].as_i64().unwrap() + 31)),
        ] {
            refused(&node, &provider.sign(&json!({}), &claims)).await;
        }
        for typ in ["id_token+jwt", "logout+jwt", "dpop+jwt"] {
            refused(&node, &provider.sign(&json!({"typ": typ}), &claims)).await;
        }
        // Several audiences, and a plain JWT, are what other providers send.
        get(&node, &provider.sign(&json!({}), &with("aud", json!(["x", AUDIENCE])))).await.expect(200);
        get(&node, &provider.sign(&json!({"typ": "JWT"}), &claims)).await.expect(200);

        for alg in ["none", "None"] {
            let header = json!({"alg": alg, "typ": "at+jwt", "kid": header["kid"]});
            refused(&node, &with_signature(&header, &claims, "")).await;
        }
        let kid = header["kid"].as_str().unwrap();
        refused(&node, &signed(&SigningKey::generate().unwrap(), kid, "at+jwt", &claims)).await;
        for secret in as_secrets(&provider.public_key()) {
            refused(&node, &hs256(kid, &claims, &secret)).await;
        }
        get(&node, &good).await.expect(200);
    }

    async fn its_tokens_are_valid_in_their_time_only(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let node = node(&world, &provider, AT_ONCE).await;
        let token = provider.token("demo");
        let (_, claims) = parts(&token);
        let time = |name: &str| Timestamp::from_secs(claims[name].as_i64().unwrap());
        let second = Duration::from_secs(1);
        for (at, status) in [
            (time("iat").minus(second * 31), 401),
            (time("iat").minus(second * 30), 200),
            (time("exp").plus(second * 29), 200),
            (time("exp").plus(second * 30), 401),
        ] {
            world.clock.set(at);
            assert_eq!(get(&node, &token).await.status.as_u16(), status, "{at}");
        }
    }

    async fn a_token_must_name_a_reseller_that_is_there(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let node = node(&world, &provider, AT_ONCE).await;
        let [nobody, ghost] = ["nobody", "ghost"].map(|client| provider.token(client));
        set_clock(&world, &nobody);
        let reply = get(&node, &nobody).await;
        assert_eq!(reply.status, 401);
        assert!(reply.text().contains("https://ca.test/reseller"), "{}", reply.text());
        refused(&node, &ghost).await;
        let mut claims = parts(&ghost).1;
        for code in [json!(7), json!(""), json!(["DEMO"]), json!("DEMO'; --"), json!("x".repeat(5000)), Value::Null] {
            claims["https://ca.test/reseller"] = code;
            refused(&node, &provider.sign(&json!({}), &claims)).await;
        }
        // A reseller that comes later is found.
        let code = ResellerCode::parse("GHOST").unwrap();
        node.services.operator.create_reseller(code, Name::parse("Ghost").unwrap()).await.unwrap();
        get(&node, &ghost).await.expect(200);
    }

    async fn a_suspended_reseller_is_suspended_here_too(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let node = node(&world, &provider, AT_ONCE).await;
        let _watching = Watching::begin(&node.services);
        let token = provider.token("demo");
        set_clock(&world, &token);
        get(&node, &token).await.expect(200);
        world.services.operator.set_reseller_suspended("DEMO", true).await.unwrap();
        until(async || get(&node, &token).await.status == 403).await;
        world.services.operator.set_reseller_suspended("DEMO", false).await.unwrap();
        until(async || get(&node, &token).await.status == 200).await;
    }

    async fn one_provider_cannot_speak_for_another(world: World) {
        let (Some(mut one), Some(mut other)) = (Provider::start(), Provider::start()) else { return };
        world.tenant("DEMO").await;
        let both = vec![one.external(AT_ONCE), other.external(AT_ONCE)];
        let node = world.another_node(settings(), both).await;
        let [token, others] = [one.token("demo"), other.token("demo")];
        set_clock(&world, &token);
        get(&node, &token).await.expect(200);
        get(&node, &others).await.expect(200);
        // Both call their first key by the same name.
        assert_eq!(parts(&token).0["kid"], parts(&others).0["kid"]);
        let (_, claims) = parts(&token);
        refused(&node, &other.sign(&json!({}), &claims)).await;
    }

    async fn a_provider_that_is_not_configured_is_nobody(world: World) {
        let Some(mut provider) = Provider::start() else { return };
        world.tenant("DEMO").await;
        let token = provider.token("demo");
        set_clock(&world, &token);
        let reply = world.stranger().with_authorization(&format!("Bearer {token}")).get("/v1/account").await;
        assert_eq!(reply.status, 401);
        assert_eq!(provider.times_asked(), 0);
    }
}

async fn node(world: &World, provider: &Provider, min_interval: Duration) -> Node {
    world.another_node(settings(), vec![provider.external(min_interval)]).await
}

/// The provider lives in real time; our clock stands where we put it.
fn set_clock(world: &World, token: &str) {
    world.clock.set(Timestamp::from_secs(parts(token).1["iat"].as_i64().unwrap()));
}

async fn get(node: &Node, token: &str) -> Reply {
    node.stranger().with_authorization(&format!("Bearer {token}")).get("/v1/account").await
}

async fn refused(node: &Node, token: &str) {
    let reply = get(node, token).await;
    assert_eq!(reply.status, 401, "{:?}: {}", parts(token), reply.text());
    assert!(reply.header("www-authenticate").unwrap().contains("error=\"invalid_token\""));
}
