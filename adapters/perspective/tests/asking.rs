//! How a perspective is asked that answers as none should, or not at all.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use chancery_dcv::{Check, Strictness, Verified};
use chancery_domain::{ChallengeType, Identifier, Secret};
use chancery_perspective::{Asker, Place, Remote, Unreachable};
use chancery_testkit::SeededEntropy;

const MET: &str = r#"{"met": true, "attempts": [{"at": 1}], "problem": null, "until": null}"#;
const STRICT: &str = r#"{"dnssec": true, "allowSpecialAddresses": false, "http01Port": 80, "tlsAlpn01Port": 443}"#;
/// Each perspective that is asked has other random numbers.
static SEEDS: AtomicU64 = AtomicU64::new(1);
/// Placeholder, of the same length, for the id of the question that is being answered.
const ITS_ID: &str = "IIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII";

/// An answer to the question that it is given to, by a perspective with these settings.
fn with_settings(answer: &str, settings: &str) -> String {
    format!(r#"{{"id": "{ITS_ID}", "settings": {settings}, "answer": {answer}}}"#)
}

fn met() -> String {
    with_settings(MET, STRICT)
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// Answers one connection after the other with these, and then nobody is there any more; says where it is.
fn answers(list: Vec<String>) -> String {
    answers_and_asked(list).0
}

/// As [`answers`], and gives the ids of the questions as well, once all are answered.
fn answers_and_asked(list: Vec<String>) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let mut asked = Vec::new();
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
            let head = String::from_utf8_lossy(&head);
            let id = head.split_once(r#"{"id":""#).and_then(|(_, rest)| rest.split_once('"')).unwrap_or_default().0;
            let _ = stream.write_all(answer.replace(ITS_ID, id).as_bytes());
            asked.push(id.to_owned());
        }
        asked
    });
    (url, asked)
}

async fn ask(url: &str, trying: Duration) -> (Result<Verified, Unreachable>, bool) {
    let secret = Secret::new("s".repeat(32));
    let entropy = Arc::new(SeededEntropy::new(SEEDS.fetch_add(1, Ordering::Relaxed)));
    let asker = Asker { ca_domains: Vec::new(), strictness: Strictness::PUBLIC, entropy };
    let remote = Remote::new(Place { name: "north", url, secret: &secret, ca_pem: None, trying }, asker).unwrap();
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
    let (answer, is_away) = ask(&answers(vec![answer("200 OK", &met())]), Duration::ZERO).await;
    let seen = answer.unwrap();
    assert_eq!((seen.outcome, seen.attempts[0].perspective.as_str(), is_away), (Ok(()), "north", false));
}

#[tokio::test]
async fn what_is_no_answer_is_none() {
    for (list, said) in [
        (vec![answer("200 OK", "")], "not understood"),
        (vec![answer("200 OK", "{}")], "missing field `id`"),
        (vec![answer("200 OK", MET)], "missing field `id`"),
        (vec![answer("200 OK", &with_settings("{}", STRICT))], "missing field `met`"),
        (vec![answer("200 OK", &format!(r#"{{"id": "{ITS_ID}", "answer": {MET}}}"#))], "missing field `settings`"),
        (vec![answer("200 OK", "<html>")], "not understood"),
        (vec![answer("204 No Content", MET)], "204"),
        (vec![answer("302 Found", MET)], "302"),
        (vec![answer("400 Bad Request", "no such method")], "no such method"),
        (vec![answer("401 Unauthorized", MET)], "does not take our secret"),
        (vec![answer("500 Internal Server Error", MET)], "500"),
        (vec![answer("200 OK", &format!("{}{}", met(), " ".repeat(300_000)))], "longer than"),
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
    let list = vec![String::new(), answer("503 Service Unavailable", ""), answer("200 OK", &met())];
    let (url, asked) = answers_and_asked(list);
    let (answer, is_away) = ask(&url, Duration::from_secs(20)).await;
    assert!(answer.unwrap().outcome.is_ok() && !is_away);
    let asked = asked.join().unwrap();
    let distinct: BTreeSet<_> = asked.iter().filter(|id| id.len() == 32).collect();
    assert_eq!((asked.len(), distinct.len()), (3, 3), "each try has an id of its own: {asked:?}");
}

#[tokio::test]
async fn an_answer_to_another_question_is_none() {
    let other = met().replace(ITS_ID, "0123456789abcdef0123456789abcdef");
    let told = refused(vec![answer("200 OK", &other)]).await;
    assert_eq!(told, "it answered another question");
    for id in ["", "00", "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef0123456789abcdef00"] {
        let told = refused(vec![answer("200 OK", &met().replace(ITS_ID, id))]).await;
        assert!(told.contains("not understood"), "{id}: {told}");
    }
    // The answer to an earlier question, kept by something in between.
    let (url, asked) = answers_and_asked(vec![answer("200 OK", &met())]);
    assert!(ask(&url, Duration::ZERO).await.0.is_ok());
    let stale = met().replace(ITS_ID, &asked.join().unwrap()[0]);
    assert_eq!(refused(vec![answer("200 OK", &stale)]).await, "it answered another question");
}

#[tokio::test]
async fn an_answer_that_was_obtained_less_strictly_is_none() {
    for (settings, said) in [
        (STRICT.replace("\"dnssec\": true", "\"dnssec\": false"), "DNSSEC is not checked"),
        (STRICT.replace("es\": false", "es\": true"), "special addresses are allowed"),
        (STRICT.replace("80", "8080"), "http-01 uses port 8080"),
        (STRICT.replace("443", "8443"), "tls-alpn-01 uses port 8443"),
    ] {
        assert_ne!(settings, STRICT);
        let told = refused(vec![answer("200 OK", &with_settings(MET, &settings))]).await;
        assert!(told.contains(said) && told.contains("start it with the settings of this service"), "{told}");
    }
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
    let body = with_settings(&body, STRICT);
    let (answer, _) = ask(&answers(vec![self::answer("200 OK", &body)]), Duration::ZERO).await;
    let seen = answer.unwrap();
    assert!(seen.outcome.unwrap_err().detail.len() <= 1000);
    assert!(seen.attempts.iter().all(|attempt| attempt.url.as_ref().unwrap().len() <= 400));
    assert!(seen.attempts.len() < 20, "{}", seen.attempts.len());
}
