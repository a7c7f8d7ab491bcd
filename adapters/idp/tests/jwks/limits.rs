//! Answers that are too slow, too long, or not what was asked for. None of them costs the keys that are there.

use std::time::{Duration, Instant};

use chancery_idp::{FetchLimits, JwksFetcher};
use chancery_service::identity::KeySource;
use tokio::net::TcpListener;

use crate::provider::{Answer, EAGER, Provider, fetcher, key_set, keys, kids};

const HASTY: FetchLimits = FetchLimits { timeout: Duration::from_secs(1), ..EAGER };

/// Has a fetcher with good keys refresh from a provider that has turned bad; the error.
async fn refusal(answer: Answer, limits: FetchLimits) -> String {
    let provider = Provider::start(keys("good")).await;
    let fetcher = fetcher(&provider.url(), limits);
    fetcher.refresh().await.unwrap();
    provider.answers(answer);
    let error = fetcher.refresh().await.unwrap_err();
    assert_eq!(kids(&fetcher), Some(vec!["good".to_owned()]), "{error}");
    assert_eq!(provider.requests(), 2, "{error}");
    error
}

#[tokio::test]
async fn a_slow_provider_is_given_up() {
    let begin = Instant::now();
    let late = Answer::Late(Duration::from_secs(60), key_set("late"));
    let trickle = Answer::Trickle(Duration::from_millis(20));
    let (late, trickle) = tokio::join!(refusal(late, HASTY), refusal(trickle, HASTY));
    for error in [late, trickle] {
        assert!(error.ends_with("no complete answer within 1s"), "{error}");
    }
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_provider_that_accepts_and_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let fetcher = fetcher(&format!("http://{address}/"), HASTY);
    let error = fetcher.refresh().await.unwrap_err();
    assert!(error.ends_with("no complete answer within 1s"), "{error}");
}

#[tokio::test]
async fn an_answer_may_be_as_long_as_the_limit_and_no_longer() {
    let padded = |length: usize| {
        let mut body = key_set("padded");
        body.resize(length, b' ');
        body
    };
    for form in [Answer::Body, Answer::Chunked] {
        let error = refusal(form(padded(EAGER.body + 1)), EAGER).await;
        assert!(error.ends_with("the answer is longer than 4096 bytes"), "{error}");

        let provider = Provider::start(form(padded(EAGER.body))).await;
        let fetcher = fetcher(&provider.url(), EAGER);
        assert_eq!(fetcher.refresh().await, Ok(()));
    }
}

#[tokio::test]
async fn an_answer_that_is_not_a_key_set_is_refused() {
    for body in ["", "<html></html>", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":[],"keys":[]}"#] {
        let error = refusal(Answer::Body(body.into()), EAGER).await;
        assert!(error.contains("the answer is not a JWK set: "), "{body:?}: {error}");
    }
}

#[tokio::test]
async fn an_answer_other_than_200_is_refused_whatever_its_body() {
    for (status, text) in [
        (201, "the answer was 201 Created, not 200 OK"),
        (304, "the answer was 304 Not Modified; redirects are not followed"),
        (404, "the answer was 404 Not Found, not 200 OK"),
        (500, "the answer was 500 Internal Server Error, not 200 OK"),
    ] {
        let error = refusal(Answer::Status(status), EAGER).await;
        assert!(error.ends_with(text), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let error = refusal(Answer::Status(status), EAGER).await;
        assert!(error.ends_with("; redirects are not followed"), "{error}");
    }
}

#[test]
fn the_limits_are_moderate_unless_set() {
    let expected = FetchLimits {
        timeout: Duration::from_secs(5),
        body: 512 * 1024,
        min_interval: Duration::from_secs(10),
        interval: Duration::from_secs(300),
    };
    assert_eq!(FetchLimits::default(), expected);
}

#[test]
fn plain_http_to_another_machine_is_refused() {
    let refusal = JwksFetcher::new("http://id.example.com/keys", None, EAGER).err().unwrap().to_string();
    assert!(refusal.contains("http:// is only for 127.0.0.0/8, [::1] and localhost, not id.example.com"), "{refusal}");
}
