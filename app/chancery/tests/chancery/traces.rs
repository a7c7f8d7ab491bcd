//! Traces, as a collector gets them.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use chancery_testkit::dns::TestDns;
use chancery_testkit::web::TestWeb;
use serde_json::{Value, json};

use crate::support::*;

/// Takes OTLP in JSON on a port of its own.
struct Collector {
    url: String,
    spans: Arc<Mutex<Vec<Value>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let spans = Arc::new(Mutex::new(Vec::new()));
        let kept = spans.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (stream.unwrap(), kept.clone());
                thread::spawn(move || take(stream, &kept));
            }
        });
        Self { url, spans }
    }

    fn spans(&self) -> Vec<Value> {
        self.spans.lock().unwrap().clone()
    }
}

/// Reads requests until the connection ends.
fn take(stream: TcpStream, kept: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let (mut line, mut length) = (String::new(), 0);
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        assert_eq!(line.trim_end(), "POST /v1/traces HTTP/1.1");
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            let header = header.trim_end().to_ascii_lowercase();
            if let Some(told) = header.strip_prefix("content-length: ") {
                length = told.parse().unwrap();
            }
            assert!(!header.starts_with("content-type: ") || header == "content-type: application/json", "{header}");
            if header.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let resource = &body["resourceSpans"][0];
        assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "chancery");
        kept.lock().unwrap().extend(resource["scopeSpans"][0]["spans"].as_array().unwrap().iter().cloned());
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}").unwrap();
    }
}

fn text<'a>(span: &'a Value, field: &str) -> &'a str {
    span[field].as_str().unwrap_or_else(|| panic!("no {field}: {span}"))
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
    let attributes = span["attributes"].as_array().unwrap();
    attributes.iter().find(|attribute| attribute["key"] == key).map(|attribute| &attribute["value"])
}

/// Spans, each below its parent.
struct Tree<'a>(HashMap<&'a str, &'a Value>);

impl<'a> Tree<'a> {
    fn of(spans: &'a [Value]) -> Self {
        let by_id: HashMap<_, _> = spans.iter().map(|span| (text(span, "spanId"), span)).collect();
        assert_eq!(by_id.len(), spans.len(), "every span has an id of its own, and comes once");
        Self(by_id)
    }

    fn parent(&self, span: &Value) -> Option<&'a Value> {
        self.0.get(text(span, "parentSpanId")).copied()
    }

    /// The names of a span and of all above it.
    fn line(&self, span: &Value) -> String {
        let mut names = vec![text(span, "name").to_owned()];
        let mut next = self.parent(span);
        while let Some(above) = next {
            assert_eq!(above["traceId"], span["traceId"]);
            assert!(text(above, "startTimeUnixNano") <= text(span, "startTimeUnixNano"), "{above} {span}");
            names.push(text(above, "name").to_owned());
            next = self.parent(above);
        }
        names.join(" < ")
    }

    /// The lines of the spans of a name, sorted.
    fn lines(&self, name: &str) -> Vec<String> {
        let mut lines: Vec<_> =
            self.0.values().filter(|span| span["name"] == name).map(|span| self.line(span)).collect();
        lines.sort();
        lines
    }
}

#[test]
fn an_issuance_is_one_trace_from_the_request_to_the_signature() {
    let collector = Collector::start();
    let place = folder();
    let mut dev = Dev::start_with(place.path(), &["--skip-validation", "--otlp-endpoint", &collector.url]);
    let account = dev.make("/v1/account", json!({"customer_email": "a@example.com"}));
    let made = dev.make("/v1/order", json!({"account_lookup": account["lookup"], "csr": csr("traced.test")}));
    let (id, authorization) = (text(&made, "lookup"), text(&made["authorizations"][0], "lookup"));
    let codes = dev.make(&format!("/v1/authz/{authorization}/challenges"), json!({}));
    dev.make(&format!("/v1/challenge/{}", text(&codes["challenges"][0], "lookup")), json!({}));
    let status = |wanted: &str| dev.curl(&format!("/v1/order/{id}"), &[]).json()["status"] == wanted;
    wait_until("ready", || status("ready"));
    dev.make(&format!("/v1/order/{id}/finalize"), json!({}));
    wait_until("valid", || status("valid"));
    dev.process.stop();

    let spans = collector.spans();
    let tree = Tree::of(&spans);
    let line = |span: &Value| tree.line(span);
    for span in &spans {
        let root = span["parentSpanId"] == "";
        assert!(root || tree.parent(span).is_some(), "its parent did not come: {span}");
        assert!(text(span, "startTimeUnixNano") <= text(span, "endTimeUnixNano"), "{span}");
        assert_eq!((text(span, "traceId").len(), text(span, "spanId").len()), (32, 16));
        if span["name"] == "http.request" {
            assert!(root && span["kind"] == 2, "{span}");
            assert!(attribute(span, "status").is_some() && attribute(span, "route").is_some(), "{span}");
        }
    }
    let signed: Vec<_> = spans.iter().filter(|span| span["name"] == "sign").collect();
    assert_eq!(signed.len(), 1, "{spans:#?}");
    assert_eq!(line(signed[0]), "sign < job < order.finalize < http.request");
    let issuance: Vec<_> = spans.iter().filter(|span| span["traceId"] == signed[0]["traceId"]).collect();
    let root = issuance.iter().find(|span| span["parentSpanId"] == "").unwrap();
    let route = json!({"stringValue": "/v1/order/{order_lookup}/finalize"});
    assert_eq!(attribute(root, "route"), Some(&route));
    assert_eq!(attribute(root, "status"), Some(&json!({"intValue": "202"})));
    let lines: Vec<_> = issuance.iter().map(|span| line(span)).collect();
    for expected in ["store.write < order.finalize < http.request", "store.write < job < order.finalize < http.request"]
    {
        assert!(lines.iter().any(|line| line == expected), "{expected} is not in {lines:#?}");
    }
    let job = issuance.iter().find(|span| span["name"] == "job").unwrap();
    assert_eq!(attribute(job, "subject"), Some(&json!({"stringValue": id})));
    let chosen = spans.iter().any(|span| line(span) == "job < challenge.choose < http.request");
    assert!(chosen, "the validation is in the trace of the choice");
    // Nothing that was sent is a secret.
    let sent = Value::from(spans.clone()).to_string();
    for secret in ["api_key", "client_secret"] {
        assert!(!sent.contains(dev.value(secret)), "{secret} was sent");
    }
}

/// What looks at the world is in the trace of the request that it is for; and so is the look at CAA records that is taken
/// again at issuance, since the first one is too old by then.
#[test]
fn the_looks_of_a_validation_and_of_an_issuance_are_in_their_traces() {
    let (collector, place) = (Collector::start(), folder());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (dns, web) =
        runtime.block_on(async { (TestDns::start().await, TestWeb::http((Ipv4Addr::LOCALHOST, 0)).await) });
    dns.empty("looked.test").empty("test");
    let (port, server) = (web.port().to_string(), dns.address().to_string());
    let args = ["--http01-port", &port, "--dns", &server, "--otlp-endpoint", &collector.url];
    let mut dev = Dev::start_with(place.path(), &args);
    let account = dev.make("/v1/account", json!({"customer_email": "a@example.com"}));
    let made = dev.make("/v1/order", json!({"account_lookup": account["lookup"], "csr": csr("looked.test")}));
    let (id, authorization) = (text(&made, "lookup"), text(&made["authorizations"][0], "lookup"));
    let codes = dev.make(&format!("/v1/authz/{authorization}/challenges"), json!({}));
    let http = codes["challenges"].as_array().unwrap().iter().find(|code| code["type"] == "http-01").unwrap();
    web.page(&format!("/.well-known/acme-challenge/{}", text(http, "token")), text(http, "keyAuthorization"));
    dev.make(&format!("/v1/challenge/{}", text(http, "lookup")), json!({}));
    let status = |wanted: &str| dev.curl(&format!("/v1/order/{id}"), &[]).json()["status"] == wanted;
    wait_until("ready", || status("ready"));
    let database = rusqlite::Connection::open(place.path().join("chancery.db")).unwrap();
    database.busy_timeout(GENEROUS).unwrap();
    let aged = "UPDATE authorizations SET validation = json_set(validation, '$.caa_at', 1000) WHERE state = 'valid'";
    assert_eq!(database.execute(aged, []).unwrap(), 1);
    dev.make(&format!("/v1/order/{id}/finalize"), json!({}));
    wait_until("valid", || status("valid"));
    dev.process.stop();
    drop((dns, web));
    runtime.shutdown_background();

    let spans = collector.spans();
    let tree = Tree::of(&spans);
    for (name, below) in [
        ("validation.look", "job < challenge.choose < http.request"),
        ("validation.caa", "job < challenge.choose < http.request"),
        ("issuance.caa", "job < order.finalize < http.request"),
    ] {
        assert_eq!(tree.lines(name), [format!("{name} < {below}")], "{spans:#?}");
    }
    let look = spans.iter().find(|span| span["name"] == "validation.look").unwrap();
    assert_eq!(attribute(look, "method"), Some(&json!({"stringValue": "http-01"})));
}

#[test]
fn a_collector_that_is_away_changes_nothing() {
    let place = folder();
    let nobody = format!("http://127.0.0.1:{}", free_port());
    let mut dev = Dev::start_with(place.path(), &["--otlp-endpoint", &nobody]);
    assert_eq!(dev.curl("/v1/account", &[]).status, 200);
    let admin = dev.value("admin_url").strip_prefix("http://").unwrap().to_owned();
    dev.process.until("spans dropped", |_| {
        let page = get(&admin, "/metrics").body;
        let lost = page.lines().find_map(|line| line.strip_prefix("chancery_trace_spans_dropped_total "));
        lost.filter(|lost| *lost != "0").map(drop)
    });
    dev.process.stop();
}

#[test]
fn an_address_that_is_none_is_told() {
    let place = folder();
    let folder = place.path().display().to_string();
    let refused = run(&[
        "dev",
        "--data-dir",
        &folder,
        "--otlp-endpoint",
        "collector:4318",
        "--listen",
        "127.0.0.1:0",
        "--http-listen",
        "127.0.0.1:0",
        "--admin-listen",
        "127.0.0.1:0",
    ]);
    assert!(refused.line(2).contains("collector"), "{refused:?}");
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !done() {
        assert!(began.elapsed() < GENEROUS, "waited too long for {what}");
        thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_trace_of_a_caller_who_is_named_goes_on_and_others_are_sampled() {
    let collector = Collector::start();
    let more = |networks: &str| {
        format!(
            "telemetry.otlp_endpoint = '{}'\ntelemetry.sample = 0\ntelemetry.continue_from = [{networks}]",
            collector.url
        )
    };
    let traceparent = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (networks, continued) in [("'127.0.0.0/8'", true), ("'192.0.2.0/24'", false)] {
        let configured = Configured::initialised(&more(networks));
        let mut serving = configured.serve();
        let url = format!("http://{}/v1/version", serving.api);
        assert_eq!(curl(&["-H", traceparent, &url]).status, 200);
        assert_eq!(curl(&[&url]).status, 200);
        serving.process.stop();
        let spans: Vec<_> = std::mem::take(&mut *collector.spans.lock().unwrap());
        let requests: Vec<_> = spans.iter().filter(|span| span["name"] == "http.request").collect();
        assert_eq!(requests.len(), usize::from(continued), "{spans:#?}");
        for request in requests {
            assert_eq!(text(request, "traceId"), "0af7651916cd43dd8448eb211c80319c");
            assert_eq!(text(request, "parentSpanId"), "b7ad6b7169203331");
            assert!(attribute(request, "traceparent").is_none() && attribute(request, "status").is_some(), "{request}");
        }
    }
}
