//! The resources of ACME at their extremes.

use std::collections::BTreeSet;

use chancery_tests::{AcmeClient, Reply, World, csr_der, identifiers, path};
use serde_json::{Value, json};

use crate::MAX_ROWS_OF_NEW_ORDER;
use crate::filled::{Filled, Size, long_names, worlds};
use crate::measure::{Expected, Findings};

/// Routes that lead to a refusal whatever is sent.
const NOWHERE: &[&str] =
    &["/acme", "/acme/", "/acme/{profile}", "/acme/{profile}/{what}", "/acme/{profile}/{what}/{*rest}"];

/// The routes of a router that no request has reached.
fn unreached(world: &World, requests: &BTreeSet<String>) -> Vec<String> {
    let printed = format!("{:?}", world.router);
    let (paths, _) = printed.split_once("fallback_router").unwrap();
    let routes: BTreeSet<_> = paths.split('"').filter(|path| path.starts_with("/acme")).collect();
    let routes: Vec<_> = routes.into_iter().filter(|route| !NOWHERE.contains(route)).collect();
    assert!(routes.len() > 10, "{routes:?}");
    let is_reached = |route: &str| requests.iter().any(|request| leads_to(route, request));
    routes.into_iter().filter(|route| !is_reached(route)).map(str::to_owned).collect()
}

fn leads_to(route: &str, request: &str) -> bool {
    let (parts, sent): (Vec<_>, Vec<_>) = (route.split('/').collect(), request.split('/').collect());
    parts.len() == sent.len() && parts.iter().zip(sent).all(|(part, sent)| part.starts_with('{') || *part == sent)
}

mod slow {
    use super::*;

    /// An ACME client whose requests are measured.
    struct Attacker<'a> {
        filled: &'a Filled,
        client: AcmeClient,
        findings: Findings,
        /// The paths of its requests.
        requests: BTreeSet<String>,
    }

    impl Attacker<'_> {
        async fn post(&mut self, name: &str, status: u16, url: &str, payload: &Value) -> Reply {
            self.post_expecting(name, Expected::status(status), url, payload).await
        }

        async fn post_expecting(&mut self, name: &str, expected: Expected, url: &str, payload: &Value) -> Reply {
            self.requests.insert(path(url).to_owned());
            self.findings.send(&self.filled.world, name, expected, self.client.post(url, payload)).await
        }

        async fn read(&mut self, name: &str, status: u16, url: &str) -> Reply {
            self.requests.insert(path(url).to_owned());
            let expected = Expected::status(status);
            self.findings.send(&self.filled.world, name, expected, self.client.read(url)).await
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i13_no_acme_resource_exceeds_the_bounds_of_a_request() {
        for world in worlds().await {
            let filled = Filled::new(world, Size::CAPS).await;
            filled.world.start_workers();
            let client = filled.acme_client().await;
            let mut attacker =
                Attacker { filled: &filled, client, findings: Findings::default(), requests: BTreeSet::new() };
            let names = long_names("acme");
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let url = |attacker: &Attacker<'_>, name: &str| attacker.client.url(name);

            let new_order = url(&attacker, "newOrder");
            let request = json!({"identifiers": identifiers(&names)});
            let expected = Expected { rows: MAX_ROWS_OF_NEW_ORDER, ..Expected::status(201) };
            let reply = attacker.post_expecting("newOrder", expected, &new_order, &request).await;
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
            let request = attacker.client.stranger.get(&info);
            attacker.findings.send(&filled.world, "renewalInfo", Expected::status(400), request).await;
            attacker.requests.insert(info);

            let mut second = AcmeClient::at(filled.world.stranger(), "TLS-90d").await;
            let new_account = path(&second.url("newAccount")).to_owned();
            let request = second.register(&filled.credential);
            attacker.findings.send(&filled.world, "newAccount", Expected::status(201), request).await;
            attacker.requests.insert(new_account);
            let deactivation = json!({"status": "deactivated"});
            attacker.post("deactivate an authorization", 200, last, &deactivation).await;
            attacker.post("deactivate an account", 200, &account, &deactivation).await;
            attacker.findings.assert_none();
            assert_eq!(unreached(&filled.world, &attacker.requests), Vec::<String>::new());
        }
    }
}
