//! `docs/walkthrough.md` is what this story tells: every request in it was made, every answer was given.
//!
//! `UPDATE_DOCS=1 cargo test -p chancery-tests --test walkthrough` writes it anew.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod story;

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use chancery_dcv::{Validator, ValidatorConfig};
use chancery_testkit::SeededEntropy;
use chancery_testkit::web::TestWeb;
use chancery_tests::{World, csr, lookup};
use serde_json::{Value, json};

use story::Story;

#[tokio::test]
async fn the_walkthrough_tells_what_happens() {
    let told = tell().await;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/walkthrough.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &told).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, told,
        "docs/walkthrough.md is not what happens: UPDATE_DOCS=1 cargo test -p chancery-tests --test walkthrough"
    );
}

async fn tell() -> String {
    let world = World::sqlite().await;
    let web = TestWeb::http((Ipv4Addr::LOCALHOST, 0)).await;
    let eyes = eyes(&world, &web);
    let tenant = world.tenant("DEMO").await;
    let mut story = Story::of(&tenant, web.port());

    story.say(INTRODUCTION);
    story.chapter("1. Get a token");
    story.say(TOKEN);
    story.token(&tenant).await;

    story.chapter("2. Create an account for your customer");
    story.say(ACCOUNT);
    let account = story.post("/v1/account", json!({"customer_email": "admin@customer.example"}), 201).await;

    story.chapter("3. Validate the CSR");
    story.say(CSR);
    let csr = csr(&["hello.test"]);
    story.post("/v1/validate-csr", json!({"csr": csr, "account_lookup": lookup(&account)}), 200).await;

    story.chapter("4. Create an order");
    story.say(ORDER);
    let order = json!({"account_lookup": lookup(&account), "csr": csr, "external_id": "shop-4711"});
    let order = story.post("/v1/order", order, 201).await;
    let path = format!("/v1/order/{}", lookup(&order));

    story.chapter("5. Generate the challenges");
    story.say(CODES);
    let codes = format!("/v1/authz/{}/challenges", lookup(&order["authorizations"][0]));
    let codes = story.post_empty(&codes, 200).await;
    let http = codes["challenges"].as_array().unwrap().iter().find(|code| code["type"] == "http-01").unwrap().clone();

    story.chapter("6. Respond to a challenge");
    story.say(CHOOSE);
    publish(&web, &http);
    story.post_empty(&format!("/v1/challenge/{}", lookup(&http)), 200).await;
    world.work(Some(eyes)).await;
    story.say(POLL);
    story.get(&path, 200).await;

    story.chapter("7. Finalize the order");
    story.say(FINALIZE);
    story.post_empty(&format!("{path}/finalize"), 202).await;
    world.work(None).await;

    story.chapter("8. Download the certificate");
    story.say(FETCH);
    let certificate = format!("/certificate/{}", order["certificateLookup"].as_str().unwrap());
    story.get_as(&certificate, "application/pem-certificate-chain", 200).await;
    story.say(METADATA);
    story.get_as(&format!("/v1{certificate}"), "application/json", 200).await;

    story.chapter("9. List and revoke certificates");
    story.say(LIST);
    story.get("/v1/certificates?certificate_status=issued&customer_email=admin@customer.example", 200).await;
    story.say(REVOKE);
    let revocation = format!("/v1/certificates/{}/revocation", lookup(&order));
    story.post(&revocation, json!({"reason": "superseded", "comment": "moved to another host"}), 202).await;

    story.chapter("Errors");
    story.say(WRONG);
    let wrong = json!({"customer_email": "nobody@customer.example", "csr": csr, "profil": "TLS-90d"});
    story.post("/v1/order", wrong, 400).await;
    story.say(NOT_READY);
    let other = story.quietly("/v1/order", json!({"account_lookup": lookup(&account), "csr": csr2()}), 201).await;
    story.post_empty(&format!("/v1/order/{}/finalize", lookup(&other)), 400).await;
    story.told()
}

fn csr2() -> String {
    csr(&["other.test", "www.other.test"])
}

fn publish(web: &TestWeb, challenge: &Value) {
    let (token, body) = (challenge["token"].as_str().unwrap(), challenge["keyAuthorization"].as_str().unwrap());
    web.page(&format!("/.well-known/acme-challenge/{token}"), body);
}

/// A validator that finds `.test` on loopback, where the customer's web server is.
fn eyes(world: &World, web: &TestWeb) -> Arc<Validator> {
    let config = ValidatorConfig {
        http01_port: web.port(),
        allow_special_addresses: true,
        builtin_loopback_suffixes: vec!["test".to_owned()],
        ca_domains: vec!["ca.test".to_owned()],
        ..ValidatorConfig::default()
    };
    Arc::new(Validator::new(config, world.clock.clone(), Arc::new(SeededEntropy::new(1))).unwrap())
}

const INTRODUCTION: &str = "\
# From nothing to a certificate

This page shows the requests that a reseller sends to obtain a certificate for a customer, and the responses of the service. A test
sends every request and compares the responses. Values that are long or random are replaced by `…`. `chancery demo` runs the same
sequence against a running `chancery dev`.

Request bodies use `snake_case`, responses `camelCase`. The service refuses unknown members, so a mistyped one is never dropped
silently. Times are UTC.";

const TOKEN: &str = "\
The operator of the service issues the client id, client secret, audience and the URL of the token endpoint. By default a token is
valid for 24 hours. Cache it until it expires, and send it as `Authorization: Bearer …` with every request below.";

const ACCOUNT: &str = "\
An account represents one of your customers. Only this response contains the `hmacKey`. With the `hmacKey` and the `kid`, the
customer's own ACME clients can obtain certificates without you. To order through this API you need only the `lookup`.";

const CSR: &str = "\
The customer generates a key pair and a CSR, and does not share the private key. This request changes nothing and lists every
problem of the CSR, one a line. With an account it also checks your policies and the CAA records of the names.";

const ORDER: &str = "\
The names are taken from the CSR. `external_id` is your own reference, for one order only; `GET /v1/order?external_id=…` finds the order by it. If you
send an `Idempotency-Key` header, repeating the request after a lost response does not create a second order.";

const CODES: &str = "\
Generate the challenges of each authorization that is not yet `valid`. The `instructions` of a challenge contain the response to
publish. If the account has validated a name recently, its authorization is `valid` from the start, and the order may be `ready`
at once.";

const CHOOSE: &str = "\
Publish the `body` at the `url` (or the TXT record, or the certificate for tls-alpn-01), then select that challenge. Validation
starts at once. A response that is missing is retried for 20 seconds by default; a wrong response fails the order.";

const POLL: &str = "\
Poll the order until it is `ready`. The challenge lists every validation attempt, and `progress` shows the step that the order
waits for.";

const FINALIZE: &str = "Finalizing starts issuance. A repeated request receives 208 and the order.";

const FETCH: &str = "\
Before the certificate is issued, the response is 202 with `Retry-After` and the order. `application/pkix-cert` and
`application/pkcs7-mime` are available too.";

const METADATA: &str = "`Accept: application/json` adds the metadata:";

const LIST: &str = "\
You can filter the list by customer, account, EAB credential, status, name, profile, serial number, expiry and
`external_id`:";

const REVOKE: &str = "\
A certificate is revoked by the lookup of its order. CRL and OCSP reflect the revocation within seconds. A repeated request
receives 208.";

const WRONG: &str = "The response lists every problem with its field and a correction:";

const NOT_READY: &str = "An order that is not ready lists the authorizations that are missing:";
