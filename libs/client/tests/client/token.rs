//! Tokens: fetched when needed, kept, and replaced once when they are refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chancery_client::{AccessToken, Client, Error, Method, StatusCode};
use serde_json::json;

use crate::server::{Answer, Seen, Server, account, merged};

fn is_token_request(seen: &Seen) -> bool {
    seen.target == "/oauth/token"
}

fn some_account() -> Answer {
    Answer::json(200, merged(account("acc_1"), json!({"eabCredentials": [], "groups": []})))
}

/// Gives out `token-1`, `token-2`, … that live so long; takes those from `accepted` on.
async fn start(lifetime: u64, accepted: usize) -> Server {
    let given = Arc::new(AtomicUsize::new(0));
    Server::start(move |seen| {
        if is_token_request(seen) {
            let token = format!("token-{}", given.fetch_add(1, Ordering::SeqCst) + 1);
            let answer = json!({"access_token": token, "scope": "x", "expires_in": lifetime, "token_type": "Bearer"});
            return Answer::json(200, answer);
        }
        let number = seen.header("authorization").and_then(|value| value.strip_prefix("Bearer token-"));
        match number.map(|number| number.parse::<usize>().unwrap()) {
            Some(number) if number >= accepted => some_account(),
            _ => Answer::text(401, "The token is not valid."),
        }
    })
    .await
}

#[tokio::test]
async fn a_token_is_fetched_when_it_is_first_needed_and_kept() {
    let server = start(86_400, 1).await;
    let client = server.with_credentials().build().unwrap();
    assert!(server.seen().is_empty());
    client.accounts().get("acc_1").await.unwrap();
    client.clone().accounts().get("acc_1").await.unwrap();
    assert_eq!(server.lines(), ["POST /oauth/token", "GET /v1/account/acc_1", "GET /v1/account/acc_1"]);
    let asked = &server.seen()[0];
    let expected = json!({
        "client_id": "id", "client_secret": "geheim", "audience": "api", "grant_type": "client_credentials",
    });
    assert_eq!(asked.json(), expected);
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.header("authorization"), None);
}

#[tokio::test]
async fn an_expired_token_is_replaced_before_it_is_used() {
    let server = start(0, 1).await;
    let client = server.with_credentials().build().unwrap();
    client.accounts().get(1).await.unwrap();
    client.accounts().get(2).await.unwrap();
    let shown: Vec<_> =
        server.seen().iter().filter_map(|seen| seen.header("authorization").map(str::to_owned)).collect();
    assert_eq!(shown, ["Bearer token-1", "Bearer token-2"]);
}

/// How many tokens were fetched for many calls at once.
async fn fetched_for_many(server: &Server) -> usize {
    let client = server.with_credentials().build().unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..16 {
        let client = client.clone();
        calls.spawn(async move { client.accounts().get(number).await });
    }
    while let Some(answer) = calls.join_next().await {
        answer.unwrap().unwrap();
    }
    server.seen().iter().filter(|seen| is_token_request(seen)).count()
}

#[tokio::test]
async fn many_calls_at_once_fetch_one_token() {
    assert_eq!(fetched_for_many(&start(86_400, 1).await).await, 1);
}

#[tokio::test]
async fn many_calls_whose_token_is_refused_fetch_one_other() {
    assert_eq!(fetched_for_many(&start(86_400, 2).await).await, 2);
}

#[tokio::test]
async fn a_refused_token_is_replaced_and_the_request_repeated_whole() {
    let server = start(86_400, 2).await;
    let client = server.with_credentials().build().unwrap();
    client.eab().create_once("acc_1", &Default::default(), "key").await.unwrap_err();
    let expected = [
        "POST /oauth/token",
        "POST /v1/account/acc_1/eab-credential",
        "POST /oauth/token",
        "POST /v1/account/acc_1/eab-credential",
    ];
    assert_eq!(server.lines(), expected);
    let seen = server.seen();
    assert_eq!(seen[3].header("authorization"), Some("Bearer token-2"));
    assert_eq!(seen[3].header("idempotency-key"), Some("key"));
    assert_eq!(seen[1].body, seen[3].body);
    client.accounts().get("acc_1").await.unwrap();
    assert_eq!(server.seen().len(), 5, "the second token is kept");
}

#[tokio::test]
async fn a_token_that_is_refused_again_is_not_fetched_a_third_time() {
    let server = start(86_400, usize::MAX).await;
    let client = server.with_credentials().build().unwrap();
    let error = client.accounts().get("acc_1").await.unwrap_err();
    assert!(matches!(&error, Error::Refused { status: StatusCode::UNAUTHORIZED, message, .. }
        if message == "The token is not valid."));
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn a_token_that_the_caller_gave_is_tried_once() {
    let server = start(86_400, 1).await;
    for (client, sent) in [
        (Client::builder(&server.url).token("mine").build().unwrap(), Some("Bearer mine")),
        (Client::builder(&server.url).api_key("chk_1").build().unwrap(), Some("chk_1")),
        (Client::builder(&server.url).build().unwrap(), None),
    ] {
        let before = server.seen().len();
        let error = client.accounts().get("acc_1").await.unwrap_err();
        assert_eq!(error.status(), Some(StatusCode::UNAUTHORIZED));
        let seen = server.seen();
        assert_eq!(seen.len(), before + 1);
        assert_eq!(seen[before].header("authorization"), sent);
    }
}

#[tokio::test]
async fn a_raw_request_is_sent_once_with_the_token() {
    let server = start(86_400, 2).await;
    let client = server.with_credentials().build().unwrap();
    let answer = client.request(Method::GET, "/v1/account/x", None).await.unwrap();
    assert_eq!((answer.status, &*answer.text()), (StatusCode::UNAUTHORIZED, "The token is not valid."));
    assert_eq!(server.lines(), ["POST /oauth/token", "GET /v1/account/x"]);
    let shown = client.authorization().await.unwrap().unwrap();
    assert_eq!(shown.to_str().unwrap(), "Bearer token-1");
    assert!(!format!("{shown:?} {client:?}").contains("token-1"));
}

#[tokio::test]
async fn a_refusal_of_the_token_endpoint_is_told_in_its_words() {
    let server = Server::start(|_| {
        Answer::json(401, json!({"error": "invalid_client", "error_description": "The secret is wrong."}))
    })
    .await;
    let client = server.with_credentials().build().unwrap();
    let error = client.accounts().get("acc_1").await.unwrap_err();
    assert_eq!(error.to_string(), "no access token: The secret is wrong. (invalid_client)");
    assert!(matches!(error, Error::Token(body) if body.error == "invalid_client"));
    assert_eq!(server.lines(), ["POST /oauth/token"], "without a token nothing else is asked");
}

#[tokio::test]
async fn another_failure_of_the_token_endpoint_is_told_as_what_it_is() {
    let server = Server::start(|_| {
        let body = json!({"status": 429, "code": "rate_limited", "message": "Slow down.", "requestId": "r"});
        Answer::json(429, body).with("retry-after", "7")
    })
    .await;
    let error = server.with_credentials().build().unwrap().accounts().get("acc_1").await.unwrap_err();
    assert!(matches!(&error, Error::Api { retry_after: Some(wait), .. } if wait.as_secs() == 7), "{error:?}");
}

#[tokio::test]
async fn a_token_can_be_kept_for_a_later_client() {
    let server = start(86_400, 1).await;
    let first = server.with_credentials().build().unwrap();
    assert!(first.access_token().await.is_none(), "none is fetched for this");
    first.accounts().get("acc_1").await.unwrap();
    let token = first.access_token().await.unwrap();
    assert_eq!(token.text, "token-1");
    assert!(token.remaining.unwrap() <= Duration::from_secs(86_400));
    let second = server.with_credentials().kept_token(token.clone()).build().unwrap();
    second.accounts().get("acc_1").await.unwrap();
    assert_eq!(server.lines(), ["POST /oauth/token", "GET /v1/account/acc_1", "GET /v1/account/acc_1"]);

    // One that has ended is not sent, one that is refused is replaced.
    let ended = AccessToken { remaining: Some(Duration::ZERO), ..token.clone() };
    let third = server.with_credentials().kept_token(ended).build().unwrap();
    third.accounts().get("acc_1").await.unwrap();
    assert_eq!(third.access_token().await.unwrap().text, "token-2");
    let unknown = AccessToken { text: "token-0".to_owned(), remaining: None };
    let fourth = server.with_credentials().kept_token(unknown).build().unwrap();
    fourth.accounts().get("acc_1").await.unwrap();
    assert_eq!(fourth.access_token().await.unwrap().text, "token-3");
    assert!(server.with_credentials().kept_token(AccessToken { text: "a\nb".to_owned(), ..token }).build().is_err());
}
