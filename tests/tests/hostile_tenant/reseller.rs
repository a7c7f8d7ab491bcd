//! The operations of the reseller API at their extremes.

use std::collections::{BTreeMap, BTreeSet};

use chancery_domain::{PAGE_BYTES, PageRequest};
use chancery_store::{AuditFilter, Tx};
use chancery_tests::{World, lookup};
use serde_json::{Value, json};

use crate::filled::{Filled, NAMES, Size, long_names, worlds};
use crate::long::REFUSALS;
use crate::measure::{Expected, Findings};
use crate::table::{OPEN, operations};

/// The largest permitted use of an operation.
struct Extreme {
    /// The things that the path names, from left to right; those of the sweep if `None`.
    names: Option<Vec<String>>,
    query: &'static str,
    /// The body; that of the sweep if `None`.
    body: Option<Value>,
    /// The expected status.
    status: u16,
    /// The limit that the refusal names.
    limit: Option<&'static str>,
    /// Whether it is a page of 1,000 items that ends before, because of its bytes.
    fills_a_page: bool,
}

fn plain(status: u16) -> Extreme {
    Extreme { names: None, query: "", body: None, status, limit: None, fills_a_page: false }
}

fn listed(query: &'static str) -> Extreme {
    Extreme { query, ..plain(200) }
}

fn full_page() -> Extreme {
    Extreme { fills_a_page: true, ..listed("limit=1000") }
}

fn about(names: &[&str], status: u16) -> Extreme {
    Extreme { names: Some(names.iter().map(|name| (*name).to_owned()).collect()), ..plain(status) }
}

fn with_body(body: Value, status: u16) -> Extreme {
    Extreme { body: Some(body), ..plain(status) }
}

/// Rules of one policy as large as a request body may be.
fn large_rules(name: &str) -> Value {
    let patterns: Vec<_> = (0..1000).map(|number| format!("*.{}.p{number}.example", "a".repeat(60))).collect();
    json!({"name": name, "description": "d".repeat(2000), "allowed_domains": patterns, "denied_domains": patterns})
}

/// One entry for each operation that needs authentication.
fn extremes(filled: &Filled) -> BTreeMap<&'static str, Extreme> {
    let names = &filled.names;
    let members = json!({"accounts": filled.members});
    let authorization = lookup(&filled.order["authorizations"][0]);
    let refused_order = json!({"account_lookup": filled.restricted, "csr": filled.csr});
    let url = format!("https://hooks.example.com/{}", "p".repeat(1900));
    BTreeMap::from([
        ("GET /v1/policy", full_page()),
        (
            "POST /v1/policy",
            Extreme { limit: Some("policies-per-reseller"), ..with_body(large_rules("one more"), 400) },
        ),
        ("GET /v1/policy/{lookup}", about(&[&filled.long.policy], 200)),
        ("PUT /v1/policy/{lookup}", with_body(large_rules("larger"), 200)),
        ("DELETE /v1/policy/{lookup}", plain(200)),
        (
            "POST /v1/policy/evaluate",
            with_body(json!({"account_lookup": filled.restricted, "identifiers": names}), 200),
        ),
        ("GET /v1/account-group", full_page()),
        ("POST /v1/account-group", with_body(json!({"name": "n".repeat(100), "description": "d".repeat(2000)}), 200)),
        ("GET /v1/account-group/{group_lookup}", about(&[&filled.long.group], 200)),
        (
            "PUT /v1/account-group/{group_lookup}",
            with_body(json!({"name": "m".repeat(100), "description": "d".repeat(2000)}), 200),
        ),
        ("DELETE /v1/account-group/{group_lookup}", about(&[&filled.long.large_group], 200)),
        ("POST /v1/account-group/{group_lookup}/policy/{policy_lookup}", plain(200)),
        ("DELETE /v1/account-group/{group_lookup}/policy/{policy_lookup}", plain(200)),
        (
            "GET /v1/account-group/{group_lookup}/member",
            Extreme { names: Some(vec![filled.long.group.clone()]), ..full_page() },
        ),
        (
            "POST /v1/account-group/{group_lookup}/member",
            Extreme { body: Some(members.clone()), ..about(&[&filled.crowd], 200) },
        ),
        (
            "DELETE /v1/account-group/{group_lookup}/member",
            // Where they were moved to.
            Extreme { body: Some(members.clone()), ..about(&[&filled.empty], 200) },
        ),
        (
            "PATCH /v1/account-group/{origin_group_lookup}/{destination_group_lookup}/member",
            Extreme { body: Some(members), ..about(&[&filled.crowd, &filled.empty], 200) },
        ),
        ("GET /v1/account", full_page()),
        ("POST /v1/account", plain(201)),
        ("GET /v1/account/{lookup}", about(&[&filled.restricted], 200)),
        ("DELETE /v1/account/{lookup}", about(&[&filled.busy], 200)),
        ("PATCH /v1/account/{lookup}", plain(200)),
        ("GET /v1/account/{lookup}/eab-credential", Extreme { query: "limit=1000", ..about(&[&filled.busy], 200) }),
        ("POST /v1/account/{lookup}/eab-credential", about(&[&filled.busy], 201)),
        ("GET /v1/eab-credential", full_page()),
        ("GET /v1/eab-credential/{kid}", plain(200)),
        ("DELETE /v1/eab-credential/{kid}", about(&[filled.credential["kid"].as_str().unwrap()], 200)),
        ("GET /v1/pause", listed("limit=1000")),
        ("DELETE /v1/pause/{lookup}", plain(200)),
        ("GET /v1/usage", listed("by=day,account,group,profile")),
        ("POST /v1/diagnose", with_body(json!({"account_lookup": filled.restricted, "identifiers": names[..10]}), 200)),
        ("GET /v1/limits", plain(200)),
        ("GET /v1/order", full_page()),
        ("POST /v1/order", with_body(refused_order.clone(), 400)),
        ("GET /v1/order/{order_lookup}", about(&[&filled.long.order], 200)),
        ("DELETE /v1/order/{order_lookup}", about(&[&lookup(&filled.order)], 200)),
        ("POST /v1/order/{order_lookup}/finalize", plain(202)),
        ("GET /v1/authz/{auth_lookup}", about(&[&authorization], 200)),
        ("POST /v1/authz/{auth_lookup}/challenges", plain(200)),
        ("GET /v1/challenge/{challenge_lookup}", plain(200)),
        ("POST /v1/challenge/{challenge_lookup}", plain(200)),
        ("DELETE /v1/challenge/{challenge_lookup}", plain(200)),
        ("POST /v1/validate-csr", with_body(refused_order, 400)),
        ("GET /v1/certificates", full_page()),
        (
            "POST /v1/certificates/{order_lookup}/revocation",
            with_body(json!({"reason": "superseded", "comment": "c".repeat(1000)}), 202),
        ),
        ("GET /v1/certificate/{certificate_lookup}", plain(200)),
        ("GET /certificate/{certificate_lookup}", plain(200)),
        ("GET /v1/event", full_page()),
        ("GET /v1/event/{lookup}", plain(200)),
        ("GET /v1/webhook", listed("limit=1000")),
        ("POST /v1/webhook", with_body(json!({"url": url, "description": "d".repeat(200)}), 201)),
        ("GET /v1/webhook/{webhook_lookup}", plain(200)),
        ("PATCH /v1/webhook/{webhook_lookup}", with_body(json!({"url": url}), 200)),
        ("DELETE /v1/webhook/{webhook_lookup}", plain(200)),
        ("POST /v1/webhook/{webhook_lookup}/secret", plain(200)),
        ("POST /v1/webhook/{webhook_lookup}/test", plain(202)),
        ("GET /v1/webhook/{webhook_lookup}/delivery", listed("limit=1000")),
        ("POST /v1/webhook/{webhook_lookup}/delivery/{delivery_lookup}/redeliver", plain(202)),
    ])
}

/// Deletions last: each takes away what the operations before it need.
fn in_order() -> Vec<crate::table::Operation> {
    let mut all = operations();
    all.sort_by_key(|operation| {
        let name = operation.to_string();
        match (operation.method == http::Method::DELETE, name.as_str()) {
            (_, "DELETE /v1/account/{lookup}") => 4,
            (_, "PATCH /v1/account/{lookup}") => 3,
            // A membership or an assignment goes before its group and its policy.
            (true, name) if name.ends_with("/member") || name.ends_with("{policy_lookup}") => 1,
            (true, _) => 2,
            (false, _) => 0,
        }
    });
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_of_the_document_has_an_extreme() {
    let document = serde_json::to_value(chancery_reseller::openapi()).unwrap();
    let documented = document["paths"].as_object().unwrap().iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys().filter(|name| *name != "parameters");
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    let open: BTreeSet<_> = OPEN.iter().map(|(method, path)| format!("{method} {path}")).collect();
    let documented: BTreeSet<_> = documented.filter(|name| !open.contains(name)).collect();
    let filled = Filled::new(World::sqlite().await, Size::SMALL).await;
    let covered: BTreeSet<_> = extremes(&filled).into_keys().map(str::to_owned).collect();
    assert_eq!(documented, covered, "left: operations of the document; right: operations with an extreme");
}

/// Checks that a page of 1,000 audit records ends after 4 MiB. No front end requests so many.
async fn check_audit_page(world: &World) {
    let filter = AuditFilter { action: Some("order.refuse".to_owned()), ..AuditFilter::default() };
    let read = move |tx: &mut Tx<'_>| tx.audit(&filter, &PageRequest { after: None, limit: 1000 });
    let page = world.store.read(read).await.unwrap();
    let bytes: usize = page.items.iter().map(|record| record.detail.len()).sum();
    assert!((PAGE_BYTES / 2..PAGE_BYTES + PAGE_BYTES / 4).contains(&bytes), "{bytes} bytes");
    assert!(page.items.len() < REFUSALS && page.next.is_some(), "{} records", page.items.len());
}

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i13_no_operation_exceeds_the_bounds_of_a_request() {
        for world in worlds().await {
            let filled = Filled::new(world, Size::PAGES).await;
            check_audit_page(&filled.world).await;
            let mut extremes = extremes(&filled);
            let mut findings = Findings::default();
            for operation in in_order() {
                let name = operation.to_string();
                let extreme = extremes.remove(name.as_str()).unwrap_or_else(|| panic!("{name} has no extreme"));
                let names = extreme.names.unwrap_or_else(|| operation.named(&filled.things));
                let path = format!("{}?{}", operation.path_to(&names), extreme.query);
                let path = path.trim_end_matches('?');
                let body = extreme.body.or_else(|| operation.sample(&filled.things));
                let request = filled.tenant.send(operation.method.clone(), path, &[], body.as_ref());
                let expected = Expected { limit: extreme.limit, ..Expected::status(extreme.status) };
                let reply = findings.send(&filled.world, &name, expected, request).await;
                if extreme.fills_a_page {
                    findings.require_full_page(&name, &reply);
                }
            }
            findings.assert_none();
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i13_an_order_refused_by_a_thousand_policies_names_32_violations_and_counts_the_rest() {
        for world in worlds().await {
            let filled = Filled::new(world, Size::CAPS).await;
            let body = json!({"account_lookup": filled.restricted, "csr": filled.csr});
            let mut findings = Findings::default();
            let request = filled.tenant.post("/v1/order", body);
            let reply = findings.send(&filled.world, "refused order", Expected::status(400), request).await;
            findings.assert_none();
            assert_eq!(reply.refusal(400), "policy_violation");
            let refusal = reply.json();
            assert_eq!(refusal["errors"].as_array().unwrap().len(), 32);
            // Each of 999 policies refuses the profile once, and each of the names.
            assert_eq!(refusal["omittedErrors"], json!(999 * (1 + NAMES) - 32));
            assert!(reply.body.len() < 32 * 1024, "{} bytes", reply.body.len());

            let question = json!({"account_lookup": filled.restricted, "identifiers": long_names("evaluate")});
            let verdict = filled.tenant.post("/v1/policy/evaluate", question).await;
            assert_eq!(verdict.expect(200)["violations"].as_array().unwrap().len(), 32);
        }
    }
}
