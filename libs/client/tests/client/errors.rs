//! What refusals become.

use std::time::Duration;

use chancery_client::wire::ErrorCode;
use chancery_client::{Client, Error, StatusCode, TransportError};
use serde_json::json;

use crate::server::{Answer, Server};

async fn error(answer: Answer) -> Error {
    let server = Server::start(move |_| answer.clone()).await;
    server.client().accounts().get("acc_1").await.unwrap_err()
}

#[tokio::test]
async fn a_refusal_keeps_its_body_and_its_headers() {
    let body = json!({
        "status": 429, "code": "quota_exceeded", "message": "Enough for today.", "requestId": "r-1",
        "errors": [{"field": "profile", "code": "max_certificates_per_day", "message": "is used up", "policy": "pol_1"}],
        "order": {"lookup": "ord_1"},
    });
    let error = error(Answer::json(429, body).with("retry-after", "3600").with("x-request-id", "r-1")).await;
    let text =
        "429 Too Many Requests: Enough for today. (quota_exceeded); profile: is used up (max_certificates_per_day)";
    assert_eq!(error.to_string(), text);
    assert_eq!((error.status(), error.code()), (Some(StatusCode::TOO_MANY_REQUESTS), Some(ErrorCode::QuotaExceeded)));
    let Error::Api { body, retry_after, request_id, .. } = error else { panic!("{error:?}") };
    assert_eq!(retry_after, Some(Duration::from_secs(3600)));
    assert_eq!(request_id.as_deref(), Some("r-1"));
    assert_eq!(body.errors[0].policy.as_deref(), Some("pol_1"));
    assert_eq!(body.extra["order"]["lookup"], "ord_1");
}

#[tokio::test]
async fn a_401_and_a_403_are_plain_text() {
    for (status, text) in [(401, "The token has expired."), (403, "The scope write:account is missing.")] {
        let error = error(Answer::text(status, text).with("x-request-id", "r-2")).await;
        assert_eq!(error.code(), None);
        let Error::Refused { status: got, message, request_id } = error else { panic!("{error:?}") };
        assert_eq!((got.as_u16(), message.as_str(), request_id.as_deref()), (status, text, Some("r-2")));
    }
}

#[tokio::test]
async fn what_the_api_does_not_say_is_unexpected() {
    for (answer, text) in [
        (Answer::text(502, "<h1>Bad\ngateway</h1>"), "unexpected answer: 502 Bad Gateway: <h1>Badgateway</h1>"),
        (Answer::text(500, ""), "unexpected answer: 500 Internal Server Error: no body"),
        (Answer::text(302, "").with("location", "http://evil.example/"), "unexpected answer: 302 Found: no body"),
        (Answer::json(404, json!({"detail": 1})), "unexpected answer: 404 Not Found: {\"detail\":1}"),
    ] {
        let error = error(answer).await;
        assert_eq!(error.to_string(), text);
        assert!(matches!(error, Error::Unexpected { .. }));
    }
}

#[tokio::test]
async fn a_success_of_another_shape_is_unexpected_and_its_body_is_not_printed() {
    let error = error(Answer::json(200, json!({"hmacKey": "geheim"}))).await;
    assert!(matches!(&error, Error::Unexpected { response, .. } if response.text().contains("geheim")));
    assert!(!format!("{error} {error:?}").contains("geheim"), "{error:?}");
}

#[tokio::test]
async fn nobody_there_is_a_transport_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = Client::builder(url).build().unwrap().version().await.unwrap_err();
    assert!(matches!(&error, Error::Transport(TransportError::Connect(_))), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
    assert_eq!(error.status(), None);
}

#[tokio::test]
async fn an_answer_that_does_not_come_in_time_is_given_up() {
    let server = Server::start(|_| Answer::never()).await;
    let limit = Duration::from_millis(50);
    let client = server.with_credentials().timeout(limit).build().unwrap();
    let late = |error: Error| matches!(error, Error::Transport(TransportError::Timeout(after)) if after == limit);
    assert!(late(client.version().await.unwrap_err()));
    assert!(late(client.accounts().get(1).await.unwrap_err()), "the token counts too");
}
