//! Tokens that we did not make, or not so.

use std::time::Duration;

use chancery_jose::{SigningKey, jws};
use chancery_tests::{Reply, START, Tenant, World, on_both_databases};
use serde_json::{Map, Value, json};

use crate::forge::{as_secrets, hs256, parts, signed, stolen_key, with_signature};

on_both_databases! {
    async fn an_altered_token_is_refused(world: World) {
        let (tenant, token) = holder(&world).await;
        let (header, claims) = parts(&token);
        let signature = token.rsplit('.').next().unwrap();
        let other = world.tenant("OTHER").await;
        for (name, value) in [
            ("sub", json!(other.client_id)),
            ("scope", json!("reseller")),
            ("exp", json!(START.as_secs() + 1_000_000)),
            ("reseller_code", json!("OTHER")),
            ("aud", json!(["https://ca.test/v1"])),
            ("jti", json!("another")),
        ] {
            let mut claims = claims.clone();
            claims[name] = value;
            refused(&tenant, &with_signature(&header, &claims, signature)).await;
        }
        let middle = token.len() / 2;
        refused(&tenant, &token[..token.len() - 2]).await;
        refused(&tenant, &format!("{}{}", &token[..middle], &token[middle + 1..])).await;
        refused(&tenant, &format!("{token}.")).await;
        refused(&tenant, &format!("{token}=")).await;
        refused(&tenant, &format!("{token}.{signature}")).await;
        let zeros = "A".repeat(86);
        refused(&tenant, &with_signature(&header, &claims, &zeros)).await;
    }

    async fn a_token_without_a_signature_is_refused(world: World) {
        let (tenant, token) = holder(&world).await;
        let (mut header, claims) = parts(&token);
        let signature = token.rsplit('.').next().unwrap();
        for alg in [json!("none"), json!("None"), json!("NONE"), json!(""), Value::Null, json!("ES256K")] {
            header["alg"] = alg;
            refused(&tenant, &with_signature(&header, &claims, "")).await;
            refused(&tenant, &with_signature(&header, &claims, signature)).await;
        }
        header.as_object_mut().unwrap().remove("alg");
        refused(&tenant, &with_signature(&header, &claims, "")).await;
        refused(&tenant, &with_signature(&parts(&token).0, &claims, "")).await;
    }

    async fn a_public_key_is_not_taken_for_a_secret(world: World) {
        let (tenant, token) = holder(&world).await;
        let published = world.stranger().get("/.well-known/jwks.json").await.expect(200)["keys"][0].clone();
        let kid = published["kid"].as_str().unwrap();
        let (_, claims) = parts(&token);
        let secrets = as_secrets(&published);
        assert_eq!(secrets.len(), 5);
        for secret in secrets {
            refused(&tenant, &hs256(kid, &claims, &secret)).await;
        }
    }

    async fn a_key_of_somebody_else_signs_nothing_for_us(world: World) {
        let (tenant, token) = holder(&world).await;
        let (mut header, claims) = parts(&token);
        let kid = header["kid"].as_str().unwrap().to_owned();
        let key = SigningKey::generate().unwrap();
        refused(&tenant, &signed(&key, &kid, "at+jwt", &claims)).await;
        refused(&tenant, &signed(&key, "unknown", "at+jwt", &claims)).await;
        refused(&tenant, &signed(&key, "", "at+jwt", &claims)).await;
        // A token cannot bring its own key, nor say where to fetch it.
        header["jwk"] = key.public().to_value();
        header["jku"] = json!("https://elsewhere.test/jwks.json");
        let ours = signed(&key, &kid, "at+jwt", &claims);
        refused(&tenant, &with_signature(&header, &claims, ours.rsplit('.').next().unwrap())).await;
    }

    async fn a_token_is_not_valid_before_its_time_nor_after(world: World) {
        let tenant = world.tenant("DEMO").await;
        let token = token_of(&tenant);
        // By 30 seconds the clocks of two nodes may differ. Whether a node has seen the token makes no difference.
        for (at, status) in [
            (START.minus(Duration::from_secs(31)), 401),
            (START.minus(Duration::from_secs(30)), 200),
            (START.plus(Duration::from_secs(86_400)), 200),
            (START.plus(Duration::from_secs(86_429)), 200),
            (START.plus(Duration::from_secs(86_430)), 401),
            (START.plus(Duration::from_secs(1_000_000)), 401),
        ] {
            world.clock.set(at);
            let unseen = world.another_node(chancery_tests::settings(), Vec::new()).await;
            for tenant in [&tenant, &unseen.hears(&tenant)] {
                let reply = bearer(tenant, &token).await;
                assert_eq!(reply.status.as_u16(), status, "{at}: {}", reply.text());
            }
        }
    }

    async fn a_good_signature_is_not_enough(world: World) {
        let (tenant, token) = holder(&world).await;
        let (kid, key) = stolen_key(&world).await;
        let (_, claims) = parts(&token);
        let now = START.as_secs();
        bearer(&tenant, &signed(&key, &kid, "at+jwt", &claims)).await.expect(200);
        bearer(&tenant, &signed(&key, &kid, "application/at+jwt", &claims)).await.expect(200);

        for name in ["iss", "aud", "sub", "exp"] {
            let mut claims = claims.clone();
            claims.as_object_mut().unwrap().remove(name);
            refused(&tenant, &signed(&key, &kid, "at+jwt", &claims)).await;
        }
        for (name, value) in [
            ("iss", json!("https://ca.test")),
            ("aud", json!("https://elsewhere.test")),
            ("aud", json!(["https://elsewhere.test"])),
            ("aud", json!({"https://ca.test/v1": true})),
            ("sub", json!("cli_00000000000000000000000000")),
            ("sub", json!("DEMO")),
            ("sub", json!([tenant.client_id])),
            ("exp", json!(now - 30)),
            ("exp", json!((now + 60).to_string())),
            ("exp", json!(Value::Null)),
            ("exp", json!(-1)),
            ("nbf", json!(now + 31)),
            ("iat", json!(now + 31)),
            ("padding", json!("x".repeat(20_000))),
        ] {
            let mut claims = claims.clone();
            claims[name] = value;
            refused(&tenant, &signed(&key, &kid, "at+jwt", &claims)).await;
        }
        for typ in ["id_token", "dpop+jwt", "logout+jwt", "jwk+json", ""] {
            refused(&tenant, &signed(&key, &kid, typ, &claims)).await;
        }
        // The right key under another name, and a token that says twice who it is for.
        refused(&tenant, &signed(&key, "tok_other", "at+jwt", &claims)).await;
        let twice = format!(r#"{{"sub":"{}",{}"#, tenant.client_id, &claims.to_string()[1..]);
        let header = Map::from_iter([("kid".to_owned(), json!(kid)), ("typ".to_owned(), json!("at+jwt"))]);
        refused(&tenant, &jws::sign_compact(header, twice.as_bytes(), &key).unwrap()).await;

        // Scopes that are none of ours, or none at all, allow nothing.
        for scope in [json!(""), json!("admin reseller:all"), json!(7), Value::Null] {
            let mut claims = claims.clone();
            claims["scope"] = scope;
            assert_eq!(bearer(&tenant, &signed(&key, &kid, "at+jwt", &claims)).await.status, 403);
        }
    }

    async fn what_is_no_token_is_refused_and_does_no_harm(world: World) {
        let (tenant, token) = holder(&world).await;
        let (header, claims) = parts(&token);
        let mut long = claims.clone();
        long["padding"] = json!("x".repeat(20_000));
        let huge = "x".repeat(100_000);
        let dots = ".".repeat(10_000);
        for token in ["x", "..", "...", "a.b", "a.b.c", "e30.e30.", "e30.e30.e30", &dots, &huge] {
            refused(&tenant, token).await;
        }
        refused(&tenant, &with_signature(&header, &long, "x")).await;
        for claims in [json!([]), json!("x"), json!({}), json!({"iss": 7}), json!({"iss": "https://elsewhere.test/"})] {
            refused(&tenant, &with_signature(&header, &claims, "x")).await;
        }
        bearer(&tenant, &token).await.expect(200);
    }

    async fn the_challenge_of_rfc_6750_comes_with_every_401(world: World) {
        let (tenant, token) = holder(&world).await;
        let nothing = world.stranger().get("/v1/account").await;
        assert_eq!(nothing.status, 401);
        // RFC 6750 section 3.1: no error code where no credentials were sent.
        assert_eq!(nothing.header("www-authenticate"), Some("Bearer realm=\"chancery\""));
        for header in ["Bearer", "Bearer ", ""] {
            let reply = tenant.with_authorization(header).get("/v1/account").await;
            assert_eq!((reply.status.as_u16(), reply.header("content-type")), (401, Some("text/plain; charset=utf-8")));
        }
        for header in [format!("Basic {token}"), format!("Token {token}"), format!("Bearer,{token}"), token.clone()] {
            let reply = tenant.with_authorization(&header).get("/v1/account").await;
            assert_eq!(reply.status, 401, "{header}");
            let challenge = reply.header("www-authenticate").unwrap();
            assert_eq!(challenge, "Bearer realm=\"chancery\", error=\"invalid_token\"");
        }
        // One header, and one only.
        let good = format!("Bearer {token}");
        let reply = tenant.with_authorization(&good);
        let reply = reply.send(http::Method::GET, "/v1/account", &[("authorization", &good)], None).await;
        assert_eq!(reply.status, 401);
        // RFC 9110 section 11.1: a scheme is not sensitive to case.
        for header in [format!("bearer {token}"), format!("BEARER {token}"), format!("Bearer  {token}")] {
            tenant.with_authorization(&header).get("/v1/account").await.expect(200);
        }
    }
}

/// A client and a good token of it, which works.
async fn holder(world: &World) -> (Tenant, String) {
    let tenant = world.tenant("DEMO").await;
    let token = token_of(&tenant);
    bearer(&tenant, &token).await.expect(200);
    (tenant, token)
}

fn token_of(tenant: &Tenant) -> String {
    tenant.authorization.as_ref().unwrap().strip_prefix("Bearer ").unwrap().to_owned()
}

async fn bearer(tenant: &Tenant, token: &str) -> Reply {
    tenant.with_authorization(&format!("Bearer {token}")).get("/v1/account").await
}

async fn refused(tenant: &Tenant, token: &str) {
    let shown = &token[..token.len().min(300)];
    let reply = bearer(tenant, token).await;
    assert_eq!(reply.status, 401, "{shown}: {}", reply.text());
    assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"), "{shown}");
    let challenge = reply.header("www-authenticate").unwrap();
    assert!(challenge.contains("error=\"invalid_token\""), "{shown}: {challenge}");
}
