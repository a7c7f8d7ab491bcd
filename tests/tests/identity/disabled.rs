//! Clients and resellers that are stopped stop soon, on every node.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_domain::{ClientId, Name, ScopeSet};
use chancery_service::Services;
use chancery_service::identity::NewClient;
use chancery_tests::{Tenant, World, on_both_databases, settings};
use serde_json::json;
use tokio::task::JoinHandle;

/// What the specification gives us.
const SOON: Duration = Duration::from_secs(5);

on_both_databases! {
    async fn a_disabled_client_stops_on_every_node_and_resumes(world: World) {
        let (tenant, bystander) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let second = world.another_node(settings(), Vec::new()).await;
        let _watching = [Watching::begin(&world.services), Watching::begin(&second.services)];
        let nodes = [tenant.clone(), second.hears(&tenant)];
        for node in &nodes {
            node.get("/v1/account").await.expect(200);
        }

        disable(&world, &tenant, true).await;
        for node in &nodes {
            until(async || node.get("/v1/account").await.status == 401).await;
            // No new token either, at once.
            assert_eq!(node.ask_token(json!({})).await.expect(401)["error"], "invalid_client");
        }
        bystander.get("/v1/account").await.expect(200);
        second.hears(&bystander).get("/v1/account").await.expect(200);

        disable(&world, &tenant, false).await;
        for node in &nodes {
            node.ask_token(json!({})).await.expect(200);
            until(async || node.get("/v1/account").await.status == 200).await;
        }
    }

    async fn a_node_that_does_not_watch_still_stops_in_time(world: World) {
        let tenant = world.tenant("DEMO").await;
        let second = world.another_node(settings(), Vec::new()).await;
        let elsewhere = second.hears(&tenant);
        elsewhere.get("/v1/account").await.expect(200);
        disable(&world, &tenant, true).await;
        until(async || elsewhere.get("/v1/account").await.status == 401).await;
    }

    async fn a_client_ends_when_its_time_is_over(world: World) {
        let tenant = world.tenant("DEMO").await;
        let name = Name::parse("for a day").unwrap();
        let new = NewClient { name, scopes: ScopeSet::all(), expires_in_days: Some(2) };
        let made = world.services.operator.create_client("DEMO", new).await.unwrap();
        let credentials = json!({"client_id": made.client.id.to_string(), "client_secret": made.secret.reveal()});
        let day = Duration::from_secs(86_400);
        world.advance(day + Duration::from_secs(86_399));
        let token = tenant.ask_token(credentials.clone()).await.expect(200)["access_token"].clone();
        let holder = tenant.with_authorization(&format!("Bearer {}", token.as_str().unwrap()));
        holder.get("/v1/account").await.expect(200);

        world.advance(Duration::from_secs(1));
        assert_eq!(holder.get("/v1/account").await.status, 401);
        assert_eq!(tenant.ask_token(credentials).await.expect(401)["error"], "invalid_client");
        tenant.ask_token(json!({})).await.expect(200);
    }

    async fn a_suspended_reseller_is_forbidden_everything(world: World) {
        let (mut tenant, bystander) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let made = world.services.operator.create_api_key("DEMO", Name::parse("k").unwrap(), ScopeSet::all()).await;
        let by_key = tenant.with_authorization(made.unwrap().text.reveal());
        let second = world.another_node(settings(), Vec::new()).await;
        let _watching = [Watching::begin(&world.services), Watching::begin(&second.services)];
        let everybody = [tenant.clone(), second.hears(&tenant), by_key.clone(), second.hears(&by_key)];
        for one in &everybody {
            one.get("/v1/account").await.expect(200);
        }

        world.services.operator.set_reseller_suspended("DEMO", true).await.unwrap();
        for one in &everybody {
            until(async || one.get("/v1/account").await.status == 403).await;
            let paths = ["/v1/policy", "/v1/account-group", "/v1/eab-credential", "/v1/account/acc_x"];
            for path in paths {
                let reply = one.get(path).await;
                assert_eq!(reply.status, 403, "{path}");
                assert!(reply.text().contains("suspended"), "{}", reply.text());
                assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
            }
            // Also before a body is looked at.
            assert_eq!(one.post("/v1/account", json!({"nonsense": 1})).await.status, 403);
        }
        assert_eq!(tenant.ask_token(json!({})).await.expect(400)["error"], "unauthorized_client");
        bystander.get("/v1/account").await.expect(200);

        world.services.operator.set_reseller_suspended("DEMO", false).await.unwrap();
        tenant.sign_in().await;
        for one in &everybody {
            until(async || one.get("/v1/account").await.status == 200).await;
        }
    }
}

/// Asks again and again until it is so, and not for longer than the specification allows.
pub(crate) async fn until(mut so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    loop {
        // When the question is put counts, not when a busy machine gets round to the answer.
        let asked = began.elapsed();
        if so().await {
            return;
        }
        assert!(asked < SOON, "not so after {asked:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A node that watches for changes, until this is dropped.
pub(crate) struct Watching(JoinHandle<()>);

impl Watching {
    pub(crate) fn begin(services: &Services) -> Self {
        let identity = Arc::clone(&services.identity);
        Self(tokio::spawn(async move { identity.watch().await }))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn disable(world: &World, tenant: &Tenant, disabled: bool) {
    let id: ClientId = tenant.client_id.parse().unwrap();
    world.services.operator.set_client_disabled(id, disabled).await.unwrap();
}
