//! External account binding (RFC 8555 section 7.3.4): a failed one says which thing is wrong.

use std::time::Duration;

use chancery_jose::{Algorithm, HmacKey, SigningKey, base64url, jws};
use chancery_service::AcmeSettings;
use chancery_testkit::TestStore;
use chancery_tests::{AcmeClient, World, on_both_databases, settings};
use serde_json::{Value, json};

use super::common::{problem, refused, signed, text, with};

/// Asks for an account with this binding.
async fn try_with(client: &AcmeClient, binding: &Value) -> chancery_tests::Reply {
    client.post(&client.url("newAccount"), &json!({"externalAccountBinding": binding})).await
}

on_both_databases! {
    async fn a_binding_that_fails_says_why(world: World) {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        let client = AcmeClient::at(world.stranger(), "TLS-90d").await;
        let (kid, key, url) = (text(&credential, "kid"), text(&credential, "hmacKey"), client.url("newAccount"));
        refused(&client.post(&url, &json!({})).await, 403, "externalAccountRequired", "HMAC key");

        let hs256 = Algorithm::HS256;
        let other_key = base64url::encode(&[7; 48]);
        // The text of the key in place of what it encodes: a common mistake.
        let undecoded = client.binding_by(kid, &base64url::encode(key.as_bytes()), hs256, &url);
        let elsewhere = client.binding_by(kid, key, hs256, &client.url("newOrder"));
        for (binding, status, kind, word) in [
            (client.binding_by("nobody", key, hs256, &url), 403, "unauthorized", "no credential"),
            (client.binding_by(&kid.replace(|c: char| c.is_ascii_digit(), "0"), key, hs256, &url), 403, "unauthorized", "no credential"),
            (client.binding_by(kid, &other_key, hs256, &url), 403, "unauthorized", "base64url"),
            (undecoded, 403, "unauthorized", "base64url"),
            (elsewhere, 400, "malformed", "`url`"),
        ] {
            refused(&try_with(&client, &binding).await, status, kind, word);
        }

        let mac = HmacKey::of_one_secret(hs256, &base64url::decode(key).unwrap()).unwrap();
        let own = client.key.public().to_canonical_json();
        let other = SigningKey::generate().unwrap().public().to_canonical_json();
        let good = with(serde_json::Map::new(), json!({"kid": kid, "url": url}));
        let made = |changes: Value, payload: &str| {
            jws::sign_flattened(with(good.clone(), changes), payload.as_bytes(), &mac).unwrap()
        };
        for (binding, word) in [
            (made(json!({"nonce": client.nonce().await}), &own), "`nonce`"),
            (made(json!({"kid": null}), &own), "`kid`"),
            (made(json!({"url": null}), &own), "`url`"),
            (made(json!({"crit": ["b64"]}), &own), "crit"),
            (made(json!({}), &other), "another key"),
            (made(json!({}), "{}"), "not a public key"),
            (made(json!({}), ""), "not a public key"),
            (signed(good.clone(), own.as_bytes(), &client.key), "HS256"),
            (json!("text"), "external account binding"),
            (json!({}), "external account binding"),
            (Value::Array(vec![]), "external account binding"),
        ] {
            refused(&try_with(&client, &binding).await, 400, "malformed", word);
        }
        // Nothing of all that has bound anything.
        let seen = tenant.get(&format!("/v1/eab-credential/{kid}")).await.expect(200);
        assert_eq!(seen["boundAccounts"], json!([]));

        // The key may be written in any order, and say more than it must.
        let mut spelled = client.key.public().to_value();
        spelled["use"] = "sig".into();
        let spelled = format!(" {spelled:#} ");
        try_with(&client, &made(json!({}), &spelled)).await.expect(201);
    }

    async fn every_hmac_of_the_three_binds(world: World) {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        for alg in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let client = AcmeClient::at(world.stranger(), "TLS-199d").await;
            let binding = client.binding(&credential, alg);
            assert_eq!(try_with(&client, &binding).await.expect(201)["status"], "valid");
        }
        let kid = text(&credential, "kid");
        let seen = tenant.get(&format!("/v1/eab-credential/{kid}")).await.expect(200);
        assert_eq!(seen["boundAccounts"].as_array().unwrap().len(), 3);
        assert_eq!(seen["revoked"], false);
    }

    async fn a_credential_that_is_revoked_expired_or_spent_binds_no_more(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("a@example.com").await;
        let path = format!("/v1/account/{}/eab-credential", text(&account, "lookup"));
        let revoked = tenant.post(&path, json!({})).await.expect(201);
        let short = tenant.post(&path, json!({"expires_in_days": 1})).await.expect(201);
        let once = tenant.post(&path, json!({"max_bindings": 1})).await.expect(201);
        tenant.delete(&format!("/v1/eab-credential/{}", text(&revoked, "kid"))).await.expect(200);
        let mut first = AcmeClient::at(world.stranger(), "TLS-90d").await;
        first.register(&once).await.expect(201);
        world.advance(Duration::from_secs(86_400));
        for (credential, word) in [(&revoked, "is revoked"), (&short, "has expired"), (&once, "all the accounts it may")] {
            let mut client = AcmeClient::at(world.stranger(), "TLS-90d").await;
            let reply = client.register(credential).await;
            let problem = refused(&reply, 403, "unauthorized", word);
            assert!(text(&problem, "detail").contains(text(credential, "kid")), "{problem}");
            assert!(text(&problem, "detail").contains("ask your provider"), "{problem}");
        }
        // Who has an account keeps it, whatever becomes of further bindings.
        first.read(&first.kid.clone().unwrap()).await.expect(200);
    }

    async fn one_credential_with_many_asking_at_once_binds_no_more_than_it_may(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = tenant.make_account("a@example.com").await;
        let path = format!("/v1/account/{}/eab-credential", text(&account, "lookup"));
        let credential = tenant.post(&path, json!({"max_bindings": 3})).await.expect(201);
        let mut clients = Vec::new();
        for _ in 0..12 {
            clients.push(AcmeClient::at(world.stranger(), "TLS-90d").await);
        }
        let asked = clients.iter_mut().map(|client| client.register(&credential));
        let replies = futures_util::future::join_all(asked).await;
        let bound = replies.iter().filter(|reply| reply.status == 201).count();
        assert_eq!(bound, 3);
        assert!(replies.iter().all(|reply| reply.status == 201 || reply.status == 403));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_use_and_terms_are_settings_of_the_operator() {
    let terms = "https://ca.test/terms.pdf".to_owned();
    let acme =
        AcmeSettings { single_use: true, terms_of_service: Some(terms.clone()), ..AcmeSettings::of("https://ca.test") };
    let world = World::over(TestStore::sqlite(), chancery_service::Settings { acme, ..settings() }, Vec::new()).await;
    let tenant = world.tenant("DEMO").await;
    let credential = tenant.make_account("a@example.com").await;
    let mut client = AcmeClient::at(world.stranger(), "TLS-90d").await;
    assert_eq!(client.directory["meta"]["termsOfService"], terms);
    // RFC 8555 section 7.3.3.
    let binding = client.binding(&credential, Algorithm::HS256);
    let reply = try_with(&client, &binding).await;
    let problem = problem(&reply, 403, "userActionRequired", &terms);
    assert_eq!(problem["instance"], terms);
    assert!(super::common::links(&reply).contains(&format!("<{terms}>;rel=\"terms-of-service\"").as_str()));
    let account = client.register(&credential).await.expect(201);
    assert_eq!(account["termsOfServiceAgreed"], true);
    let mut second = AcmeClient::at(world.stranger(), "TLS-90d").await;
    refused(&second.register(&credential).await, 403, "unauthorized", "all the accounts it may");
    let path = format!("/v1/account/{}/eab-credential", chancery_tests::lookup(&credential));
    let beyond = tenant.post(&path, json!({"max_bindings": 2})).await;
    assert_eq!(beyond.refusal(400), "invalid_request");
    assert!(beyond.text().contains("bind one ACME account"), "{}", beyond.text());
    tenant.post(&path, json!({"max_bindings": 1})).await.expect(201);
}
