//! Certificate logs over the wire: what is taken for a promise, and what is not.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::net::Ipv4Addr;
use std::time::Duration;

use chancery_publish::{LogAnswer, LogClient, LogError};
use chancery_testkit::web::TestWeb;
use serde_json::{Value, json};

const ADD: &str = "/log/ct/v1/add-pre-chain";

async fn web() -> (TestWeb, LogClient) {
    let web = TestWeb::http((Ipv4Addr::LOCALHOST, 0)).await;
    let client = LogClient::new(&format!("http://127.0.0.1:{}/log/", web.port()), None).unwrap();
    (web, client)
}

fn promise() -> Value {
    json!({"sct_version": 0, "id": "A".repeat(43) + "=", "timestamp": 7, "extensions": "", "signature": "BAMAAA=="})
}

async fn asked(client: &LogClient) -> Result<LogAnswer, LogError> {
    client.add_pre_chain(&[vec![1], vec![2]]).await
}

#[tokio::test]
async fn a_promise_is_read_as_it_is_written() {
    let (web, client) = web().await;
    web.page(ADD, promise().to_string());
    let expected = LogAnswer { id: [0; 32], timestamp: 7, extensions: vec![], signature: vec![4, 3, 0, 0] };
    assert_eq!(asked(&client).await.unwrap(), expected);
    assert_eq!((web.requests()[0].method.as_str(), web.requests()[0].target.as_str()), ("POST", ADD));
    let mut placed = promise();
    placed["extensions"] = "AAAFAAAAAAE=".into();
    web.page(ADD, placed.to_string());
    assert_eq!(asked(&client).await.unwrap().extensions, [0, 0, 5, 0, 0, 0, 0, 1]);
}

#[tokio::test]
async fn what_is_no_promise_is_not_taken_for_one() {
    let (web, client) = web().await;
    for (member, value, said) in [
        ("sct_version", json!(1), "its version is not 1"),
        ("id", json!("AAAA"), "its id is not 32 bytes"),
        ("id", json!("?"), "not base64"),
        ("timestamp", json!(-1), "invalid value"),
        ("timestamp", json!("now"), "invalid type"),
        ("signature", Value::Null, "invalid type"),
        ("extensions", json!("A".repeat(400)), "longer than any"),
    ] {
        let mut wrong = promise();
        wrong[member] = value;
        web.page(ADD, wrong.to_string());
        let LogError::Away { why, .. } = asked(&client).await.unwrap_err() else { panic!("{member}") };
        assert!(why.contains(said), "{member}: {why}");
    }
    for body in ["", "null", "[]", "<html>", &"[".repeat(100_000)] {
        web.page(ADD, body);
        assert!(matches!(asked(&client).await, Err(LogError::Away { .. })), "{body:.20}");
    }
}

#[tokio::test]
async fn a_refusal_is_told_from_a_log_that_cannot_now() {
    let (web, client) = web().await;
    for status in [400, 403, 404, 422] {
        web.answer(ADD, status, &[], "unknown root\nof yours\u{7}");
        let LogError::Refused(why) = asked(&client).await.unwrap_err() else { panic!("{status}") };
        assert!(why.contains(&status.to_string()) && why.ends_with("unknown root of yours"), "{why}");
    }
    for status in [301, 408, 429, 500, 503] {
        web.answer(ADD, status, &[("retry-after", "7"), ("location", "http://127.0.0.1:1/")], "later");
        let error = asked(&client).await.unwrap_err();
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)), "{status}: {error:?}");
    }
    drop(web);
    assert!(matches!(asked(&client).await, Err(LogError::Away { retry_after: None, .. })));
}

#[tokio::test]
async fn the_roots_that_a_log_takes_are_read() {
    let (web, client) = web().await;
    web.page("/log/ct/v1/get-roots", r#"{"certificates": ["AQI=", "Aw=="]}"#);
    assert_eq!(client.accepted_roots().await.unwrap(), [vec![1, 2], vec![3]]);
    web.page("/log/ct/v1/get-roots", r#"{"certificates": ["?"]}"#);
    client.accepted_roots().await.unwrap_err();
}
