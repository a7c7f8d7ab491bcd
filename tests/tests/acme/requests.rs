//! How a request must be signed (RFC 8555 section 6).

use chancery_jose::{Algorithm, HmacKey, SigningKey, jws};
use chancery_tests::{AcmeClient, on_both_databases, path};
use http::Method;
use serde_json::{Map, Value, json};

use crate::common::{problem, stage};

on_both_databases! {
    async fn a_nonce_that_is_missing_old_or_not_ours_is_refused(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        let with = |nonce: Option<&str>, header: &Map<String, Value>| {
            let mut header = header.clone();
            header.remove("nonce");
            header.extend(nonce.map(|nonce| ("nonce".to_owned(), nonce.into())));
            header
        };
        let header = client.header(&url).await;
        problem(&client.send(&url, with(None, &header), b"").await, 400, "badNonce");
        problem(&client.send(&url, with(Some("AAAA"), &header), b"").await, 400, "badNonce");
        problem(&client.send(&url, with(Some("not base64!"), &header), b"").await, 400, "malformed");
        // A refused request has not used the nonce.
        client.send(&url, header, b"").await.expect(200);
        let header = client.header(&url).await;
        world.advance(std::time::Duration::from_secs(3601));
        problem(&client.send(&url, header, b"").await, 400, "badNonce");
    }

    async fn a_request_that_is_not_signed_as_it_should_be_is_refused(world: World) {
        let (_, _, client) = stage(&world).await;
        let url = client.kid.clone().unwrap();
        let changed = async |name: &str, value: Option<Value>| {
            let mut header = client.header(&url).await;
            header.remove(name);
            header.extend(value.map(|value| (name.to_owned(), value)));
            client.send(&url, header, b"").await
        };
        problem(&changed("url", Some(json!("https://ca.test/acme/elsewhere"))).await, 403, "unauthorized");
        problem(&changed("url", None).await, 400, "malformed");
        problem(&changed("kid", None).await, 400, "malformed");
        problem(&changed("jwk", Some(client.key.public().to_value())).await, 400, "malformed");
        problem(&changed("kid", Some(json!("https://ca.test/acme/account/1"))).await, 400, "accountDoesNotExist");
        let stranger = "https://ca.test/acme/account/acme_00000000000000000000000000";
        problem(&changed("kid", Some(json!(stranger))).await, 400, "accountDoesNotExist");
        problem(&changed("crit", Some(json!(["exp"]))).await, 400, "malformed");
        problem(&changed("b64", Some(json!(true))).await, 400, "malformed");

        let mut body = jws::sign_flattened(client.header(&url).await, b"", &SigningKey::generate().unwrap()).unwrap();
        problem(&client.send_raw(&url, body.to_string().into_bytes()).await, 400, "malformed");
        body["header"] = json!({});
        problem(&client.send_raw(&url, body.to_string().into_bytes()).await, 400, "malformed");
        let twice = br#"{"protected":"e30","protected":"e30","payload":"","signature":""}"#;
        problem(&client.send_raw(&url, twice.to_vec()).await, 400, "malformed");
        problem(&client.send_raw(&url, b"{".to_vec()).await, 400, "malformed");
        problem(&client.send_raw(&url, vec![b' '; 300_000]).await, 413, "malformed");
        let plain = client.stranger.raw(Method::POST, path(&url), &[("content-type", "application/json")], b"{}".to_vec());
        problem(&plain.await, 415, "malformed");

        let mac = HmacKey::new(Algorithm::HS256, &[7; 32]).unwrap();
        let body = jws::sign_flattened(client.header(&url).await, b"", &mac).unwrap();
        let reply = client.send_raw(&url, body.to_string().into_bytes()).await;
        problem(&reply, 400, "badSignatureAlgorithm");
        assert_eq!(reply.json()["algorithms"], json!(["ES256", "ES384", "ES512", "RS256", "EdDSA"]));
    }

    async fn every_refusal_below_acme_is_a_problem_document(world: World) {
        let stranger = world.stranger();
        for path in ["/acme", "/acme/", "/acme/x", "/acme/x/y", "/acme/TLS-90d/x", "/acme/order/1/2/3"] {
            problem(&stranger.get(path).await, 404, "malformed");
        }
        for path in ["/acme/TLS-90d/new-order", "/acme/order/1", "/acme/cert/1"] {
            problem(&stranger.get(path).await, 405, "malformed");
        }
        // Nor is a path that is not text refused in another way.
        for path in ["/acme/%ff/directory", "/acme/order/%ff", "/acme/order/%ff/finalize", "/acme/cert/1/%c3%28"] {
            problem(&stranger.raw(Method::POST, path, &[], Vec::new()).await, 404, "malformed");
            assert_eq!(stranger.get(path).await.header("content-type"), Some("application/problem+json"));
        }
        let options = stranger.raw(Method::OPTIONS, "/acme/TLS-90d/new-order", &[], Vec::new()).await;
        assert_eq!((options.status.as_u16(), options.header("access-control-allow-origin")), (204, Some("*")));
    }

    async fn a_key_that_is_not_acceptable_is_refused(world: World) {
        let client = AcmeClient::at(world.stranger(), "TLS-90d").await;
        let url = client.url("newAccount");
        for (jwk, kind) in [
            (json!({"kty": "oct", "k": "AAAA"}), "badPublicKey"),
            (json!({"kty": "RSA", "n": "AQAB", "e": "AQAB"}), "badPublicKey"),
            (json!({"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"}), "badPublicKey"),
        ] {
            let mut header = client.header(&url).await;
            header.insert("jwk".to_owned(), jwk);
            problem(&client.send(&url, header, b"{}").await, 400, kind);
        }
    }

    async fn reading_wants_an_empty_payload(world: World) {
        let (_, _, client) = stage(&world).await;
        let (url, _) = client.order(&["example.com"]).await;
        problem(&client.post(&url, &json!({})).await, 400, "malformed");
        let orders = client.read(&client.kid.clone().unwrap()).await.expect(200)["orders"].as_str().unwrap().to_owned();
        problem(&client.post(&orders, &json!({})).await, 400, "malformed");
        assert_eq!(client.read(&orders).await.expect(200)["orders"], json!([url]));
    }
}
