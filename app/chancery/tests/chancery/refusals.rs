//! Why an order was refused, found in the log by the order's id.

use std::net::Ipv4Addr;
use std::path::Path;

use chancery_testkit::dns::TestDns;
use chancery_testkit::web::TestWeb;
use serde_json::{Value, json};

use crate::support::*;

impl Dev {
    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let body = body.map(|body| body.to_string());
        let mut args = vec!["-X", method];
        if let Some(body) = &body {
            args.extend(["-H", "content-type: application/json", "-d", body]);
        }
        self.curl(path, &args)
    }

    #[track_caller]
    pub fn make(&self, path: &str, body: Value) -> Value {
        let answer = self.ask("POST", path, Some(body));
        assert!((200..300).contains(&answer.status), "{path}: {answer:?}");
        answer.json()
    }

    /// A fresh order of an account for a name.
    #[track_caller]
    fn order(&self, account: &str, name: &str) -> Order<'_> {
        let made = self.make("/v1/order", json!({"account_lookup": account, "csr": csr(name)}));
        let authorization = made["authorizations"][0]["lookup"].as_str().unwrap().to_owned();
        Order { dev: self, id: made["lookup"].as_str().unwrap().to_owned(), authorization }
    }

    fn account(&self, email: &str) -> String {
        self.make("/v1/account", json!({"customer_email": email}))["lookup"].as_str().unwrap().to_owned()
    }

    /// What the log says of an order, once there is something.
    fn told(&mut self, order: &str) -> Vec<Value> {
        self.process.until("a line about the order", |process| {
            let log = process.log();
            let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let told: Vec<_> = lines.filter(|line| line["order"] == order).collect();
            (!told.is_empty()).then_some(told)
        })
    }

    /// The one line that the log has of an order.
    #[track_caller]
    fn told_once(&mut self, order: &str, name: &str, expected: [&str; 3]) -> String {
        let told = self.told(order);
        assert_eq!(told.len(), 1, "{told:#?}");
        let line = &told[0];
        assert_eq!([&line["message"], &line["step"], &line["problem"]], expected.map(Value::from).each_ref(), "{line}");
        assert_eq!((&line["reseller"], &line["name"]), (&json!("DEMO"), &json!(name)), "{line}");
        assert_eq!(line["level"], "INFO");
        line["detail"].as_str().unwrap().to_owned()
    }
}

struct Order<'a> {
    dev: &'a Dev,
    id: String,
    authorization: String,
}

impl Order<'_> {
    /// Chooses http-01; gives what is to be shown and where.
    fn challenge(&self) -> (String, Value) {
        let codes = self.dev.make(&format!("/v1/authz/{}/challenges", self.authorization), json!({}));
        let all = codes["challenges"].as_array().unwrap();
        let chosen = all.iter().find(|challenge| challenge["type"] == "http-01").unwrap();
        (chosen["lookup"].as_str().unwrap().to_owned(), chosen.clone())
    }

    fn choose(&self, challenge: &str) {
        self.dev.make(&format!("/v1/challenge/{challenge}"), json!({}));
    }

    fn finalize(&self) -> u16 {
        self.dev.ask("POST", &format!("/v1/order/{}/finalize", self.id), None).status
    }
}

#[test]
fn what_validation_and_caa_have_against_an_order_is_found_by_its_id() {
    let place = folder();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (dns, web) =
        runtime.block_on(async { (TestDns::start().await, TestWeb::http((Ipv4Addr::LOCALHOST, 0)).await) });
    dns.caa("shown.test", 0, "issue", "another-ca.example");
    let (port, server) = (web.port().to_string(), dns.address().to_string());
    let mut dev = Dev::start_with(place.path(), &["--http01-port", &port, "--dns", &server]);
    let account = dev.account("a@example.com");

    let unshown = dev.order(&account, "unshown.test");
    let id = unshown.id.clone();
    let (challenge, _) = unshown.challenge();
    unshown.choose(&challenge);
    let told = dev.told(&id);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((&told[0]["message"], &told[0]["step"]), (&json!("order failed"), &json!("validation")));
    assert_eq!((&told[0]["reseller"], &told[0]["name"]), (&json!("DEMO"), &json!("unshown.test")));
    let failed = dev.curl(&format!("/v1/order/{id}"), &[]).json();
    let shown = failed["error"].to_string();
    let problem = told[0]["problem"].as_str().unwrap();
    assert!(shown.contains(problem), "the order says {shown}, and the log {problem}");

    let shown = dev.order(&account, "shown.test");
    let id = shown.id.clone();
    let (challenge, codes) = shown.challenge();
    let (token, answer) = (codes["token"].as_str().unwrap(), codes["keyAuthorization"].as_str().unwrap());
    web.page(&format!("/.well-known/acme-challenge/{token}"), answer);
    shown.choose(&challenge);
    let detail = dev.told_once(&id, "shown.test", ["order failed", "caa", "caa"]);
    assert!(detail.contains("another-ca.example"), "{detail}");

    let metrics = dev.admin("/metrics").body;
    assert!(metrics.contains(r#"chancery_validations_total{method="http-01",outcome="caa"} 1"#), "{metrics}");
    assert!(metrics.contains(&format!("chancery_orders_ended_total{{outcome=\"{problem}\"}} 1")), "{metrics}");
    dev.process.stop();
    drop((dns, web));
    runtime.shutdown_background();
}

#[test]
fn what_policies_people_and_states_have_against_an_order_is_found_by_its_id() {
    let place = folder();
    let mut dev = Dev::start_with(place.path(), &["--skip-validation"]);
    let account = dev.account("a@example.com");

    let early = dev.order(&account, "early.test");
    let id = early.id.clone();
    assert_eq!(early.finalize(), 400);
    let detail = dev.told_once(&id, "early.test", ["order refused", "finalize", "orderNotReady"]);
    assert!(detail.contains("early.test"), "{detail}");

    let unwanted = dev.order(&account, "unwanted.test").id;
    assert_eq!(dev.ask("DELETE", &format!("/v1/order/{unwanted}"), None).status, 200);
    dev.told_once(&unwanted, "unwanted.test", ["order cancelled", "cancellation", "cancelled"]);

    let halted = dev.order(&account, "halted.test");
    let id = halted.id.clone();
    let (challenge, _) = halted.challenge();
    halted.choose(&challenge);
    assert_eq!(dev.ask("PATCH", &format!("/v1/account/{account}"), Some(json!({"suspended": true}))).status, 200);
    let (path, refused) = (format!("/v1/order/{id}/finalize"), (400..500));
    assert!(refused.contains(&dev.ask("POST", &path, None).status));
    dev.told_once(&id, "halted.test", ["order refused", "finalize", "unauthorized"]);
    assert_eq!(dev.ask("PATCH", &format!("/v1/account/{account}"), Some(json!({"suspended": false}))).status, 200);

    // A policy that comes between order and issuance.
    let forbidden = dev.order(&account, "forbidden.test");
    let id = forbidden.id.clone();
    let (challenge, _) = forbidden.challenge();
    forbidden.choose(&challenge);
    let policy = dev.make("/v1/policy", json!({"name": "None", "denied_domains": ["forbidden.test"]}));
    let group = dev.make("/v1/account-group", json!({"name": "All"}));
    let (policy, group) = (policy["lookup"].as_str().unwrap(), group["lookup"].as_str().unwrap());
    dev.make(&format!("/v1/account-group/{group}/member"), json!({"accounts": [account]}));
    assert_eq!(dev.ask("POST", &format!("/v1/account-group/{group}/policy/{policy}"), None).status, 200);
    dev.process.until("ready", |_| {
        let shown = curl_order(place.path(), &id);
        (shown["status"] == "ready").then_some(())
    });
    dev.ask("POST", &format!("/v1/order/{id}/finalize"), None);
    let detail = dev.told_once(&id, "forbidden.test", ["order failed", "policy", "rejectedIdentifier"]);
    assert!(detail.contains("forbidden.test"), "{detail}");

    // And one that refuses to take the order at all has no id, but the reseller and the reason.
    let body = json!({"account_lookup": account, "csr": csr("forbidden.test")});
    assert_eq!(dev.ask("POST", "/v1/order", Some(body)).status, 400);
    let log = dev.process.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let told: Vec<_> = lines.filter(|line| line["message"] == "order refused" && line["step"] == "order").collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["reseller"], &told[0]["problem"]), (&json!("DEMO"), &json!("rejectedIdentifier")));
}

/// An order, asked for while the process is borrowed.
fn curl_order(place: &Path, id: &str) -> Value {
    let json: Value = serde_json::from_str(&std::fs::read_to_string(place.join("dev.json")).unwrap()).unwrap();
    let text = |name: &str| json[name].as_str().unwrap().to_owned();
    let authorization = format!("Authorization: {}", text("api_key"));
    let url = format!("{}/v1/order/{id}", text("base_url"));
    curl(&["--cacert", &text("ca_bundle"), "-H", &authorization, &url]).json()
}
