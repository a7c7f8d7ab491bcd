//! ACME and the reseller API lead to the same orders and certificates: what happens at one door is seen at the other.
//! (That the reseller lists, cancels and revokes what ACME ordered begins in `hostile/reseller_side.rs`.)

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use chancery_domain::{PageRequest, Timestamp};
use chancery_jose::base64url;
use chancery_store::AuditFilter;
use chancery_tests::{ACME_URL, AcmeClient, Tenant, World, der, identifiers, lookup, on_both_databases};
use data_encoding::BASE64_MIME;
use http::Method;
use serde_json::{Value, json};

use crate::common::{last, problem, stage};
use crate::renewal::name;
use crate::revocation::key_and_csr;

/// Beyond what a node remembers of its own OCSP answers.
const A_MOMENT: Duration = Duration::from_secs(6);

/// What OCSP says of the first certificate of a chain, as `openssl` reads it.
async fn ocsp(world: &World, chain: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let issuer = chain.match_indices("-----BEGIN").nth(1).unwrap().0;
    std::fs::write(folder.path().join("leaf.pem"), &chain[..issuer]).unwrap();
    std::fs::write(folder.path().join("issuer.pem"), &chain[issuer..]).unwrap();
    let openssl = |more: &[&str]| {
        let about = ["ocsp", "-no_nonce", "-issuer", "issuer.pem", "-cert", "leaf.pem"];
        let output = Command::new("openssl").current_dir(folder.path()).args(about).args(more).output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    openssl(&["-reqout", "request.der"]);
    let request = std::fs::read(folder.path().join("request.der")).unwrap();
    let headers = [("content-type", "application/ocsp-request")];
    let answer = world.relying_party().raw(Method::POST, "/ocsp", &headers, request).await;
    std::fs::write(folder.path().join("answer.der"), &answer.body).unwrap();
    // The clock of the test is not that of the machine.
    openssl(&["-noverify", "-validity_period", "315360000", "-respin", "answer.der"])
}

/// What was done, oldest first, by whom.
async fn trail(world: &World) -> Vec<(String, String)> {
    let page = PageRequest { limit: 1_000, after: None };
    let records = world.services.audit.list(AuditFilter::default(), page).await.unwrap();
    records.into_iter().rev().map(|record| (record.action, record.actor_kind)).collect()
}

/// A certificate that the reseller ordered for the customer, with its key: the order and the chain.
async fn from_the_reseller(tenant: &Tenant, account: &str, csr: &str) -> (Value, String) {
    let pem = BASE64_MIME.encode(&base64url::decode(csr).unwrap());
    let csr = format!("-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n", pem.trim_end());
    let order = tenant.post("/v1/order", json!({"account_lookup": account, "csr": csr})).await.expect(201);
    tenant.choose_all(&order).await;
    let settled = async |status: &str| {
        for _ in 0..500 {
            let order = tenant.show_order(&lookup(&order)).await;
            if order["status"] == status {
                return order;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the order is not {status}");
    };
    settled("ready").await;
    tenant.post_empty(&format!("/v1/order/{}/finalize", lookup(&order))).await.expect(202);
    let order = settled("valid").await;
    let path = format!("/v1/certificate/{}", order["certificateLookup"].as_str().unwrap());
    let chain = tenant.get(&path).await;
    assert_eq!(chain.status, 200, "{}", chain.text());
    (order, chain.text())
}

on_both_databases! {
    async fn what_the_reseller_revokes_is_revoked_for_everybody(world: World) {
        world.start_workers();
        let (tenant, credential, client) = stage(&world).await;
        let (url, order) = client.issue(&["a.test"]).await;
        let chain = client.read(order["certificate"].as_str().unwrap()).await.text();
        let said = ocsp(&world, &chain).await;
        assert!(said.contains("leaf.pem: good"), "{said}");
        // The one order has one name at both doors.
        let seen = tenant.get(&format!("/v1/order/{}", last(&url))).await.expect(200);
        assert_eq!((&seen["accountLookup"], &seen["status"]), (&credential["lookup"], &json!("valid")));
        let revocation = json!({"reason": "keyCompromise"});
        tenant.post(&format!("/v1/certificates/{}/revocation", last(&url)), revocation).await.expect(202);
        world.advance(A_MOMENT);

        let said = ocsp(&world, &chain).await;
        assert!(said.contains("leaf.pem: revoked") && said.contains("keyCompromise"), "{said}");
        let certificate = base64url::encode(&der(&chain));
        let again = client.post(&client.url("revokeCert"), &json!({"certificate": certificate})).await;
        problem(&again, 400, "alreadyRevoked");
        // The client is told to renew at once; what it has can still be downloaded, and its order is still valid.
        let info = world.stranger().get(&format!("/acme/renewal-info/{}", name(&der(&chain)))).await.expect(200);
        let start = Timestamp::parse(info["suggestedWindow"]["start"].as_str().unwrap()).unwrap();
        assert!(start <= world.services.now(), "{info}");
        assert_eq!(client.read(order["certificate"].as_str().unwrap()).await.text(), chain);
        assert_eq!(client.read(&url).await.expect(200)["status"], "valid");
        let trail = trail(&world).await;
        let by = |action: &str| trail.iter().find(|(done, _)| done == action).map(|(_, by)| by.as_str());
        assert_eq!((by("order.create"), by("certificate.revoke")), (Some("acme"), Some("client")), "{trail:?}");
    }

    async fn an_acme_account_sees_nothing_of_what_the_reseller_ordered(world: World) {
        world.start_workers();
        let (tenant, credential, client) = stage(&world).await;
        let (_, csr) = key_and_csr("a.test");
        let (order, chain) = from_the_reseller(&tenant, &lookup(&credential), &csr).await;
        let authorization = &order["authorizations"][0];
        let challenge = lookup(&authorization["challenges"][0]);
        for path in [
            format!("order/{}", lookup(&order)),
            format!("authz/{}", lookup(authorization)),
            format!("challenge/{challenge}"),
            format!("cert/{}", order["certificateLookup"].as_str().unwrap()),
        ] {
            problem(&client.read(&format!("{ACME_URL}/acme/{path}")).await, 404, "malformed");
        }
        let finalize = format!("{ACME_URL}/acme/order/{}/finalize", lookup(&order));
        problem(&client.post(&finalize, &json!({"csr": csr})).await, 404, "malformed");
        let account = client.post(client.kid.as_ref().unwrap(), &json!({})).await.expect(200);
        let list = client.read(account["orders"].as_str().unwrap()).await.expect(200);
        assert_eq!(list["orders"], json!([]));
        // It cannot be replaced through ACME, and what the reseller has shown is not shown by the ACME account.
        let replaces = name(&der(&chain));
        let payload = json!({"identifiers": identifiers(&["a.test"]), "replaces": replaces});
        problem(&client.post(&client.url("newOrder"), &payload).await, 403, "unauthorized");
        let (_, order) = client.order(&["a.test"]).await;
        assert_eq!(order["status"], "pending");
    }

    async fn what_was_given_up_through_acme_cannot_be_given_up_again(world: World) {
        world.start_workers();
        let (tenant, _, client) = stage(&world).await;
        let (_, first) = client.issue(&["a.test"]).await;
        let (url, second) = client.order(&["a.test"]).await;
        assert_eq!(second["status"], "ready");
        // It gives up whatever was shown for the name, and so that of the second order, which fails.
        let earned = first["authorizations"][0].as_str().unwrap();
        client.post(earned, &json!({"status": "deactivated"})).await.expect(200);
        let before = tenant.show_order(last(&url)).await;
        assert_eq!((&before["status"], &before["authorizations"][0]["status"]), (&json!("invalid"), &json!("deactivated")));
        let challenge = lookup(&before["authorizations"][0]["challenges"][0]);
        tenant.delete(&format!("/v1/challenge/{challenge}")).await.refusal(410);
        assert_eq!(tenant.show_order(last(&url)).await, before);
    }

    async fn who_has_its_key_or_its_names_revokes_what_the_reseller_ordered(world: World) {
        world.start_workers();
        let (tenant, credential, client) = stage(&world).await;
        let (key, csr) = key_and_csr("a.test");
        let (_, of_key) = from_the_reseller(&tenant, &lookup(&credential), &csr).await;
        let (_, csr) = key_and_csr("a.test");
        let (order, of_names) = from_the_reseller(&tenant, &lookup(&credential), &csr).await;
        let request = |chain: &str, reason: u8| json!({"certificate": base64url::encode(&der(chain)), "reason": reason});
        let url = client.url("revokeCert");
        problem(&client.post(&url, &request(&of_names, 4)).await, 403, "unauthorized");

        let mut holder = AcmeClient::at(world.stranger(), "TLS-90d").await;
        holder.key = key;
        let done = holder.post(&url, &request(&of_key, 1)).await;
        assert_eq!(done.status, 200, "{}", done.text());
        let (order_of_names, order_needed) = client.order(&["a.test"]).await;
        client.answer_all(&order_needed).await;
        client.wait_for(&order_of_names, "ready").await;
        let done = client.post(&url, &request(&of_names, 4)).await;
        assert_eq!(done.status, 200, "{}", done.text());

        let listed = tenant.get("/v1/certificates?certificate_status=revoked").await.expect(200)["items"].clone();
        let all = listed.as_array().unwrap().iter();
        let reasons: BTreeSet<_> = all.map(|item| item["revocationReason"].as_str().unwrap()).collect();
        assert_eq!(reasons, BTreeSet::from(["superseded", "keyCompromise"]), "{listed}");
        assert!(listed.as_array().unwrap().iter().all(|item| item["requestedVia"] == "reseller"), "{listed}");
        let path = format!("/v1/certificates/{}/revocation", lookup(&order));
        tenant.post(&path, json!({"reason": "superseded"})).await.expect(208);
        world.advance(A_MOMENT);
        for (chain, reason) in [(of_key, "keyCompromise"), (of_names, "superseded")] {
            let said = ocsp(&world, &chain).await;
            assert!(said.contains("leaf.pem: revoked") && said.contains(reason), "{said}");
        }
        let trail = trail(&world).await;
        assert!(trail.iter().any(|(action, by)| action == "certificate.revoke" && by == "acme"), "{trail:?}");
    }
}
