//! A clock that goes an hour ahead, and back: certificates are issued all the while, lists go on, and nothing is stuck.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chancery_client::RawRequest;
use chancery_tests::csr;
use http::Method;
use serde_json::{Value, json};

use crate::server::{GENEROUS, Ledger, Server, require_sound};

/// What answers for the clock, where the system has it.
fn library() -> Option<PathBuf> {
    let found = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
        .map(|folder| Path::new(folder).join("faketime/libfaketimeMT.so.1"))
        .into_iter()
        .find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: there is no libfaketime");
    }
    found
}

async fn post(server: &Server, path: &str, body: &Value) -> Value {
    let answer = server.client.raw(RawRequest::new(Method::POST, path).json(body)).await.unwrap();
    assert!(answer.status.is_success(), "{path}: {}", answer.text());
    answer.json().unwrap()
}

/// Orders a certificate, and waits for it.
async fn issue(server: &Server, account: &str, name: &str) {
    let order = post(server, "/v1/order", &json!({"account_lookup": account, "csr": csr(&[name])})).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let authorization = text(&order["authorizations"][0]["lookup"]);
    let codes = post(server, &format!("/v1/authz/{authorization}/challenges"), &json!({})).await;
    post(server, &format!("/v1/challenge/{}", text(&codes["challenges"][0]["lookup"])), &json!({})).await;
    let path = format!("/v1/order/{}", text(&order["lookup"]));
    let began = Instant::now();
    loop {
        let answer = server.client.raw(RawRequest::new(Method::GET, path.as_str())).await.unwrap();
        let shown: Value = answer.json().unwrap();
        match shown["status"].as_str() {
            Some("valid") => return,
            Some("ready") => {
                post(server, &format!("{path}/finalize"), &json!({})).await;
            }
            Some("pending" | "processing") => {}
            _ => panic!("{name}: {shown}"),
        }
        assert!(began.elapsed() < GENEROUS, "{name} is stuck: {shown}\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_an_hour_stops_nothing() {
    let Some(library) = library() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (data, log, time) = (folder.path().join("data"), folder.path().join("log"), folder.path().join("time"));
    fs::write(&time, "+0").unwrap();
    let environment = [
        ("LD_PRELOAD", library.as_os_str()),
        ("FAKETIME_TIMESTAMP_FILE", time.as_os_str()),
        ("FAKETIME_NO_CACHE", OsStr::new("1")),
        ("FAKETIME_DONT_FAKE_MONOTONIC", OsStr::new("1")),
    ];
    let Some(server) = Server::start(&data, &log, "", &environment) else { return };
    let mut ledger = Ledger::default();
    let account = post(&server, "/v1/account", &json!({"customer_email": "clock@example.com"})).await;
    let account = account["lookup"].as_str().unwrap().to_owned();
    let mut seen = Vec::new();
    for (step, offset) in ["+0", "+1h", "+0", "-1h", "+0", "+1h", "-1h", "+0"].into_iter().enumerate() {
        fs::write(&time, offset).unwrap();
        ledger.fill(&server, 2, Duration::from_millis(300)).await;
        issue(&server, &account, &format!("step-{step}.test")).await;
        server.until_ready(true);
        seen.push(newest_account(&server).await);
    }
    assert!(ledger.refused.is_empty() && ledger.unanswered == 0, "{:?}\n{}", ledger.refused, server.log());
    // The service did see the hours: else this tests nothing.
    let spread = seen.iter().max().unwrap() - seen.iter().min().unwrap();
    assert!(spread > 7000, "the clock did not jump: {seen:?}");
    ledger.check(&server).await;
    let database = server.database();
    assert_eq!(server.stop().code(), Some(0));
    require_sound(&database);
}

/// When a new account says that it was made, in Unix seconds.
async fn newest_account(server: &Server) -> i64 {
    static NAMES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let name = NAMES.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let made = post(server, "/v1/account", &json!({"customer_email": format!("n{name}@example.net")})).await;
    chancery_domain::Timestamp::parse(made["createdAt"].as_str().unwrap()).unwrap().as_secs()
}
