//! How a perspective is asked that answers as none should, or not at all.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use chancery_dcv::{Check, Verified};
use chancery_domain::{ChallengeType, Identifier, Secret};
use chancery_perspective::{Place, Remote, Unreachable};

const MET: &str = r#"{"met": true, "attempts": [{"at": 1}], "problem": null, "until": null}"#;

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// Answers one connection after the other with these, and then nobody is there any more; says where it is.
fn answers(list: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for answer in list {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            let mut buffer = [0; 4096];
            while !head.windows(2).any(|end| end == b"}}" || end == b"\"}") {
                match stream.read(&mut buffer) {
                    Ok(read) if read > 0 => head.extend_from_slice(&buffer[..read]),
                    Ok(_) | Err(_) => break,
                }
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    url
}

async fn ask(url: &str, trying: Duration) -> (Result<Verified, Unreachable>, bool) {
    let secret = Secret::new("s".repeat(32));
    let remote = Remote::new(Place { name: "north", url, secret: &secret, ca_pem: None, trying }, &[]).unwrap();
    let check = Check {
        identifier: Identifier::parse("a.test").unwrap(),
        kind: ChallengeType::Http01,
        token: "t".to_owned(),
        key_authorization: "t.k".to_owned(),
        account_uri: String::new(),
    };
    let answer = remote.verify("r", &check).await;
    (answer, remote.is_away())
}

/// What came of an answer that is no answer.
async fn refused(list: Vec<String>) -> String {
    let (answer, is_away) = ask(&answers(list), Duration::ZERO).await;
    assert!(is_away);
    answer.unwrap_err().0
}

#[tokio::test]
async fn an_answer_is_taken_under_the_name_that_we_know_it_by() {
    let (answer, is_away) = ask(&answers(vec![answer("200 OK", MET)]), Duration::ZERO).await;
    let seen = answer.unwrap();
    assert_eq!((seen.outcome, seen.attempts[0].perspective.as_str(), is_away), (Ok(()), "north", false));
}

#[tokio::test]
async fn what_is_no_answer_is_none() {
    for (list, said) in [
        (vec![answer("200 OK", "")], "not understood"),
        (vec![answer("200 OK", "{}")], "missing field `met`"),
        (vec![answer("200 OK", "<html>")], "not understood"),
        (vec![answer("204 No Content", MET)], "204"),
        (vec![answer("302 Found", MET)], "302"),
        (vec![answer("400 Bad Request", "no such method")], "no such method"),
        (vec![answer("401 Unauthorized", MET)], "does not take our secret"),
        (vec![answer("500 Internal Server Error", MET)], "500"),
        (vec![answer("200 OK", &format!("{MET}{}", " ".repeat(300_000)))], "longer than"),
        (vec!["HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"met\": true".to_owned()], "failed"),
        (vec![String::new()], "failed"),
        (vec![], "connect"),
    ] {
        let told = refused(list).await;
        assert!(told.contains(said) && told.len() < 500, "{said}: {told}");
    }
}

#[tokio::test]
async fn one_that_is_started_anew_is_tried_again_for_some_time() {
    let list = vec![String::new(), answer("503 Service Unavailable", ""), answer("200 OK", MET)];
    let (answer, is_away) = ask(&answers(list), Duration::from_secs(20)).await;
    assert!(answer.unwrap().outcome.is_ok() && !is_away);
}

#[tokio::test]
async fn one_that_refuses_is_not_asked_again() {
    let began = Instant::now();
    let list = vec![answer("401 Unauthorized", ""), answer("200 OK", MET)];
    let (answer, _) = ask(&answers(list), Duration::from_secs(60)).await;
    assert!(answer.is_err() && began.elapsed() < Duration::from_secs(30));
}

/// Whoever is believed may still say too much.
#[tokio::test]
async fn of_what_is_told_no_more_is_kept_than_of_our_own_looks() {
    let long = "x".repeat(100_000);
    let looks: Vec<String> = (0..20).map(|at| format!(r#"{{"at": {at}, "url": "{}"}}"#, "u".repeat(5_000))).collect();
    let problem = format!(r#"{{"kind": "dns", "detail": "{long}"}}"#);
    let body = format!(r#"{{"met": false, "attempts": [{}], "problem": {problem}}}"#, looks.join(","));
    let (answer, _) = ask(&answers(vec![self::answer("200 OK", &body)]), Duration::ZERO).await;
    let seen = answer.unwrap();
    assert!(seen.outcome.unwrap_err().detail.len() <= 1000);
    assert!(seen.attempts.iter().all(|attempt| attempt.url.as_ref().unwrap().len() <= 400));
    assert!(seen.attempts.len() < 20, "{}", seen.attempts.len());
}
