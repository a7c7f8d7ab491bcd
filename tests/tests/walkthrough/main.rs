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

    story.chapter("3. Look whether the CSR is good");
    story.say(CSR);
    let csr = csr(&["hello.test"]);
    story.post("/v1/validate-csr", json!({"csr": csr, "account_lookup": lookup(&account)}), 200).await;

    story.chapter("4. Order");
    story.say(ORDER);
    let order = json!({"account_lookup": lookup(&account), "csr": csr, "external_id": "shop-4711"});
    let order = story.post("/v1/order", order, 201).await;
    let path = format!("/v1/order/{}", lookup(&order));

    story.chapter("5. Get the challenge codes");
    story.say(CODES);
    let codes = format!("/v1/authz/{}/challenges", lookup(&order["authorizations"][0]));
    let codes = story.post_empty(&codes, 200).await;
    let http = codes["challenges"].as_array().unwrap().iter().find(|code| code["type"] == "http-01").unwrap().clone();

    story.chapter("6. Publish one, and choose it");
    story.say(CHOOSE);
    publish(&web, &http);
    story.post_empty(&format!("/v1/challenge/{}", lookup(&http)), 200).await;
    world.work(Some(eyes)).await;
    story.say(POLL);
    story.get(&path, 200).await;

    story.chapter("7. Finalize");
    story.say(FINALIZE);
    story.post_empty(&format!("{path}/finalize"), 202).await;
    world.work(None).await;

    story.chapter("8. Fetch the certificate");
    story.say(FETCH);
    let certificate = format!("/certificate/{}", order["certificateLookup"].as_str().unwrap());
    story.get_as(&certificate, "application/pem-certificate-chain", 200).await;
    story.say(METADATA);
    story.get_as(&format!("/v1{certificate}"), "application/json", 200).await;

    story.chapter("9. List, and revoke");
    story.say(LIST);
    story.get("/v1/certificates?certificate_status=issued&customer_email=admin@customer.example", 200).await;
    story.say(REVOKE);
    let revocation = format!("/v1/certificates/{}/revocation", lookup(&order));
    story.post(&revocation, json!({"reason": "superseded", "comment": "moved to another host"}), 202).await;

    story.chapter("When something is wrong");
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
# From nothing to a certificate, and back

What a reseller does to get a certificate for a customer, request by request. Every request here was made to the
service and every answer is the one it gave; a test keeps it so. Only what is long or different each time is cut to `…`.
`chancery demo` does the same against a running `chancery dev`.

Request bodies are `snake_case`, answers `camelCase`. A field that is not known is refused, so that a mistyped one is
never silently dropped. Times are UTC.";

const TOKEN: &str = "\
Client id, client secret, audience and the URL of the token endpoint come from the operator of the service. A token is
good for 24 hours; keep it until it expires, and send it as `Authorization: Bearer …` with everything below.";

const ACCOUNT: &str = "\
An account is a customer of yours. The answer is the only one that shows the `hmacKey`: with it and the `kid`, the
customer's own ACME clients can get certificates without you. For ordering through this API you need only the `lookup`.";

const CSR: &str = "\
The customer makes a key and a CSR, and keeps the key. Asking first costs nothing and lists everything that stands
against it, one problem a line; with the account, your policies and the CAA records of the names are asked as well.";

const ORDER: &str = "\
The names are taken from the CSR. `external_id` is your own reference, and `GET /v1/order?external_id=…` finds the order
again. With an `Idempotency-Key` header, a request that is repeated because its answer was lost makes no second order.";

const CODES: &str = "\
For each authorization that is not `valid` already, ask for its codes. Each challenge says what to publish, ready to
paste. A name whose control the account has shown lately needs no new challenge: its authorization is `valid` from the
start, and the order may be `ready` at once.";

const CHOOSE: &str = "\
Publish the `body` at the `url` (or the TXT record, or the certificate for tls-alpn-01) and choose that challenge. It is
looked at once; what is merely missing is looked for again for 20 seconds, what is wrong fails.";

const POLL: &str = "\
A moment later the order is `ready`. The challenge shows every look that was taken, and `progress` what the order waits
for, so that nobody has to guess.";

const FINALIZE: &str = "The order has everything it needs. Asking again would give 208 and the same order.";

const FETCH: &str = "\
Until it is issued this answers 202 with `Retry-After` and the order. `application/pkix-cert` and
`application/pkcs7-mime` are to be had as well.";

const METADATA: &str = "With `Accept: application/json` it comes with what is known of it:";

const LIST: &str = "Certificates can be listed by customer, account, credential, status, name, serial number and end:";

const REVOKE: &str = "\
A certificate is revoked by its order. CRL and OCSP show it within seconds. A second request is answered with 208.";

const WRONG: &str = "Every problem is listed, with where it is and what to do:";

const NOT_READY: &str = "And an order that is not ready says what it waits for:";
