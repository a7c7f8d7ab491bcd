//! A sweep over every endpoint: without a token, with a bad one, without the scope, as another tenant, while suspended.
//! It fails when an operation of the document is missing from its table.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod document;
mod routes;
mod table;
mod things;

use std::time::{Duration, Instant};

use chancery_domain::{Scope, ScopeSet};
use chancery_service::Settings;
use chancery_tests::{Flood, Reply, Tenant, World, on_both_databases, settings};
use serde_json::Value;

use table::{Operation, operations};
use things::Things;

async fn send(who: &Tenant, operation: &Operation, names: &[String], body: Option<&Value>) -> Reply {
    who.send(operation.method.clone(), &operation.path_to(names), &[], body).await
}

/// Asks as it should be asked; and as it should not be, for what is not there: the caller is refused before that.
async fn both_ways(who: &Tenant, operation: &Operation, things: &Things) -> [Reply; 2] {
    let good = send(who, operation, &operation.named(things), operation.sample(things).as_ref()).await;
    let nowhere = operation.named(&Things::nowhere());
    let junk = (who.raw(operation.method.clone(), &operation.path_to(&nowhere), &[], b"{".to_vec())).await;
    [good, junk]
}

/// A refusal whose body is a plain string (401 and 403).
#[track_caller]
fn plain(reply: &Reply, status: u16, operation: &Operation) -> String {
    assert_eq!(reply.status.as_u16(), status, "{operation}: {}", reply.text());
    assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"), "{operation}");
    let text = reply.text();
    assert!(!text.is_empty() && !text.starts_with(['"', '{']), "{operation}: {text}");
    text
}

#[track_caller]
fn unauthorized(reply: &Reply, operation: &Operation, challenge: &str) {
    plain(reply, 401, operation);
    assert_eq!(reply.header("www-authenticate"), Some(challenge), "{operation}");
}

const NO_TOKEN: &str = "Bearer realm=\"chancery\"";
const BAD_TOKEN: &str = "Bearer realm=\"chancery\", error=\"invalid_token\"";

fn scopes(wanted: impl Fn(Scope) -> bool) -> ScopeSet {
    let names: Vec<_> = Scope::ALL.iter().filter(|scope| wanted(**scope)).map(|scope| scope.as_str()).collect();
    names.join(" ").parse().unwrap()
}

/// Everything that a reseller can see of its own.
async fn view(owner: &Tenant, things: &Things) -> Vec<String> {
    let mut seen = Vec::new();
    for operation in operations().iter().filter(|operation| operation.method == http::Method::GET) {
        let reply = send(owner, operation, &operation.named(things), None).await;
        assert_eq!(reply.status, 200, "{operation}: {}", reply.text());
        seen.push(reply.text());
    }
    seen
}

on_both_databases! {
    async fn nobody_gets_in_without_a_token(world: World) {
        let things = Things::make(&world, &world.tenant("DEMO").await).await;
        let stranger = world.stranger();
        for operation in operations() {
            for reply in both_ways(&stranger, &operation, &things).await {
                unauthorized(&reply, &operation, NO_TOKEN);
            }
        }
    }

    async fn nobody_gets_in_with_a_bad_token(world: World) {
        let tenant = world.tenant("DEMO").await;
        let things = Things::make(&world, &tenant).await;
        let elsewhere = Settings { audience: "https://elsewhere.test".to_owned(), ..settings() };
        let node = world.another_node(elsewhere, Vec::new()).await;
        let foreign = node.hears(&tenant).ask_token(serde_json::json!({"audience": "https://elsewhere.test"})).await;
        let foreign = foreign.expect(200)["access_token"].as_str().unwrap().to_owned();
        let good = tenant.authorization.clone().unwrap();
        let (head, signature) = good.rsplit_once('.').unwrap();
        let forged = format!("{head}.{}", signature.chars().rev().collect::<String>());
        world.advance(Duration::from_secs(1));
        let bad = [
            "Bearer garbage",
            "Bearer a.b.c",
            "Basic ZGVtbzpkZW1v",
            "chk_garbage",
            "garbage",
            &forged,
            &format!("Bearer {foreign}"),
        ];
        for operation in operations() {
            for bad in bad {
                for reply in both_ways(&tenant.with_authorization(bad), &operation, &things).await {
                    unauthorized(&reply, &operation, BAD_TOKEN);
                }
            }
        }
        world.advance(Duration::from_secs(86_400 + 31));
        for operation in operations() {
            for reply in both_ways(&tenant, &operation, &things).await {
                unauthorized(&reply, &operation, BAD_TOKEN);
                assert!(reply.text().contains("expired"), "{operation}: {}", reply.text());
            }
        }
    }

    async fn nobody_gets_in_without_the_scopes(world: World) {
        let owner = world.tenant("DEMO").await;
        let things = Things::make(&world, &owner).await;
        let before = view(&owner, &things).await;
        let outsider = world.client_of("DEMO", scopes(|scope| scope != Scope::Reseller)).await;
        for operation in operations() {
            for reply in both_ways(&outsider, &operation, &things).await {
                let text = plain(&reply, 403, &operation);
                assert!(text.contains("`reseller`"), "{operation}: {text}");
            }
        }
        for needed in Scope::ALL.iter().filter(|scope| **scope != Scope::Reseller) {
            let lacking = world.client_of("DEMO", scopes(|scope| scope != *needed)).await;
            for operation in operations().iter().filter(|operation| operation.scope == *needed) {
                for reply in both_ways(&lacking, operation, &things).await {
                    let text = plain(&reply, 403, operation);
                    assert!(text.contains(&format!("`{needed}`")), "{operation}: {text}");
                    let challenge = format!("{NO_TOKEN}, error=\"insufficient_scope\", scope=\"{needed}\"");
                    assert_eq!(reply.header("www-authenticate"), Some(challenge.as_str()), "{operation}");
                }
            }
        }
        assert_eq!(view(&owner, &things).await, before);
    }

    async fn the_two_scopes_are_enough(world: World) {
        for (number, operation) in operations().iter().enumerate() {
            let owner = world.tenant(&format!("R{number}")).await;
            let things = Things::make(&world, &owner).await;
            let just = scopes(|scope| scope == Scope::Reseller || scope == operation.scope);
            let client = world.client_of(&owner.code, just).await;
            let reply = send(&client, operation, &operation.named(&things), operation.sample(&things).as_ref()).await;
            assert_eq!(reply.status.as_u16(), operation.success, "{operation}: {}", reply.text());
        }
    }

    async fn i7_what_belongs_to_another_is_as_if_it_were_not_there(world: World) {
        let (me, them) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let (mine, theirs, nowhere) = (Things::make(&world, &me).await, Things::make(&world, &them).await, Things::nowhere());
        let before = (view(&me, &mine).await, view(&them, &theirs).await);
        for operation in operations() {
            let (own, body) = (operation.named(&mine), operation.sample(&mine));
            for place in 0..own.len() {
                let with = |other: &Things| {
                    let mut names = own.clone();
                    names[place] = operation.named(other)[place].clone();
                    names
                };
                let another = send(&me, &operation, &with(&theirs), body.as_ref()).await;
                let none = send(&me, &operation, &with(&nowhere), body.as_ref()).await;
                assert_eq!(told(&another, &operation), told(&none, &operation), "{operation}");
            }
            // A body may name things too; what the caller wrote is then repeated, and nothing else.
            if operation.sample(&theirs) != body {
                let another = send(&me, &operation, &own, operation.sample(&theirs).as_ref()).await;
                let none = send(&me, &operation, &own, operation.sample(&nowhere).as_ref()).await;
                let (another, none) = (told(&another, &operation), told(&none, &operation));
                assert_eq!(theirs.blot(&another), nowhere.blot(&none), "{operation}");
            }
        }
        assert_eq!((view(&me, &mine).await, view(&them, &theirs).await), before, "a refused request changed something");
    }

    async fn a_suspended_reseller_is_refused_everywhere(world: World) {
        let owner = world.tenant("DEMO").await;
        let things = Things::make(&world, &owner).await;
        let before = view(&owner, &things).await;
        world.services.operator.set_reseller_suspended("DEMO", true).await.unwrap();
        settles(&owner, 403).await;
        for operation in operations() {
            for reply in both_ways(&owner, &operation, &things).await {
                let text = plain(&reply, 403, &operation);
                assert!(text.contains("suspended"), "{operation}: {text}");
            }
        }
        let refused = owner.ask_token(serde_json::json!({})).await;
        assert_eq!((refused.status.as_u16(), refused.json()["error"].as_str()), (400, Some("unauthorized_client")));
        world.services.operator.set_reseller_suspended("DEMO", false).await.unwrap();
        settles(&owner, 200).await;
        assert_eq!(view(&owner, &things).await, before);
    }
}

/// Operations that ask the store nothing, or read a few rows by their keys, which SQLite does on the thread that asks.
const INLINE: [&str; 6] = [
    "GET /v1/limits",
    "GET /v1/order/{order_lookup}",
    "GET /v1/authz/{auth_lookup}",
    "GET /v1/challenge/{challenge_lookup}",
    "GET /v1/certificate/{certificate_lookup}",
    "GET /certificate/{certificate_lookup}",
];

/// A reseller whose share of the queues is full is refused, whatever it asks for. What is not charged to it would wait with the
/// system's units.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i13_every_operation_waits_in_the_queue_of_its_reseller() {
    let world = World::sqlite().await;
    // What is remembered of identities is trusted only while it is known to be fresh.
    let identity = world.services.identity.clone();
    tokio::spawn(async move { identity.watch().await });
    let tenant = world.tenant("DEMO").await;
    let things = Things::make(&world, &tenant).await;
    let _flood = Flood::of(&world.store, world.reseller_id("DEMO").await).await;
    let mut wrong = Vec::new();
    for operation in operations() {
        let named = operation.named(&things);
        let sample = operation.sample(&things);
        let asked = send(&tenant, &operation, &named, sample.as_ref());
        let answered = match tokio::time::timeout(Duration::from_secs(5), asked).await {
            Ok(reply) => reply.status.as_u16(),
            Err(_) => 0,
        };
        let is_inline = INLINE.contains(&operation.to_string().as_str());
        if answered != if is_inline { operation.success } else { 503 } {
            wrong.push(format!("{operation}: {answered}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// What a refusal with 404 says, but for the name of the exchange.
#[track_caller]
fn told(reply: &Reply, operation: &Operation) -> String {
    assert_eq!(reply.status.as_u16(), 404, "{operation}: {}", reply.text());
    let mut body = reply.json();
    assert_eq!(body["requestId"].as_str(), reply.header("x-request-id"));
    body.as_object_mut().unwrap().remove("requestId");
    body.to_string()
}

/// Waits until the node has heard of a change: it has five seconds.
async fn settles(who: &Tenant, status: u16) {
    let began = Instant::now();
    while who.get("/v1/account").await.status != status {
        assert!(began.elapsed() < Duration::from_secs(5), "not {status} within 5 s");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
