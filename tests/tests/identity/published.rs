//! What others need to verify our tokens, and one of them who does.

use chancery_tests::{START, Tenant, World, on_both_databases};
use serde_json::{Value, json};

use crate::tools::ask_node;

on_both_databases! {
    async fn the_key_set_holds_public_keys_and_nothing_private(world: World) {
        let reply = world.stranger().get("/.well-known/jwks.json").await;
        assert_eq!(reply.header("content-type"), Some("application/jwk-set+json"));
        // A verifier may keep it for much less than the hour for which a new key is published before it is used.
        assert_eq!(reply.header("cache-control"), Some("public, max-age=300"));
        let keys = reply.expect(200)["keys"].clone();
        let [key] = &keys.as_array().unwrap()[..] else { panic!("{keys}") };
        let members: Vec<_> = key.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["alg", "crv", "kid", "kty", "use", "x", "y"]);
        assert_eq!((&key["kty"], &key["crv"]), (&json!("EC"), &json!("P-256")));
        assert_eq!((&key["alg"], &key["use"]), (&json!("ES256"), &json!("sig")));
    }

    async fn the_metadata_of_rfc_8414_leads_to_everything(world: World) {
        let reply = world.stranger().get("/.well-known/oauth-authorization-server").await;
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let metadata = reply.expect(200);
        assert_eq!(metadata["issuer"], "https://ca.test/");
        assert_eq!(metadata["token_endpoint"], "https://ca.test/oauth/token");
        assert_eq!(metadata["jwks_uri"], "https://ca.test/.well-known/jwks.json");
        assert_eq!(metadata["grant_types_supported"], json!(["client_credentials"]));
        // Required by RFC 8414 section 2, although there is no authorization endpoint.
        assert_eq!(metadata["response_types_supported"], json!([]));
        let methods = json!(["client_secret_post", "client_secret_basic"]);
        assert_eq!(metadata["token_endpoint_auth_methods_supported"], methods);

        // What it names is there, and gives what it says.
        let tenant = world.tenant("DEMO").await;
        let scopes = metadata["scopes_supported"].as_array().unwrap();
        let scopes: Vec<_> = scopes.iter().filter_map(Value::as_str).collect();
        let granted = tenant.ask_token(json!({"audience": metadata["chancery_audience"]})).await.expect(200);
        assert_eq!(granted["scope"], scopes.join(" "));
        let path = |name: &str| metadata[name].as_str().unwrap().strip_prefix("https://ca.test").unwrap().to_owned();
        world.stranger().get(&path("jwks_uri")).await.expect(200);
        assert_eq!(world.stranger().get(&path("token_endpoint")).await.status, 405);
    }

    async fn a_library_that_is_not_ours_verifies_our_tokens(world: World) {
        let tenant = world.tenant("DEMO").await;
        let asked = question(&world, &tenant).await;
        let Some(answer) = ask_node("verify-token.mjs", &asked) else { return };
        assert_eq!(answer["header"]["typ"], "at+jwt", "{answer}");
        assert_eq!(answer["claims"]["sub"], tenant.client_id);
        assert_eq!(answer["claims"]["reseller_code"], "DEMO");

        // It does look: each of these makes it refuse.
        for (name, value, code) in [
            ("audience", json!("https://elsewhere.test"), "ERR_JWT_CLAIM_VALIDATION_FAILED"),
            ("issuer", json!("https://ca.test"), "ERR_JWT_CLAIM_VALIDATION_FAILED"),
            ("now", json!(START.as_secs() + 86_400), "ERR_JWT_EXPIRED"),
            ("jwks", json!({"keys": []}), "ERR_JWKS_NO_MATCHING_KEY"),
        ] {
            let mut asked = asked.clone();
            asked[name] = value;
            assert_eq!(ask_node("verify-token.mjs", &asked), Some(json!({"refused": code})), "{name}");
        }
    }
}

async fn question(world: &World, tenant: &Tenant) -> Value {
    let metadata = world.stranger().get("/.well-known/oauth-authorization-server").await.expect(200);
    let token = tenant.ask_token(json!({})).await.expect(200)["access_token"].clone();
    json!({
        "token": token,
        "jwks": world.stranger().get("/.well-known/jwks.json").await.expect(200),
        "issuer": metadata["issuer"],
        "audience": metadata["chancery_audience"],
        "now": START.as_secs(),
    })
}
