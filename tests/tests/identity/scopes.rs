//! What a token allows: at most what the client asked for, and never more than the client still has.

use chancery_domain::{ClientId, Scope, ScopeSet};
use chancery_service::{ServiceError, StoreError};
use chancery_tests::{Tenant, World, on_both_databases};
use serde_json::json;

use crate::disabled::until;
use crate::forge::parts;

on_both_databases! {
    async fn a_client_gets_the_scopes_it_has(world: World) {
        let tenant = world.tenant_with("DEMO", "write:account reseller".parse().unwrap()).await;
        let granted = tenant.ask_token(json!({})).await.expect(200);
        assert_eq!(granted["scope"], "reseller write:account");
        assert_eq!(parts(granted["access_token"].as_str().unwrap()).1["scope"], "reseller write:account");
    }

    async fn a_client_may_ask_for_less(world: World) {
        let tenant = world.tenant("DEMO").await;
        for (asked, given) in [
            ("reseller read:account", "reseller read:account"),
            ("read:account reseller", "reseller read:account"),
            ("  read:account   reseller read:account ", "reseller read:account"),
            ("reseller", "reseller"),
        ] {
            let granted = tenant.ask_token(json!({"scope": asked})).await.expect(200);
            assert_eq!(granted["scope"], given, "{asked:?}");
        }
        let narrow = narrowed(&tenant, "reseller read:account").await;
        narrow.get("/v1/account").await.expect(200);
        assert_eq!(narrow.post("/v1/account", account()).await.status, 403);
        // The wide token goes on as it was.
        tenant.post("/v1/account", account()).await.expect(201);
    }

    async fn what_a_client_may_not_have_is_not_half_granted(world: World) {
        let tenant = world.tenant_with("DEMO", "reseller read:account".parse().unwrap()).await;
        let refused = tenant.ask_token(json!({"scope": "reseller read:account write:account"})).await.expect(400);
        assert_eq!(refused["error"], "invalid_scope");
        let said = refused["error_description"].as_str().unwrap();
        assert!(said.contains("reseller read:account") && !said.contains("write:account"), "{said}");
    }

    async fn a_refusal_names_the_scope_that_is_missing(world: World) {
        let tenant = world.tenant("DEMO").await;
        for (scope, missing) in [("reseller", "read:account"), ("read:account", "reseller")] {
            let reply = narrowed(&tenant, scope).await.get("/v1/account").await;
            assert_eq!(reply.status, 403);
            assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
            assert!(reply.text().contains(&format!("`{missing}`")), "{}", reply.text());
        }
    }

    async fn scopes_taken_from_a_client_are_gone_from_its_live_tokens(world: World) {
        let tenant = world.tenant("DEMO").await;
        tenant.post("/v1/account", account()).await.expect(201);
        let watching = crate::disabled::Watching::begin(&world.services);

        set_scopes(&world, &tenant, "reseller read:account".parse().unwrap()).await;
        until(async || tenant.post("/v1/account", account()).await.status == 403).await;
        tenant.get("/v1/account").await.expect(200);
        assert_eq!(tenant.ask_token(json!({})).await.expect(200)["scope"], "reseller read:account");
        let asked = json!({"scope": Scope::WriteAccount.as_str()});
        assert_eq!(tenant.ask_token(asked).await.expect(400)["error"], "invalid_scope");

        // What is given back is back; what a token was never given it does not get.
        let narrow = narrowed(&tenant, "reseller").await;
        set_scopes(&world, &tenant, ScopeSet::all()).await;
        until(async || tenant.post("/v1/account/", json!({})).await.status != 403).await;
        assert_eq!(narrow.get("/v1/account").await.status, 403);
        drop(watching);
    }
}

fn account() -> serde_json::Value {
    json!({"customer_email": "a@example.com"})
}

async fn narrowed(tenant: &Tenant, scope: &str) -> Tenant {
    let granted = tenant.ask_token(json!({"scope": scope})).await.expect(200);
    tenant.with_authorization(&format!("Bearer {}", granted["access_token"].as_str().unwrap()))
}

/// There is no command for it yet; whatever changes a client does it so.
async fn set_scopes(world: &World, tenant: &Tenant, scopes: ScopeSet) {
    let id: ClientId = tenant.client_id.parse().unwrap();
    let changed = world.store.write(move |tx| {
        let mut client = tx.client(id)?.expect("a client");
        client.scopes = scopes.clone();
        tx.save_client(&client)?;
        tx.advance_identity_epoch()
    });
    let changed: Result<(), StoreError> = changed.await;
    changed.map_err(ServiceError::from).unwrap();
}
