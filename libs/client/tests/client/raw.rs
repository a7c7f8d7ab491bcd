//! Requests that the typed operations would never send.

use chancery_client::{Error, Method, RawRequest, StatusCode};
use serde_json::json;

use crate::server::{Answer, Server};

async fn teapot() -> Server {
    Server::start(|_| Answer::text(418, "short and stout").with("x-more", "1")).await
}

#[tokio::test]
async fn whatever_is_written_is_sent() {
    let server = teapot().await;
    let request = RawRequest::new(Method::from_bytes(b"BREW").unwrap(), "/v1//account/../%00?limit=0&limit=%zz")
        .header("content-type", "text/nonsense")
        .header("x-twice", "1")
        .header("x-twice", b"\xff\xfe")
        .header("user-agent", "someone else")
        .body(&b"{\"a\":\xff"[..]);
    let answer = server.client().raw(request).await.unwrap();
    assert_eq!(answer.status, StatusCode::IM_A_TEAPOT);
    assert_eq!((answer.header("x-more"), &answer.body[..]), (Some("1"), &b"short and stout"[..]));
    let seen = &server.seen()[0];
    assert_eq!(seen.line(), "BREW /v1//account/../%00?limit=0&limit=%zz");
    assert_eq!(seen.header("content-type"), Some("text/nonsense"));
    assert_eq!(seen.header("user-agent"), Some("someone else"));
    assert_eq!(seen.header("authorization"), Some("Bearer t"));
    assert_eq!(seen.header("accept"), None);
    let twice: Vec<_> = seen.headers.get_all("x-twice").iter().map(|value| value.as_bytes()).collect();
    assert_eq!(twice, [&b"1"[..], b"\xff\xfe"]);
    assert_eq!(&seen.body[..], b"{\"a\":\xff");
}

#[tokio::test]
async fn the_token_can_be_left_out_or_be_another() {
    let server = teapot().await;
    let client = server.with_credentials().build().unwrap();
    let request = || RawRequest::new(Method::GET, "/v1/account");
    client.raw(request().without_token()).await.unwrap();
    client.raw(request().header("Authorization", "Basic x")).await.unwrap();
    client.raw(request().without_token().header("Authorization", "a").header("Authorization", "b")).await.unwrap();
    let shown: Vec<_> = server.seen().iter().map(|seen| seen.headers.get_all("authorization").iter().count()).collect();
    assert_eq!(shown, [0, 1, 2]);
    assert_eq!(server.seen()[1].header("authorization"), Some("Basic x"));
    assert!(server.lines().iter().all(|line| line == "GET /v1/account"), "no token is fetched");
}

#[tokio::test]
async fn a_request_has_json_where_it_is_given_some() {
    let server = teapot().await;
    let client = server.client();
    client.request(Method::PUT, "/v1/policy/x", Some(json!({"nmae": 1}))).await.unwrap();
    client.request(Method::DELETE, "/v1/policy/x", None).await.unwrap();
    let seen = server.seen();
    assert_eq!((seen[0].json(), seen[0].header("content-type")), (json!({"nmae": 1}), Some("application/json")));
    assert_eq!((seen[1].body.len(), seen[1].header("content-type")), (0, None));
}

#[tokio::test]
async fn what_cannot_be_written_is_not_sent() {
    let server = teapot().await;
    let client = server.client();
    let get = |target: &str| RawRequest::new(Method::GET, target);
    for request in [
        get("v1"),
        get("@evil.example/"),
        get("https://evil.example/"),
        get("/v1/a b"),
        get("/").header("no name", "x"),
        get("/").header("x-split", "a\r\nb: c"),
    ] {
        assert!(matches!(client.raw(request).await, Err(Error::Unsendable(_))));
    }
    for lookup in ["", ".", ".."] {
        assert!(matches!(client.accounts().delete(lookup).await, Err(Error::Unsendable(_))), "{lookup:?}");
    }
    let twisted = client.accounts().create_once(&Default::default(), "a\nb").await;
    assert!(matches!(twisted, Err(Error::Unsendable(_))));
    assert!(server.seen().is_empty());
}
