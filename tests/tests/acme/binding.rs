//! External account binding (RFC 8555 section 7.3.4).

use chancery_jose::Algorithm;
use chancery_tests::{AcmeClient, lookup, on_both_databases};
use serde_json::{Value, json};

use crate::common::problem;

async fn register(client: &AcmeClient, binding: Value) -> chancery_tests::Reply {
    client.post(&client.url("newAccount"), &json!({"externalAccountBinding": binding})).await
}

on_both_databases! {
    async fn every_hmac_binds(world: World) {
        let credential = world.tenant("DEMO").await.make_account("a@example.com").await;
        for alg in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let client = AcmeClient::at(world.stranger(), "TLS-199d").await;
            let reply = register(&client, client.binding(&credential, alg)).await;
            assert_eq!(reply.status, 201, "{}", reply.text());
        }
    }

    async fn a_binding_that_fails_says_why(world: World) {
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        let (kid, key) = (credential["kid"].as_str().unwrap(), credential["hmacKey"].as_str().unwrap());
        let client = AcmeClient::at(world.stranger(), "TLS-90d").await;
        let url = client.url("newAccount");
        problem(&client.post(&url, &json!({})).await, 403, "externalAccountRequired");
        let by = |kid: &str, key: &str, url: &str| client.binding_by(kid, key, Algorithm::HS256, url);

        let unknown = by("0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f", key, &url);
        assert!(problem(&register(&client, unknown).await, 403, "unauthorized").contains("no credential"));
        let elsewhere = by(kid, key, "https://ca.test/acme/TLS-199d/new-account");
        assert!(problem(&register(&client, elsewhere).await, 400, "malformed").contains("`url`"));
        let wrong_key = by(kid, &"A".repeat(64), &url);
        assert!(problem(&register(&client, wrong_key).await, 403, "unauthorized").contains("base64url"));
        let other = AcmeClient::at(world.stranger(), "TLS-90d").await;
        let of_another = other.binding(&credential, Algorithm::HS256);
        assert!(problem(&register(&client, of_another).await, 400, "malformed").contains("another key"));
        tenant.delete(&format!("/v1/eab-credential/{kid}")).await.expect(200);
        let revoked = by(kid, key, &url);
        assert!(problem(&register(&client, revoked).await, 403, "unauthorized").contains("revoked"));
    }

    async fn a_credential_binds_as_many_as_it_may(world: World) {
        let tenant = world.tenant("DEMO").await;
        let account = lookup(&tenant.make_account("a@example.com").await);
        let made = tenant.post(&format!("/v1/account/{account}/eab-credential"), json!({"max_bindings": 1})).await;
        let credential = made.expect(201);
        assert_eq!(credential["status"], "unused");
        let first = AcmeClient::registered(&world, &credential).await;
        let second = AcmeClient::at(world.stranger(), "TLS-90d").await;
        let binding = second.binding(&credential, Algorithm::HS256);
        problem(&register(&second, binding).await, 403, "unauthorized");
        let kid = credential["kid"].as_str().unwrap();
        let shown = tenant.get(&format!("/v1/eab-credential/{kid}")).await.expect(200);
        assert_eq!(shown["status"], "bound");
        assert_eq!(shown["boundAccounts"], json!([first.kid]));
    }
}
