//! What the service has acknowledged, so that it can be held to its word; and how it spoke when it could not.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use chancery_client::Response;

use crate::agent::Agent;
use crate::postgres::{number, texts};

#[derive(Default)]
pub(crate) struct Ledger {
    orders: Mutex<BTreeMap<String, Promise>>,
    heard: Mutex<Heard>,
}

/// What was said of one order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promise {
    pub(crate) name: String,
    /// How far it had come, as the last answer said.
    pub(crate) status: String,
    /// The URL of the certificate, and the chain that came from there.
    pub(crate) certificate: Option<(String, String)>,
}

/// All answers together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) answers: BTreeMap<u16, u32>,
    /// No answer of a node: the balancer's own, or none at all.
    pub(crate) unanswered: u32,
    pub(crate) slowest: Duration,
    pub(crate) complaints: Vec<String>,
}

impl Ledger {
    pub(crate) fn note(&self, url: &str, change: impl FnOnce(&mut Promise)) {
        change(self.orders.lock().unwrap().entry(url.to_owned()).or_default());
    }

    pub(crate) fn heard(&self) -> Heard {
        self.heard.lock().unwrap().clone()
    }

    /// Begins to listen anew.
    pub(crate) fn forget_heard(&self) {
        *self.heard.lock().unwrap() = Heard::default();
    }

    pub(crate) fn certificates(&self) -> usize {
        self.orders.lock().unwrap().values().filter(|promise| promise.certificate.is_some()).count()
    }

    /// The chains of the certificates.
    pub(crate) fn chains(&self) -> Vec<String> {
        let orders = self.orders.lock().unwrap();
        orders.values().filter_map(|promise| Some(promise.certificate.clone()?.1)).collect()
    }

    /// Takes note of an exchange, and of what is not as it ought to be.
    pub(crate) fn hear(&self, url: &str, answer: Result<&Response, &str>, took: Duration) {
        let mut heard = self.heard.lock().unwrap();
        heard.slowest = heard.slowest.max(took);
        let Ok(answer) = answer else {
            heard.unanswered += 1;
            return;
        };
        let status = answer.status.as_u16();
        // Every answer of a node has a request id, and the balancer's have none.
        if answer.request_id().is_none() {
            heard.unanswered += 1;
            return;
        }
        *heard.answers.entry(status).or_default() += 1;
        let kind = answer.header("content-type").unwrap_or_default();
        let well_told =
            kind.starts_with("application/problem+json") && answer.text().contains("urn:ietf:params:acme:error:");
        if status == 503 && (answer.retry_after().is_none() || !well_told) {
            heard.complaints.push(format!("{url}: {:?} {}", answer.headers, answer.text()));
        }
        let nonce = status == 400 && answer.text().contains("error:badNonce");
        if status >= 400 && status != 503 && !nonce {
            heard.complaints.push(format!("{url}: {status} {}", answer.text()));
        }
    }

    /// That everything which was acknowledged is still so, and that nothing happened twice or not at all.
    pub(crate) async fn check(&self, agent: &[Agent], database: &str) {
        let complaints = self.heard().complaints;
        assert!(complaints.is_empty(), "{complaints:#?}");
        let orders = self.orders.lock().unwrap().clone();
        assert!(!orders.is_empty());
        for (url, promise) in &orders {
            let whose = &agent[promise.name.split(['a', '-']).nth(1).unwrap().parse::<usize>().unwrap()];
            let seen = whose.read(url).await;
            assert_eq!(seen["identifiers"][0]["value"], promise.name.as_str(), "{url}");
            let status = seen["status"].as_str().unwrap();
            assert!(rank(status) >= rank(&promise.status), "{url} was {} and is {status}", promise.status);
            if let Some((place, chain)) = &promise.certificate {
                assert_eq!((status, seen["certificate"].as_str()), ("valid", Some(place.as_str())), "{url}");
                assert_eq!(&whose.download(place).await, chain, "{url}: another certificate than before");
            }
        }
        for (what, sql) in [
            ("orders in processing", "SELECT COUNT(*) FROM orders WHERE state = 'processing'"),
            ("jobs that are left", "SELECT COUNT(*) FROM jobs"),
            (
                "orders with two certificates",
                "SELECT COUNT(*) FROM (SELECT subject FROM audit WHERE action = 'certificate.issue'
                 GROUP BY subject HAVING COUNT(*) > 1) AS twice",
            ),
            (
                "certificates without an order that is valid",
                "SELECT COUNT(*) FROM certificates JOIN orders ON orders.id = order_id
                 WHERE (certificates.der IS NOT NULL) <> (orders.state = 'valid')",
            ),
        ] {
            let found = number(database, sql);
            assert_eq!(found, 0, "{what}");
        }
        let failed = texts(database, "SELECT COALESCE(problem, '') FROM orders WHERE state = 'invalid'");
        assert!(failed.is_empty(), "{failed:#?}");
        let issued = number(database, "SELECT COUNT(*) FROM certificates WHERE der IS NOT NULL");
        assert!(usize::try_from(issued).unwrap() >= self.certificates());
    }
}

/// An order only moves forward.
fn rank(status: &str) -> u8 {
    match status {
        "" => 0,
        "pending" => 1,
        "ready" => 2,
        "processing" => 3,
        "valid" => 4,
        other => panic!("an order is {other}"),
    }
}
