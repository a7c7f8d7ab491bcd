//! The router has no way in that the table does not know, as far as it can be told from outside.

use std::collections::BTreeSet;

use chancery_tests::{Tenant, World};
use http::Method;

use crate::document::{documented, open, swept};

/// What is let in by signatures (RFC 8555) rather than tokens has a sweep of its own, in `tests/acme_sweep`.
const ACME: &[&str] = &[
    "/acme",
    "/acme/",
    "/acme/account/{id}",
    "/acme/account/{id}/orders",
    "/acme/authz/{id}",
    "/acme/cert/{id}",
    "/acme/cert/{id}/{chain}",
    "/acme/challenge/{id}",
    "/acme/order/{id}",
    "/acme/order/{id}/finalize",
    "/acme/renewal-info/{certificate}",
    "/acme/{profile}",
    "/acme/{profile}/directory",
    "/acme/{profile}/key-change",
    "/acme/{profile}/new-account",
    "/acme/{profile}/new-authz",
    "/acme/{profile}/new-nonce",
    "/acme/{profile}/new-order",
    "/acme/{profile}/revoke-cert",
    "/acme/{profile}/{what}",
    "/acme/{profile}/{what}/{*rest}",
];

/// The paths of a router. It does not list them, but it does print them.
fn paths(router: &axum::Router) -> BTreeSet<String> {
    let printed = format!("{router:?}");
    let (paths, _) = printed.split_once("fallback_router").expect("the paths come before the fallback");
    paths.split('"').skip(1).step_by(2).filter(|text| text.starts_with('/')).map(str::to_owned).collect()
}

/// The methods that a path takes: asked with one that nothing takes, it names them.
async fn methods(stranger: &Tenant, path: &str) -> Vec<String> {
    let path: Vec<_> = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect();
    let reply = stranger.raw(Method::from_bytes(b"SWEEP").unwrap(), &path.join("/"), &[], Vec::new()).await;
    assert_eq!(reply.status.as_u16(), 405, "{path:?}");
    let allow = reply.header("allow").unwrap_or_else(|| panic!("{path:?} takes nothing")).to_owned();
    // Whoever takes GET takes HEAD, by the same way.
    allow.split(',').filter(|method| *method != "HEAD").map(str::to_owned).collect()
}

#[tokio::test]
async fn the_router_has_no_way_in_that_is_not_swept_or_open() {
    let world = World::sqlite().await;
    let (stranger, mut ways) = (world.stranger(), BTreeSet::new());
    // What is let in by sessions has tests of its own as well, in `tests/console`.
    let all = paths(&world.router).into_iter().filter(|path| !path.starts_with("/console"));
    let (acme, others): (Vec<_>, Vec<_>) = all.partition(|path| path.starts_with("/acme"));
    assert_eq!(acme, ACME, "left: what the router has of ACME; right: what the tests of ACME know");
    for path in others {
        ways.extend(methods(&stranger, &path).await.into_iter().map(|method| format!("{method} {path}")));
    }
    let known: BTreeSet<_> = swept().union(&open()).cloned().collect();
    assert_eq!(ways, known, "left: what the router has; right: what is swept or open");
    let documented: BTreeSet<_> = documented().into_iter().map(|(name, _)| name).collect();
    assert!(documented.is_subset(&ways), "the document describes what is not there");
}

#[tokio::test]
async fn what_is_open_answers_a_stranger() {
    let world = World::sqlite().await;
    for (method, path) in crate::table::OPEN {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let reply = world.stranger().raw(method.clone(), path, &[], Vec::new()).await;
        // The token endpoint wants its own kind of request.
        let expected = if method == Method::POST { 400 } else { 200 };
        assert_eq!(reply.status.as_u16(), expected, "{path}: {}", reply.text());
        // A bad token is nothing to a place that needs none.
        let with_bad = world.stranger().with_authorization("Bearer garbage");
        if method == Method::GET {
            assert_eq!(with_bad.get(path).await.status.as_u16(), 200, "{path}");
        }
    }
}
