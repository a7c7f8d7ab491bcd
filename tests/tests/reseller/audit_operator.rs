//! The trail as the operator sees it: its own actions in it, and what it asks for out of it.

use std::time::Duration;

use chancery_domain::{ClientId, Name, PageRequest, ScopeSet};
use chancery_store::{AuditFilter, Outcome};
use chancery_tests::on_both_databases;
use http::Method;
use serde_json::json;

use crate::trail::{Writer, done, named, records};

on_both_databases! {
    async fn the_operators_actions_are_written_down_too(world: World) {
        let operator = world.services.operator.clone().acting_as("alice");
        let name = || Name::parse("test").unwrap();
        let tenant = world.tenant("DEMO").await;
        let reseller = operator.reseller("DEMO").await.unwrap().id;
        let client: ClientId = tenant.client_id.parse().unwrap();
        let before = done(&world).await;
        operator.begin_rotation(client).await.map(drop).unwrap();
        operator.finish_rotation(client).await.unwrap();
        operator.set_client_disabled(client, true).await.unwrap();
        operator.set_client_disabled(client, false).await.unwrap();
        let key = operator.create_api_key("DEMO", name(), ScopeSet::all()).await.map(|made| made.key.id).unwrap();
        operator.revoke_api_key(key).await.unwrap();
        operator.set_reseller_suspended("DEMO", true).await.unwrap();
        operator.set_reseller_suspended("DEMO", false).await.unwrap();
        // Refused, so not done.
        operator.revoke_api_key(key).await.unwrap_err();
        operator.finish_rotation(client).await.map(drop).unwrap_err();

        let filter = AuditFilter { actor: Some("alice".to_owned()), ..AuditFilter::default() };
        let mut written = records(&world, filter).await;
        assert_eq!(done(&world).await, before + written.len());
        assert!(written.iter().all(|record| record.actor_kind == "operator" && record.reseller == Some(reseller)));
        assert!(written.iter().all(|record| record.address == "local" && record.outcome == Outcome::Done));
        written.sort_by(|a, b| a.action.cmp(&b.action));
        let told: Vec<_> = written.iter().map(|record| (record.action.as_str(), record.subject.clone())).collect();
        let (client, key, reseller) = (client.to_string(), key.to_string(), reseller.to_string());
        assert_eq!(
            told,
            [
                ("api_key.create", key.clone()),
                ("api_key.revoke", key),
                ("client.disable", client.clone()),
                ("client.enable", client.clone()),
                ("client.finish_rotation", client.clone()),
                ("client.rotate", client),
                ("reseller.resume", reseller.clone()),
                ("reseller.suspend", reseller),
            ]
        );
    }

    async fn the_trail_is_filtered_and_paged(world: World) {
        let writer = Writer::start(&world);
        let (tenant, other) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let second = world.client_of("DEMO", ScopeSet::all()).await;
        let start = world.services.now();
        world.advance(Duration::from_secs(10));
        let group = tenant.make_group("G").await;
        world.advance(Duration::from_secs(10));
        let middle = world.services.now();
        named(&second, "wanted", Method::PUT, &format!("/v1/account-group/{group}"), Some(json!({"name": "H"})))
            .await
            .expect(200);
        other.make_group("G").await;
        other.post("/v1/account-group", json!({"name": "G"})).await.expect(400);
        writer.stop().await;

        let reseller = |code: &'static str| {
            let operator = world.services.operator.clone();
            async move { operator.reseller(code).await.unwrap().id }
        };
        let (demo, them) = (reseller("DEMO").await, reseller("OTHER").await);
        let base = || AuditFilter { since: Some(start.plus(Duration::from_secs(1))), ..AuditFilter::default() };
        let actions = async |filter: AuditFilter| -> Vec<String> {
            let found = records(&world, filter).await;
            assert!(found.windows(2).all(|pair| pair[0].id > pair[1].id), "newest first");
            let mut actions: Vec<_> = found.into_iter().map(|record| record.action).collect();
            actions.sort();
            actions
        };
        let (create, replace, refused) = ("account_group.create", "account_group.replace", "POST /v1/account-group");
        assert_eq!(actions(base()).await, [refused, create, create, replace]);
        assert_eq!(actions(AuditFilter { reseller: Some(demo), ..base() }).await, [create, replace]);
        assert_eq!(actions(AuditFilter { reseller: Some(them), ..base() }).await, [refused, create]);
        assert_eq!(actions(AuditFilter { subject: Some(group.clone()), ..base() }).await, [create, replace]);
        assert_eq!(actions(AuditFilter { actor: Some(second.client_id.clone()), ..base() }).await, [replace]);
        assert_eq!(actions(AuditFilter { action: Some(create.to_owned()), ..base() }).await, [create, create]);
        assert_eq!(actions(AuditFilter { outcome: Some(Outcome::Refused), ..base() }).await, [refused]);
        assert_eq!(actions(AuditFilter { outcome: Some(Outcome::Done), ..base() }).await, [create, create, replace]);
        assert_eq!(actions(AuditFilter { request_id: Some("wanted".to_owned()), ..base() }).await, [replace]);
        assert_eq!(
            actions(AuditFilter { until: Some(middle), ..base() }).await,
            [create],
            "until is the first moment that is left out"
        );
        assert_eq!(actions(AuditFilter { since: Some(middle), ..base() }).await, [refused, create, replace]);
        let both = AuditFilter { reseller: Some(them), outcome: Some(Outcome::Done), ..base() };
        assert_eq!(actions(both).await, [create], "filters combine with AND");

        let all = records(&world, AuditFilter::default()).await;
        let page = PageRequest { limit: 2, after: Some(all[1].id.to_string()) };
        assert_eq!(world.services.audit.list(AuditFilter::default(), page).await.unwrap(), all[2..4]);
    }
}
