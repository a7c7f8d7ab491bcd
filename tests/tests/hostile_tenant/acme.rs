//! The resources of ACME at their extremes.

use std::collections::BTreeSet;

use chancery_tests::{AcmeClient, Reply, World, csr_der, identifiers};
use serde_json::{Value, json};

use crate::filled::{Filled, Size, long_names, worlds};
use crate::measure::{Findings, measure};

/// The routes that take signed requests, each used below.
const COVERED: &[&str] = &[
    "/acme/account/{id}",
    "/acme/account/{id}/orders",
    "/acme/authz/{id}",
    "/acme/cert/{id}",
    "/acme/cert/{id}/{chain}",
    "/acme/challenge/{id}",
    "/acme/order/{id}",
    "/acme/order/{id}/finalize",
    "/acme/{profile}/directory",
    "/acme/{profile}/key-change",
    "/acme/{profile}/new-account",
    "/acme/{profile}/new-authz",
    "/acme/{profile}/new-nonce",
    "/acme/{profile}/new-order",
    "/acme/{profile}/revoke-cert",
    "/acme/renewal-info/{certificate}",
];

/// Routes that lead to a refusal whatever is sent.
const NOWHERE: &[&str] =
    &["/acme", "/acme/", "/acme/{profile}", "/acme/{profile}/{what}", "/acme/{profile}/{what}/{*rest}"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acme_route_has_an_extreme() {
    let world = World::sqlite().await;
    let printed = format!("{:?}", world.router);
    let (paths, _) = printed.split_once("fallback_router").unwrap();
    let routed: BTreeSet<_> = paths.split('"').filter(|path| path.starts_with("/acme")).collect();
    let covered: BTreeSet<_> = COVERED.iter().chain(NOWHERE).copied().collect();
    assert_eq!(routed, covered, "left: routes of the router; right: routes with an extreme");
}

mod slow {
    use super::*;

    /// An ACME client whose requests are measured.
    struct Attacker<'a> {
        filled: &'a Filled,
        client: AcmeClient,
        findings: Findings,
    }

    impl Attacker<'_> {
        async fn post(&mut self, name: &str, status: u16, url: &str, payload: &Value) -> Reply {
            let measured = measure(&self.filled.world, self.client.post(url, payload)).await;
            self.findings.check(name, status, None, &measured);
            measured.0
        }

        async fn read(&mut self, name: &str, status: u16, url: &str) -> Reply {
            let measured = measure(&self.filled.world, self.client.read(url)).await;
            self.findings.check(name, status, None, &measured);
            measured.0
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i13_no_acme_resource_exceeds_the_bounds_of_a_request() {
        for world in worlds().await {
            let filled = Filled::new(world, Size::CAPS).await;
            filled.world.start_workers();
            let client = filled.acme_client().await;
            let mut attacker = Attacker { filled: &filled, client, findings: Findings::default() };
            let names = long_names("acme");
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let url = |attacker: &Attacker<'_>, name: &str| attacker.client.url(name);

            let new_order = url(&attacker, "newOrder");
            let request = json!({"identifiers": identifiers(&names)});
            let reply = attacker.post("newOrder", 201, &new_order, &request).await;
            let location = reply.header("location").unwrap().to_owned();
            let order = attacker.read("order", 200, &location).await.json();
            let authorizations = order["authorizations"].as_array().unwrap().clone();
            let last = authorizations.last().unwrap().as_str().unwrap();
            let authorization = attacker.read("authorization", 200, last).await.json();
            let challenge = authorization["challenges"][0]["url"].as_str().unwrap().to_owned();
            attacker.read("challenge", 200, &challenge).await;
            attacker.client.answer_all(&order).await;
            let ready = attacker.client.wait_for(&location, "ready").await;

            let too_many: Vec<_> = (0..5000).map(|number| format!("n{number}.test")).collect();
            let too_many: Vec<_> = too_many.iter().map(String::as_str).collect();
            let refused = json!({"identifiers": identifiers(&too_many)});
            attacker.post("newOrder with 5,000 names", 400, &new_order, &refused).await;

            let finalize = ready["finalize"].as_str().unwrap();
            attacker.post("finalize with another CSR", 400, finalize, &json!({"csr": csr_der(&["other.test"])})).await;
            attacker.post("finalize", 200, finalize, &json!({"csr": csr_der(&names)})).await;
            let issued = attacker.client.wait_for(&location, "valid").await;
            let certificate = issued["certificate"].as_str().unwrap();
            attacker.read("certificate", 200, certificate).await;
            attacker.read("alternate chain", 404, &format!("{certificate}/1")).await;
            attacker.read("directory", 200, &new_order.replace("new-order", "directory")).await;
            let new_nonce = url(&attacker, "newNonce");
            attacker.read("newNonce", 204, &new_nonce).await;

            let account = attacker.client.kid.clone().unwrap();
            attacker.read("orders", 200, &format!("{account}/orders")).await;
            let contacts: Vec<_> = (0..1000).map(|number| format!("mailto:{number}@example.com")).collect();
            attacker.post("1,000 contacts", 400, &account, &json!({"contact": contacts})).await;
            let ahead = json!({"identifier": {"type": "dns", "value": names[0]}});
            let new_authorization = url(&attacker, "newAuthz");
            attacker.post("newAuthz", 201, &new_authorization, &ahead).await;
            let junk = json!({"certificate": "A".repeat(150_000), "reason": 1});
            let revocation = url(&attacker, "revokeCert");
            attacker.post("revokeCert", 400, &revocation, &junk).await;
            let inner = json!({"protected": "A".repeat(100_000), "payload": "", "signature": ""});
            let key_change = url(&attacker, "keyChange");
            attacker.post("keyChange", 400, &key_change, &inner).await;
            let info = format!("/acme/renewal-info/{}", "A".repeat(8000));
            let measured = measure(&filled.world, attacker.client.stranger.get(&info)).await;
            attacker.findings.check("renewalInfo", 400, None, &measured);

            let mut second = AcmeClient::at(filled.world.stranger(), "TLS-90d").await;
            let measured = measure(&filled.world, second.register(&filled.credential)).await;
            attacker.findings.check("newAccount", 201, None, &measured);
            let deactivation = json!({"status": "deactivated"});
            attacker.post("deactivate an authorization", 200, last, &deactivation).await;
            attacker.post("deactivate an account", 200, &account, &deactivation).await;
            attacker.findings.assert_none();
        }
    }
}
