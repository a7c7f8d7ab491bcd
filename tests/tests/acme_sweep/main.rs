//! A sweep over every resource of ACME: with things of another account, another customer, another tenant, nobody's and
//! those of an account that has ended; as somebody else, as nobody and at another profile. Its table is held against the
//! router: a route without a case fails.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod table;
mod things;

use std::collections::BTreeSet;
use std::time::Duration;

use chancery_tests::{ACME_URL, AcmeClient, Flood, Reply, Tenant, World, lookup, on_both_databases};
use http::Method;
use serde_json::{Value, json};

use table::{NOWHERE, OPEN, Operation, REGISTRATION, operations};
use things::{Kind, Things};

const PROFILE: &str = "TLS-90d";
const OTHER_PROFILE: &str = "TLS-199d";

/// Asks about these things, as somebody; what is signed is for this URL, and goes there.
async fn ask(who: &AcmeClient, operation: &Operation, things: &Things, profile: &str) -> Reply {
    let url = operation.url(things, profile);
    let payload = (operation.payload)(who, things, &url);
    let payload = payload.map(|payload| payload.to_string()).unwrap_or_default();
    who.send(&url, who.header(&url).await, payload.as_bytes()).await
}

/// What a refusal says, but for the name of the exchange.
#[track_caller]
fn told(reply: &Reply, operation: &Operation) -> Value {
    assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{operation}: {}", reply.text());
    let mut body = reply.json();
    assert_eq!(body["status"], reply.status.as_u16());
    assert!(body.as_object_mut().unwrap().remove("requestId").is_some());
    body
}

#[track_caller]
fn refused(reply: &Reply, operation: &Operation, status: u16, kind: &str) {
    let body = told(reply, operation);
    let expected = (json!(status), json!(format!("urn:ietf:params:acme:error:{kind}")));
    assert_eq!((body["status"].clone(), body["type"].clone()), expected, "{operation}: {body}");
}

/// Everything that an account can see of its own.
async fn view(client: &AcmeClient, things: &Things) -> Vec<Value> {
    let mut seen = Vec::new();
    for operation in operations().iter().filter(|operation| operation.names.is_some() && operation.what == "read") {
        let reply = ask(client, operation, things, PROFILE).await;
        seen.push(json!([operation.to_string(), reply.status.as_u16(), reply.text().split("requestId").next()]));
    }
    seen
}

/// A customer of a tenant, with an ACME account.
async fn customer(world: &World, tenant: &Tenant, email: &str) -> (Value, AcmeClient) {
    let credential = tenant.make_account(email).await;
    let client = AcmeClient::registered(world, &credential).await;
    (credential, client)
}

/// An account, and all that it is not to see.
struct Stage {
    me: AcmeClient,
    mine: Things,
    /// Whose they are, who that is where they can still speak, and the things.
    others: Vec<(&'static str, Option<AcmeClient>, Things)>,
    /// Those who have ended, and what they are told.
    ended: Vec<(&'static str, AcmeClient, u16)>,
}

impl Stage {
    async fn make(world: &World) -> Self {
        world.start_workers();
        let (tenant, second) = (world.tenant("DEMO").await, world.tenant("OTHER").await);
        let (credential, me) = customer(world, &tenant, "a@example.com").await;
        let mine = Things::make(&me).await;
        let same_customer = AcmeClient::registered(world, &credential).await;
        let (_, same_tenant) = customer(world, &tenant, "b@example.com").await;
        let (_, other_tenant) = customer(world, &second, "a@example.com").await;
        let mut others = Vec::new();
        for (whose, client) in [
            ("another account of the customer", same_customer),
            ("another customer", same_tenant),
            ("another tenant", other_tenant),
        ] {
            let things = Things::make(&client).await;
            others.push((whose, Some(client), things));
        }
        others.push(("the reseller", None, Things::of_reseller(&tenant, &lookup(&credential)).await));
        let mut ended = Vec::new();
        let deactivated = AcmeClient::registered(world, &credential).await;
        others.push(("an account that was deactivated", None, Things::make(&deactivated).await));
        deactivated.post(deactivated.kid.as_ref().unwrap(), &json!({"status": "deactivated"})).await.expect(200);
        ended.push(("deactivated", deactivated, 401));
        let (gone, terminated) = customer(world, &tenant, "c@example.com").await;
        others.push(("a customer that was terminated", None, Things::make(&terminated).await));
        tenant.delete(&format!("/v1/account/{}", lookup(&gone))).await.expect(200);
        ended.push(("terminated", terminated, 403));
        let (revoked, unbound) = customer(world, &second, "b@example.com").await;
        others.push(("an account whose credential was revoked", None, Things::make(&unbound).await));
        let kid = revoked["kid"].as_str().unwrap();
        second.delete(&format!("/v1/eab-credential/{kid}")).await.expect(200);
        ended.push(("revoked", unbound, 403));
        Self { me, mine, others, ended }
    }

    /// Everything that can still be seen by those whose it is.
    async fn view(&self) -> Vec<Vec<Value>> {
        let mut seen = vec![view(&self.me, &self.mine).await];
        for (_, client, things) in &self.others {
            if let Some(client) = client {
                seen.push(view(client, things).await);
            }
        }
        seen
    }
}

#[tokio::test]
async fn every_route_of_the_router_is_swept_or_open_and_none_else() {
    let world = World::sqlite().await;
    let printed = format!("{:?}", world.router);
    let (paths, _) = printed.split_once("fallback_router").expect("the paths come before the fallback");
    let paths = paths.split('"').skip(1).step_by(2).filter(|text| text.starts_with("/acme"));
    let mut ways = BTreeSet::new();
    for route in paths.collect::<BTreeSet<_>>() {
        let asked: Vec<_> = route.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect();
        let method = Method::from_bytes(b"SWEEP").unwrap();
        let reply = world.stranger().raw(method, &asked.join("/"), &[], Vec::new()).await;
        // Asked with a method that nothing takes, it names those it takes; where nothing is, it takes any.
        match reply.header("allow") {
            Some(allow) => ways.extend(allow.split(',').map(|method| format!("{method} {route}"))),
            None => drop(ways.insert(route.to_owned())),
        }
    }
    let swept = operations().into_iter().map(|operation| format!("POST {}", operation.path));
    let mut known: BTreeSet<_> = swept.collect();
    known.insert(format!("POST {REGISTRATION}"));
    known.extend(OPEN.iter().map(|open| (*open).to_owned()));
    known.extend(OPEN.iter().map(|open| open.replace("GET", "HEAD")));
    known.extend(NOWHERE.iter().map(|nowhere| (*nowhere).to_owned()));
    assert_eq!(ways, known, "left: what the router has; right: what is swept, open or nowhere");
}

/// Operations that ask the store nothing, or read a few rows by their keys, which SQLite does on the thread that asks.
const INLINE: [&str; 8] = [
    "/acme/{profile}/directory",
    "/acme/{profile}/new-nonce",
    "/acme/account/{id}",
    "/acme/order/{id}",
    "/acme/authz/{id}",
    "/acme/challenge/{id}",
    "/acme/cert/{id}",
    "/acme/cert/{id}/{chain}",
];

/// A reseller whose share of the queues is full is refused, whatever its customers ask for. What is not charged to it would wait
/// with the system's units.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i13_every_operation_waits_in_the_queue_of_its_reseller() {
    let world = World::sqlite().await;
    world.start_workers();
    let tenant = world.tenant("DEMO").await;
    let (_, client) = customer(&world, &tenant, "a@example.com").await;
    let things = Things::make(&client).await;
    let _flood = Flood::of(&world.store, world.reseller_id("DEMO").await).await;
    let mut wrong = Vec::new();
    for operation in operations() {
        let asked = ask(&client, &operation, &things, PROFILE);
        let answered = match tokio::time::timeout(Duration::from_secs(5), asked).await {
            Ok(reply) => reply.status.as_u16(),
            Err(_) => 0,
        };
        let is_inline = operation.what == "read" && INLINE.contains(&operation.path);
        if answered != if is_inline { operation.success } else { 503 } {
            wrong.push(format!("{operation}: {answered}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

on_both_databases! {
    async fn each_operation_works_for_whose_it_is_at_every_profile(world: World) {
        world.start_workers();
        let tenant = world.tenant("DEMO").await;
        let credential = tenant.make_account("a@example.com").await;
        for operation in operations() {
            for profile in [PROFILE, OTHER_PROFILE] {
                let client = AcmeClient::registered(&world, &credential).await;
                let things = Things::make(&client).await;
                let reply = ask(&client, &operation, &things, profile).await;
                assert_eq!(reply.status.as_u16(), operation.success, "{operation}: {}", reply.text());
                if operation.names.is_some() {
                    break;
                }
            }
        }
    }

    async fn what_belongs_to_another_is_as_if_it_were_not_there(world: World) {
        let stage = Stage::make(&world).await;
        let (before, nowhere) = (stage.view().await, Things::nowhere());
        for operation in operations().iter().filter(|operation| operation.names.is_some()) {
            let none = ask(&stage.me, operation, &nowhere, PROFILE).await;
            // An account is named by whoever has it; that it is another's is told the same of those that are not there.
            match operation.names {
                Some(Kind::Account) => refused(&none, operation, 403, "unauthorized"),
                _ => refused(&none, operation, 404, "malformed"),
            }
            let nonsense = ask(&stage.me, operation, &Things::nonsense(), PROFILE).await;
            assert_eq!(told(&nonsense, operation), told(&none, operation), "{operation}");
            for (whose, _, things) in &stage.others {
                let another = ask(&stage.me, operation, things, PROFILE).await;
                assert_eq!(told(&another, operation), told(&none, operation), "{operation} of {whose}");
            }
        }
        assert_eq!(stage.view().await, before, "a refused request changed something");
    }

    async fn what_a_payload_names_of_another_is_refused(world: World) {
        let stage = Stage::make(&world).await;
        let before = stage.view().await;
        for operation in operations().iter().filter(|operation| operation.names.is_none()) {
            for (_, _, things) in &stage.others {
                match operation.what {
                    // Whoever has shown control of its names may revoke a certificate: this one has shown nothing.
                    "revoke" => {
                        let stranger = stage.fresh(&world).await;
                        refused(&ask(&stranger, operation, things, PROFILE).await, operation, 403, "unauthorized");
                    }
                    "change" => refused(&ask(&stage.me, operation, things, PROFILE).await, operation, 400, "malformed"),
                    _ => {}
                }
            }
        }
        assert_eq!(stage.view().await, before, "a refused request changed something");
    }

    async fn nobody_speaks_for_another(world: World) {
        let mut stage = Stage::make(&world).await;
        let before = stage.view().await;
        let own = stage.me.kid.clone();
        for operation in operations() {
            for (whose, client, _) in &stage.others {
                let Some(client) = client else { continue };
                stage.me.kid.clone_from(&client.kid);
                let reply = ask(&stage.me, &operation, &stage.mine, PROFILE).await;
                assert_eq!(reply.status, 400, "{operation} as {whose}: {}", reply.text());
                refused(&reply, &operation, 400, "malformed");
            }
            for unknown in [format!("{ACME_URL}/acme/account/{}", Things::nowhere().of(Kind::Account)), "nonsense".to_owned()] {
                stage.me.kid = Some(unknown);
                let reply = ask(&stage.me, &operation, &stage.mine, PROFILE).await;
                refused(&reply, &operation, 400, "accountDoesNotExist");
            }
            // With the key instead of the account: only a certificate is revoked so, and by its own key.
            stage.me.kid = None;
            let by_key = ask(&stage.me, &operation, &stage.mine, PROFILE).await;
            match operation.what {
                "revoke" => refused(&by_key, &operation, 403, "unauthorized"),
                _ => refused(&by_key, &operation, 400, "malformed"),
            }
            stage.me.kid.clone_from(&own);
        }
        assert_eq!(stage.view().await, before, "a refused request changed something");
    }

    async fn who_has_ended_is_told_so_and_nothing_else(world: World) {
        let stage = Stage::make(&world).await;
        let before = stage.view().await;
        for operation in operations() {
            for (how, client, status) in &stage.ended {
                for things in [&stage.mine, &Things::nowhere()] {
                    let reply = ask(client, &operation, things, PROFILE).await;
                    assert_eq!(reply.status.as_u16(), *status, "{operation}, {how}: {}", reply.text());
                    refused(&reply, &operation, *status, "unauthorized");
                    assert!(reply.json()["detail"].as_str().unwrap().contains(how), "{operation}: {}", reply.text());
                }
            }
        }
        assert_eq!(stage.view().await, before, "a refused request changed something");
    }

    async fn what_is_signed_for_one_profile_is_not_taken_at_another(world: World) {
        let stage = Stage::make(&world).await;
        let before = stage.view().await;
        for operation in operations().iter().filter(|operation| operation.names.is_none()) {
            let (here, there) = (operation.url(&stage.mine, PROFILE), operation.url(&stage.mine, OTHER_PROFILE));
            let payload = (operation.payload)(&stage.me, &stage.mine, &here).map(|value| value.to_string());
            let header = stage.me.header(&here).await;
            let reply = stage.me.send(&there, header, payload.unwrap_or_default().as_bytes()).await;
            refused(&reply, operation, 403, "unauthorized");
            let nowhere = ask(&stage.me, operation, &stage.mine, "no-such-profile").await;
            refused(&nowhere, operation, 404, "malformed");
        }
        let registration = REGISTRATION.replace("{profile}", "no-such-profile");
        let stranger = AcmeClient::at(world.stranger(), PROFILE).await;
        let reply = stranger.post(&format!("{ACME_URL}{registration}"), &json!({})).await;
        assert_eq!(reply.status.as_u16(), 404, "{}", reply.text());
        assert_eq!(stage.view().await, before, "a refused request changed something");
    }
}

impl Stage {
    /// An account that has shown nothing yet.
    async fn fresh(&self, world: &World) -> AcmeClient {
        let tenant = world.client_of("DEMO", chancery_domain::ScopeSet::all()).await;
        let number = tenant.get("/v1/account?limit=1000").await.expect(200)["items"].as_array().unwrap().len();
        customer(world, &tenant, &format!("fresh-{number}@example.com")).await.1
    }
}
