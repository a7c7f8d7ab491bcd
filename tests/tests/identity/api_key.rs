//! API keys: sent bare, and only where the operator takes them.

use chancery_domain::{Name, ScopeSet};
use chancery_service::operator::NewApiKey;
use chancery_service::{ServiceError, Settings};
use chancery_tests::{Tenant, World, on_both_databases, settings};
use serde_json::json;

use crate::disabled::{Watching, until};

on_both_databases! {
    async fn a_bare_key_in_the_header_is_enough(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = key(&world, "DEMO", ScopeSet::all()).await;
        let holder = world.stranger().with_authorization(made.text.reveal());
        let account = holder.post("/v1/account", json!({"customer_email": "a@example.com"})).await.expect(201);
        assert_eq!(account["resellerCode"], "DEMO");
        assert_eq!(tenant.get("/v1/account").await.expect(200)["items"][0]["lookup"], account["lookup"]);
    }

    async fn it_is_not_a_bearer_token_nor_a_client(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = key(&world, "DEMO", ScopeSet::all()).await;
        let text = made.text.reveal();
        for scheme in ["Bearer", "Basic", "ApiKey", text] {
            let header = format!("{scheme} {text}");
            assert_eq!(world.stranger().with_authorization(&header).get("/v1/account").await.status, 401, "{header}");
        }
        // A client's secret is not a key either, and an access token not without `Bearer`.
        for header in [&tenant.client_secret, tenant.authorization.as_ref().unwrap().strip_prefix("Bearer ").unwrap()] {
            assert_eq!(world.stranger().with_authorization(header).get("/v1/account").await.status, 401);
        }
        let asked = json!({"client_id": made.key.id.to_string(), "client_secret": text});
        assert_eq!(tenant.ask_token(asked).await.expect(401)["error"], "invalid_client");
    }

    async fn it_is_taken_only_where_the_operator_says_so(world: World) {
        let tenant = world.tenant("DEMO").await;
        let made = key(&world, "DEMO", ScopeSet::all()).await;
        let strict = world.another_node(Settings { api_keys: false, ..settings() }, Vec::new()).await;
        let reply = strict.stranger().with_authorization(made.text.reveal()).get("/v1/account").await;
        assert_eq!(reply.status, 401);
        assert!(reply.header("www-authenticate").unwrap().starts_with("Bearer "));
        assert!(reply.text().contains("API keys are not taken here"), "{}", reply.text());
        strict.hears(&tenant).get("/v1/account").await.expect(200);
    }

    async fn a_key_that_is_almost_right_is_refused(world: World) {
        world.tenant("DEMO").await;
        let [one, other] = [key(&world, "DEMO", ScopeSet::all()).await, key(&world, "DEMO", ScopeSet::all()).await];
        let (one, other) = (one.text.reveal().to_owned(), other.text.reveal().to_owned());
        let (id, secret) = one.split_at(one.len() - 43);
        let (other_id, other_secret) = other.split_at(other.len() - 43);
        let mut flipped = secret.to_owned();
        flipped.replace_range(..1, if secret.starts_with('A') { "B" } else { "A" });
        let holder = |text: &str| world.stranger().with_authorization(text);
        holder(&one).get("/v1/account").await.expect(200);
        for text in [
            format!("{id}{flipped}"),
            format!("{id}{other_secret}"),
            format!("{other_id}{secret}"),
            format!("{id}{}", "A".repeat(43)),
            id.to_owned(),
            one[..one.len() - 1].to_owned(),
            format!("{one}A"),
            one.to_uppercase(),
            one.replacen("chk_", "", 1),
            "chk_".to_owned(),
            format!("chk_00000000000000000000000000_{secret}"),
        ] {
            let reply = holder(&text).get("/v1/account").await;
            assert_eq!(reply.status, 401, "{text}");
            assert!(!reply.text().contains(secret) && !reply.text().contains(other_secret), "{}", reply.text());
        }
        holder(&one).get("/v1/account").await.expect(200);
    }

    async fn it_may_do_what_its_scopes_say(world: World) {
        world.tenant("DEMO").await;
        let made = key(&world, "DEMO", "reseller read:account".parse().unwrap()).await;
        let holder = world.stranger().with_authorization(made.text.reveal());
        holder.get("/v1/account").await.expect(200);
        let refused = holder.post("/v1/account", json!({"customer_email": "a@example.com"})).await;
        assert_eq!(refused.status, 403);
        assert!(refused.text().contains("`write:account`"), "{}", refused.text());
    }

    async fn a_revoked_key_stops_on_every_node(world: World) {
        world.tenant("DEMO").await;
        let [made, kept] = [key(&world, "DEMO", ScopeSet::all()).await, key(&world, "DEMO", ScopeSet::all()).await];
        let second = world.another_node(settings(), Vec::new()).await;
        let _watching = [Watching::begin(&world.services), Watching::begin(&second.services)];
        let at = |text: &str| -> [Tenant; 2] {
            [world.stranger().with_authorization(text), second.stranger().with_authorization(text)]
        };
        for node in at(made.text.reveal()) {
            node.get("/v1/account").await.expect(200);
        }
        world.services.operator.revoke_api_key(made.key.id).await.unwrap();
        for node in at(made.text.reveal()) {
            until(async || node.get("/v1/account").await.status == 401).await;
        }
        for node in at(kept.text.reveal()) {
            node.get("/v1/account").await.expect(200);
        }
        let again = world.services.operator.revoke_api_key(made.key.id).await;
        assert!(matches!(again, Err(ServiceError::NotFound(..))));
    }
}

async fn key(world: &World, reseller: &str, scopes: ScopeSet) -> NewApiKey {
    world.services.operator.create_api_key(reseller, Name::parse("test").unwrap(), scopes).await.unwrap()
}
