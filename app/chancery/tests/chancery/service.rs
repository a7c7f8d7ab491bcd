//! A service that validates for real, on loopback, and a customer who orders from it.

use std::fs;
use std::time::{Duration, Instant};

use chancery_testkit::web::TestWeb;
use serde_json::{Value, json};

use crate::ordering::text;
use crate::support::*;

pub struct Service {
    pub configured: Configured,
    pub serving: Serving,
    /// Where names lead, so that it can show control of them.
    pub web: TestWeb,
    api_key: String,
    pub account: Value,
}

impl Service {
    /// With these settings, which must name a DNS server.
    pub fn begin(web: TestWeb, more: &str) -> Self {
        let configured = Configured::initialised_without_dns(more);
        configured.run(&["reseller", "create", "--code", "DEMO", "--name", "Demo"]);
        let api_key = text(&configured.run(&["api-key", "create", "--reseller", "DEMO", "--json"]).json()["api_key"]);
        let serving = configured.serve();
        let mut service = Self { configured, serving, web, api_key, account: Value::Null };
        service.account = service.post("/v1/account", &json!({"customer_email": "a@example.com"}))["lookup"].clone();
        service
    }

    pub fn ask(&self, path: &str, more: &[&str]) -> Answer {
        let authorization = format!("Authorization: {}", self.api_key);
        curl(&[&["-H", &authorization, &format!("http://{}{path}", self.serving.api)], more].concat())
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.ask(path, &["-H", "Content-Type: application/json", "-d", &body.to_string()]);
        assert!((200..300).contains(&answer.status), "{path}: {answer:?}");
        answer.json()
    }

    /// Orders a certificate for the one name of a CSR that the web server shows control of; what became of the order, and its
    /// looks.
    #[track_caller]
    pub fn order(&self, csr: &str) -> (Value, Vec<Value>) {
        let order = self.post("/v1/order", &json!({"account_lookup": self.account, "csr": csr}));
        let authorization = text(&order["authorizations"][0]["lookup"]);
        let codes = self.post(&format!("/v1/authz/{authorization}/challenges"), &json!({}));
        let challenges = codes["challenges"].as_array().unwrap();
        let challenge = challenges.iter().find(|challenge| challenge["type"] == "http-01").unwrap();
        let page = format!("/.well-known/acme-challenge/{}", text(&challenge["token"]));
        self.web.page(&page, challenge["keyAuthorization"].as_str().unwrap());
        self.post(&format!("/v1/challenge/{}", text(&challenge["lookup"])), &json!({}));
        let path = format!("/v1/order/{}", text(&order["lookup"]));
        let order = self.until(&path, |order| order["status"] != "pending");
        let challenge = self.ask(&format!("/v1/challenge/{}", text(&challenge["lookup"])), &[]).json();
        (order, challenge["attempts"].as_array().unwrap().clone())
    }

    /// Asks until it is so.
    #[track_caller]
    pub fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.ask(path, &[]).json();
            if is_so(&answer) {
                return answer;
            }
            assert!(began.elapsed() < GENEROUS, "{answer}\n{}", self.serving.process.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Configured {
    /// As [`initialised`](Self::initialised), where the settings name a DNS server themselves.
    fn initialised_without_dns(more: &str) -> Self {
        let configured = Self::new("");
        let text = fs::read_to_string(configured.path()).unwrap();
        let text: String =
            text.lines().filter(|line| !line.starts_with("dcv.")).map(|line| format!("{line}\n")).collect();
        fs::write(configured.path(), text + more).unwrap();
        assert_eq!(configured.run(&["init"]).code, 0);
        configured
    }
}
