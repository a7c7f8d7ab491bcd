//! Request authentication (RFC 8555 section 6.2): what is not signed as it must be does nothing.

use chancery_jose::{Algorithm, HmacKey, Signer, SigningKey, base64url, jws};
use chancery_tests::{AcmeClient, on_both_databases, path};
use http::Method;
use serde_json::{Value, json};

use super::common::{links, parts, problem, refused, signed, stage, with};

on_both_databases! {
    async fn a_request_is_one_flattened_jws_and_nothing_else(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        let good = signed(client.header(&url).await, b"", &client.key);
        let grown = |name: &str, value: Value| {
            let mut body = good.clone();
            body[name] = value;
            body.to_string()
        };
        let without = |name: &str| {
            let mut body = good.clone();
            body.as_object_mut().unwrap().remove(name);
            body.to_string()
        };
        let twice = good.to_string().replacen('{', "{\"payload\":\"\",", 1);
        for (body, word) in [
            ("not JSON".to_owned(), "cannot be read"),
            (String::new(), "cannot be read"),
            ("[]".to_owned(), "cannot be read"),
            ("{}".to_owned(), "`protected`"),
            (without("signature"), "`signature`"),
            (without("payload"), "`payload`"),
            (grown("header", json!({"kid": url})), "`header`"),
            (grown("signatures", json!([])), "`signatures`"),
            (grown("payload", json!(7)), "`payload`"),
            (grown("payload", json!("e30=")), "`payload`"),
            (grown("payload", json!("e3-/")), "`payload`"),
            (grown("protected", json!("e30")), "alg"),
            (twice, "repeated"),
            (good["protected"].as_str().unwrap().to_owned() + "..", "cannot be read"),
            (grown("signature", json!("AAAA")), "does not verify"),
            (grown("payload", json!("e30")), "does not verify"),
        ] {
            refused(&client.send_raw(&url, body.into_bytes()).await, 400, "malformed", word);
        }
        // None of them has used the nonce up: it is taken with a good signature only.
        client.send_raw(&url, good.to_string().into_bytes()).await.expect(200);
    }

    async fn the_protected_header_says_each_thing_once_and_nothing_that_changes_the_meaning(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        for (changes, word) in [
            (json!({"crit": []}), "`crit`"),
            (json!({"crit": ["exp"], "exp": 1}), "`crit`"),
            (json!({"b64": false}), "`b64`"),
            (json!({"b64": true}), "`b64`"),
            (json!({"url": null}), "`url`"),
            (json!({"url": 7}), "`url`"),
            (json!({"nonce": 7}), "`nonce`"),
            (json!({"nonce": "no/base64url"}), "`nonce`"),
            (json!({"jwk": client.key.public().to_value()}), "both"),
            (json!({"kid": null}), "neither"),
            (json!({"kid": null, "jwk": client.key.public().to_value()}), "in `kid`"),
            (json!({"kid": 7}), "kid"),
        ] {
            let header = with(client.header(&url).await, changes.clone());
            refused(&client.send(&url, header, b"").await, 400, "malformed", word);
        }
        let header = Value::Object(client.header(&url).await).to_string();
        let doubled = header.replacen('{', "{\"alg\":\"ES256\",\"alg\":\"ES256\",", 1);
        refused(&client.send_raw(&url, parts(&doubled, "", b"x").to_string().into_bytes()).await, 400, "malformed", "repeated");
        // Where the key itself belongs, the account's URL does not.
        let new_account = client.url("newAccount");
        refused(&client.post(&new_account, &json!({})).await, 400, "malformed", "`jwk`");
    }

    async fn only_the_algorithms_that_are_told_are_taken(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        let shared = HmacKey::new(Algorithm::HS256, &[0; 32]).unwrap();
        let mac = jws::sign_flattened(client.header(&url).await, b"", &shared).unwrap();
        let mut unsigned = Vec::new();
        for alg in ["none", "None", "RS1", "ES256K", ""] {
            let header = Value::Object(with(client.header(&url).await, json!({"alg": alg}))).to_string();
            unsigned.push(parts(&header, "", b""));
        }
        for body in unsigned.into_iter().chain([mac]) {
            let reply = client.send_raw(&url, body.to_string().into_bytes()).await;
            let problem = refused(&reply, 400, "badSignatureAlgorithm", "use one of");
            // RFC 8555 section 6.2.
            assert_eq!(problem["algorithms"], json!(["ES256", "ES384", "ES512", "RS256", "EdDSA"]));
        }
        for alg in ["ES384", "RS256", "EdDSA"] {
            let header = Value::Object(with(client.header(&url).await, json!({"alg": alg}))).to_string();
            let input = format!("{}.", base64url::encode(header.as_bytes()));
            let body = parts(&header, "", &client.key.sign(input.as_bytes()).unwrap());
            refused(&client.send_raw(&url, body.to_string().into_bytes()).await, 400, "malformed", alg);
        }
    }

    async fn keys_that_are_not_public_keys_of_a_good_kind_are_refused(world: World) {
        let client = AcmeClient::at(world.stranger(), "TLS-90d").await;
        let url = client.url("newAccount");
        for (jwk, word) in [
            (json!({"kty": "oct", "k": "AAAA"}), ""),
            (json!({"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"}), "curve"),
            (json!({"kty": "EC", "crv": "secp256k1", "x": "AAAA", "y": "AAAA"}), "secp256k1"),
            (json!({"kty": "RSA", "n": "AQAB", "e": "AQAB"}), "2048"),
            (json!({"kty": "RSA"}), "`n`"),
            (json!("key"), ""),
            (
                json!({"kty": "OKP", "crv": "Ed25519", "x": "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}),
                "small order",
            ),
        ] {
            let header = with(client.header(&url).await, json!({"jwk": jwk}));
            refused(&client.send(&url, header, b"{}").await, 400, "badPublicKey", word);
        }
    }

    async fn a_signature_is_for_one_url_one_account_and_one_key(world: World) {
        let (tenant, _, client) = stage(&world).await;
        let other = AcmeClient::registered(&world, &tenant.make_account("b@example.com").await).await;
        let url = client.kid.clone().unwrap();
        for elsewhere in ["https://ca.test/acme/account/other", "https://evil.test/acme", &format!("{url}?x=1"), "x"] {
            let header = with(client.header(&url).await, json!({"url": elsewhere}));
            refused(&client.send(&url, header, b"").await, 403, "unauthorized", "signed for");
        }
        // The key of one account with the name of another.
        let header = with(client.header(&url).await, json!({"kid": other.kid}));
        refused(&client.send(&url, header, b"").await, 400, "malformed", "does not verify");
        // Accounts that are not there, or elsewhere.
        let id = url.rsplit('/').next().unwrap();
        for kid in [
            format!("https://evil.test/acme/account/{id}"),
            format!("/acme/account/{id}"),
            format!("{url}/"),
            url.replace(id, "acct_00000000000000000000000000"),
            String::new(),
        ] {
            let header = with(client.header(&url).await, json!({"kid": kid}));
            refused(&client.send(&url, header, b"").await, 400, "accountDoesNotExist", "");
        }
        // Somebody else's account is not for reading or changing.
        let theirs = other.kid.clone().unwrap();
        for url in [theirs.clone(), format!("{theirs}/orders")] {
            refused(&client.read(&url).await, 403, "unauthorized", "another account");
        }
        let end = json!({"status": "deactivated"});
        refused(&client.post(&theirs, &end).await, 403, "unauthorized", "another account");
        assert_eq!(other.read(&theirs).await.expect(200)["status"], "valid");
        // A key that is no account's.
        let stranger = AcmeClient { key: SigningKey::generate().unwrap(), ..client };
        refused(&stranger.read(&url).await, 400, "malformed", "does not verify");
    }

    async fn reading_needs_an_empty_payload_and_writing_an_object(world: World) {
        let (_, _, client) = stage(&world).await;
        let (order_url, order) = client.order(&["a.test"]).await;
        let orders = format!("{}/orders", client.kid.clone().unwrap());
        for url in [&order_url, &orders] {
            refused(&client.post(url, &json!({})).await, 400, "malformed", "POST-as-GET");
        }
        let finalize = order["finalize"].as_str().unwrap();
        let targets = [client.url("newOrder"), client.url("newAuthz"), client.url("revokeCert"), client.url("keyChange")];
        for url in targets.iter().map(String::as_str).chain([finalize]) {
            refused(&client.read(url).await, 400, "malformed", "empty");
            for payload in ["{", "[]", "null", "7", "\"x\"", "{\"a\":1,\"a\":2}", "{} {}"] {
                let reply = client.send(url, client.header(url).await, payload.as_bytes()).await;
                refused(&reply, 400, "malformed", "");
            }
        }
        let twice = br#"{"identifiers":[{"type":"dns","value":"a.test","value":"b.test"}]}"#;
        let new_order = client.url("newOrder");
        refused(&client.send(&new_order, client.header(&new_order).await, twice).await, 400, "malformed", "repeated");
        // What is not known is passed over (section 7.3).
        let more = json!({"identifiers": [{"type": "dns", "value": "b.test", "colour": "blue"}], "shape": {"round": true}});
        client.post(&new_order, &more).await.expect(201);
    }

    async fn bodies_are_of_one_media_type_and_bounded(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        let body = signed(client.header(&url).await, b"", &client.key).to_string().into_bytes();
        for media_type in [None, Some("application/json"), Some("text/plain"), Some("application/jose")] {
            let headers: Vec<_> = media_type.map(|value| ("content-type", value)).into_iter().collect();
            let reply = client.stranger.raw(Method::POST, path(&url), &headers, body.clone()).await;
            refused(&reply, 415, "malformed", "application/jose+json");
        }
        let large = vec![b' '; 300 * 1024];
        refused(&client.send_raw(&url, large).await, 413, "malformed", "larger");
        // Parameters and capitals change nothing.
        let headers = [("content-type", "Application/JOSE+json; charset=utf-8")];
        client.stranger.raw(Method::POST, path(&url), &headers, body).await.expect(200);
    }

    async fn everything_but_what_is_public_is_read_by_post(world: World) {
        world.start_workers();
        let (_, _, client) = stage(&world).await;
        let (order_url, order) = client.issue(&["a.test"]).await;
        let authorization = order["authorizations"][0].as_str().unwrap();
        let challenge = client.read(authorization).await.expect(200)["challenges"][0]["url"].as_str().unwrap().to_owned();
        let account = client.kid.clone().unwrap();
        let certificate = order["certificate"].as_str().unwrap();
        let new_order = client.url("newOrder");
        for url in [&account, &order_url, authorization, &challenge, certificate, &new_order] {
            for method in [Method::GET, Method::PUT, Method::DELETE, Method::PATCH] {
                let reply = client.stranger.raw(method, path(url), &[], Vec::new()).await;
                assert_eq!(reply.header("allow"), Some("POST"));
                problem(&reply, 405, "malformed", "");
            }
        }
        for url in ["/acme", "/acme/", "/acme/TLS-90d", "/acme/TLS-90d/x", "/acme/order/x/y/z", "/acme/TLS-1d/new-nonce"] {
            let reply = world.stranger().get(url).await;
            problem(&reply, 404, "malformed", "");
            assert_eq!(links(&reply).len(), 1);
        }
    }
}
