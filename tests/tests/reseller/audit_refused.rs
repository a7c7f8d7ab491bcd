//! Every refusal is written down, soon after: of whom, from where, for what, and why.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use chancery_domain::{ApiKeyId, ClientId, Name, Scope, ScopeSet};
use chancery_overload::{Limit, LimitSettings, Rate};
use chancery_service::Settings;
use chancery_store::{AuditFilter, AuditRecord, Outcome};
use chancery_testkit::TestStore;
use chancery_tests::{Tenant, World, lookup, on_both_databases, settings};
use http::Method;
use serde_json::{Value, json};

use crate::trail::{ADDRESS, Writer, about, detail, from_an_address, named, records};

/// The one record of a request, which must tell of this refusal.
async fn refusal(world: &World, id: &str, status: u16, code: &str) -> AuditRecord {
    let found = about(world, id).await;
    let [record] = &found[..] else { panic!("{id}: {found:?}") };
    assert_eq!(record.outcome, Outcome::Refused, "{id}");
    assert_eq!(record.address, ADDRESS, "{id}");
    assert_eq!((&detail(record)["status"], &detail(record)["code"]), (&json!(status), &json!(code)), "{id}");
    assert!(!detail(record)["message"].as_str().unwrap().is_empty(), "{id}");
    record.clone()
}

async fn until_refused(who: &Tenant) {
    let began = Instant::now();
    while who.get("/v1/account").await.status == 200 {
        assert!(began.elapsed() < Duration::from_secs(5), "not within 5 s");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

on_both_databases! {
    async fn refused_changes_are_written_down_with_their_reason(world: World) {
        let world = from_an_address(world);
        let writer = Writer::start(&world);
        let tenant = world.tenant("DEMO").await;
        let reseller = world.services.operator.reseller("DEMO").await.unwrap().id;
        let group = tenant.make_group("G").await;
        tenant.make_account("a@example.com").await;
        let (post, put, delete) = (Method::POST, Method::PUT, Method::DELETE);
        let nowhere = "/v1/account-group/grp_00000000000000000000000000";
        let cases: Vec<(Method, &str, Value, u16, &str, &str)> = vec![
            (post.clone(), "/v1/account-group", json!({"name": "G"}), 400, "name_in_use", "/v1/account-group"),
            (post.clone(), "/v1/account-group", json!({"name": "H", "n":1}), 400, "unknown_field", "/v1/account-group"),
            (
                post.clone(),
                "/v1/account",
                json!({"customer_email": "A@example.com"}),
                409,
                "account_conflict",
                "/v1/account",
            ),
            (post.clone(), "/v1/account", json!({"customer_email": "x"}), 400, "invalid_request", "/v1/account"),
            (put, nowhere, json!({"name": "X"}), 404, "group_not_found", "/v1/account-group/{group_lookup}"),
            (delete, "/v1/policy/x", Value::Null, 404, "policy_not_found", "/v1/policy/{lookup}"),
            (post.clone(), "/v1/policy", Value::Null, 400, "invalid_request", "/v1/policy"),
            (post, "/v1/policy", json!({"name": "x".repeat(300_000)}), 413, "body_too_large", "/v1/policy"),
        ];
        for (number, (method, path, body, status, code, _)) in cases.iter().enumerate() {
            let body = Some(body.clone()).filter(|body| !body.is_null());
            let reply = named(&tenant, &format!("r{number}"), method.clone(), path, body).await;
            assert_eq!(reply.refusal(*status), *code);
        }
        // A read that finds nothing has refused nobody.
        let found = named(&tenant, "read", Method::GET, nowhere, None).await;
        assert_eq!(found.refusal(404), "group_not_found");
        let listed = named(&tenant, "list", Method::GET, "/v1/account?limit=0", None).await;
        assert_eq!(listed.refusal(400), "invalid_limit");
        writer.stop().await;

        for (number, (method, path, _, status, code, route)) in cases.iter().enumerate() {
            let record = refusal(&world, &format!("r{number}"), *status, code).await;
            assert_eq!((record.action, record.subject), (format!("{method} {route}"), (*path).to_owned()));
            assert_eq!((record.actor_kind.as_str(), &record.actor), ("client", &tenant.client_id));
            assert_eq!(record.reseller, Some(reseller));
        }
        assert!(about(&world, "read").await.is_empty() && about(&world, "list").await.is_empty());
        assert_eq!(tenant.get(&format!("/v1/account-group/{group}")).await.expect(200)["name"], "G");
    }

    async fn callers_who_are_turned_away_are_written_down_by_name_where_they_have_one(world: World) {
        let world = from_an_address(world);
        let writer = Writer::start(&world);
        let operator = &world.services.operator;
        let tenant = world.tenant("DEMO").await;
        let path = "/v1/account";
        let reading: ScopeSet = [Scope::Reseller, Scope::ReadAccount].map(Scope::as_str).join(" ").parse().unwrap();
        let reader = world.client_of("DEMO", reading).await;
        let key = operator.create_api_key("DEMO", Name::parse("k").unwrap(), ScopeSet::all()).await.unwrap();
        let (key_id, by_key): (ApiKeyId, _) = (key.key.id, tenant.with_authorization(key.text.reveal()));
        by_key.get(path).await.expect(200);

        named(&world.stranger(), "no-token", Method::GET, path, None).await;
        named(&tenant.with_authorization("Bearer garbage"), "garbage", Method::GET, path, None).await;
        named(&reader, "no-scope", Method::POST, path, Some(json!({}))).await;
        operator.revoke_api_key(key_id).await.unwrap();
        until_refused(&by_key).await;
        named(&by_key, "revoked-key", Method::GET, path, None).await;
        operator.set_client_disabled(reader.client_id.parse::<ClientId>().unwrap(), true).await.unwrap();
        until_refused(&reader).await;
        named(&reader, "disabled", Method::GET, path, None).await;
        operator.set_reseller_suspended("DEMO", true).await.unwrap();
        until_refused(&tenant).await;
        named(&tenant, "suspended", Method::GET, path, None).await;
        writer.stop().await;

        let demo = Some(operator.reseller("DEMO").await.unwrap().id);
        let (reader, tenant, key) = (reader.client_id.as_str(), tenant.client_id.as_str(), key_id.to_string());
        for (id, status, code, kind, who, of) in [
            ("no-token", 401, "unauthorized", "anonymous", "", None),
            ("garbage", 401, "unauthorized", "anonymous", "", None),
            ("no-scope", 403, "forbidden", "client", reader, demo),
            ("revoked-key", 401, "unauthorized", "api_key", key.as_str(), demo),
            ("disabled", 401, "unauthorized", "client", reader, demo),
            ("suspended", 403, "forbidden", "client", tenant, demo),
        ] {
            let record = refusal(&world, id, status, code).await;
            assert_eq!((record.actor_kind.as_str(), record.actor.as_str(), record.reseller), (kind, who, of), "{id}");
            assert_eq!(record.subject, path);
        }
    }

    async fn refused_tokens_are_written_down_under_the_client(world: World) {
        let writer = Writer::start(&world);
        let tenant = world.tenant("DEMO").await;
        tenant.ask_token(json!({"client_secret": "wrong"})).await.expect(401);
        tenant.ask_token(json!({"audience": "elsewhere"})).await.expect(400);
        tenant.ask_token(json!({"scope": "admin"})).await.expect(400);
        tenant.ask_token(json!({"grant_type": "password"})).await.expect(400);
        tenant.ask_token(json!({"client_id": "somebody"})).await.expect(401);
        writer.stop().await;
        let of = async |subject: &str| -> Vec<(String, Value)> {
            let filter = AuditFilter {
                subject: Some(subject.to_owned()),
                outcome: Some(Outcome::Refused),
                ..AuditFilter::default()
            };
            let found = records(&world, filter).await;
            assert!(
                found.iter().all(|record| record.action == "POST /oauth/token" && record.actor_kind == "anonymous")
            );
            let mut told: Vec<_> = found
                .iter()
                .map(|record| (detail(record)["code"].as_str().unwrap().to_owned(), detail(record)["status"].clone()))
                .collect();
            told.sort_by(|a, b| a.0.cmp(&b.0));
            told
        };
        let expected = [
            ("invalid_client", 401),
            ("invalid_request", 400),
            ("invalid_scope", 400),
            ("unsupported_grant_type", 400),
        ];
        assert_eq!(of(&tenant.client_id).await, expected.map(|(code, status)| (code.to_owned(), json!(status))));
        assert_eq!(of("/oauth/token").await, [("invalid_client".to_owned(), json!(401))]);
    }

    async fn a_refusal_that_is_told_again_is_written_down_with_its_reason(world: World) {
        let world = from_an_address(world);
        let writer = Writer::start(&world);
        let tenant = world.tenant("DEMO").await;
        tenant.make_account("a@example.com").await;
        for id in ["first", "again"] {
            let headers = [("idempotency-key", "k"), ("x-request-id", id)];
            let body = json!({"customer_email": "a@example.com"});
            assert_eq!(
                tenant.send(Method::POST, "/v1/account", &headers, Some(&body)).await.refusal(409),
                "account_conflict"
            );
        }
        let headers = [("idempotency-key", "k"), ("x-request-id", "other")];
        let other =
            tenant.send(Method::POST, "/v1/account", &headers, Some(&json!({"customer_email": "b@example.com"}))).await;
        assert_eq!(other.refusal(422), "idempotency_key_reused");
        writer.stop().await;
        refusal(&world, "first", 409, "account_conflict").await;
        refusal(&world, "again", 409, "account_conflict").await;
        refusal(&world, "other", 422, "idempotency_key_reused").await;
    }
}

#[tokio::test]
async fn too_many_requests_are_written_down() {
    let one = NonZeroU32::new(1).unwrap();
    let limits = LimitSettings::none().with(Limit::Requests, Some(Rate::per_second(one, one)));
    let settings = Settings { limits, ..settings() };
    let world = from_an_address(World::over(TestStore::sqlite(), settings, Vec::new()).await);
    let writer = Writer::start(&world);
    let tenant = world.tenant("DEMO").await;
    let mut statuses = Vec::new();
    for number in 0..4 {
        statuses.push(named(&tenant, &format!("r{number}"), Method::GET, "/v1/account", None).await.status.as_u16());
    }
    writer.stop().await;
    assert!(statuses.contains(&429), "{statuses:?}");
    for (number, status) in statuses.iter().enumerate() {
        let id = format!("r{number}");
        match status {
            429 => assert_eq!(refusal(&world, &id, 429, "rate_limited").await.actor, tenant.client_id),
            _ => assert!(about(&world, &id).await.is_empty()),
        }
    }
}

#[tokio::test]
async fn a_flood_of_refusals_holds_nobody_up_and_takes_no_more_memory_than_it_may() {
    let world = World::sqlite().await;
    let stranger = world.stranger();
    // Nobody writes them down meanwhile.
    for _ in 0..5000 {
        assert_eq!(stranger.get("/v1/account").await.status, 401);
    }
    let tenant = world.tenant("DEMO").await;
    let account = tenant.make_account("a@example.com").await;
    assert!(lookup(&account).starts_with("acc_"));
    let written = async || {
        Writer::start(&world).stop().await;
        records(&world, AuditFilter { outcome: Some(Outcome::Refused), ..AuditFilter::default() }).await.len()
    };
    assert_eq!(written().await, 60, "of strangers from one address, within a minute");
    world.advance(Duration::from_secs(1));
    for _ in 0..10 {
        assert_eq!(stranger.get("/v1/account").await.status, 401);
    }
    assert_eq!(written().await, 61);
    // Those who have shown who they are have all of theirs written down, as long as there is room.
    for _ in 0..5000 {
        assert_eq!(tenant.post("/v1/account", json!({})).await.status, 400);
    }
    assert_eq!(written().await, 61 + 4096);
}
