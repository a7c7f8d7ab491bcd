//! Requests that two readers could understand differently (RFC 9112 section 11.2).

use chancery_http::Limits;
use chancery_tests::World;

use crate::common::{exchange, serve, status};

/// How many answers there are.
fn answers(text: &str) -> usize {
    text.matches("HTTP/1.1 ").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_hides_behind_a_body_is_never_taken_for_a_request() {
    let world = World::sqlite().await;
    let address = serve(&world, Limits::default(), 100).await;
    let hidden = "GET /v1/version HTTP/1.1\r\nhost: ca.test\r\n\r\n";
    let head = "POST /v1/account HTTP/1.1\r\nhost: ca.test\r\ncontent-type: application/json\r\n";
    for framing in [
        // A length and chunks, in either order: one reader would stop here, another there.
        "content-length: 5\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 0\r\n",
        // Chunks that some do not see.
        "transfer-encoding: identity, chunked\r\n",
        "transfer-encoding: xchunked\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding : chunked\r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n",
        " transfer-encoding: chunked\r\n",
        // Two lengths, and one that is none.
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: 5, 6\r\n",
        "content-length: +5\r\n",
        "content-length: 0x5\r\n",
        "content-length: 5 5\r\n",
        "content-length: -1\r\n",
    ] {
        let answer = exchange(address, format!("{head}{framing}\r\n0\r\n\r\n{hidden}").as_bytes()).await;
        assert!(answers(&answer) <= 1 && !answer.contains("apiVersion"), "{framing:?}: {answer}");
        assert!(answer.is_empty() || (400..500).contains(&status(&answer)), "{framing:?}: {answer}");
    }
}

/// RFC 9112 section 9.6: else a client would send its next request into the void.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_says_whether_another_request_may_follow() {
    let world = World::sqlite().await;
    let address = serve(&world, Limits::default(), 100).await;
    let head = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: ca.test\r\ncontent-type: application/json\r\n\
             authorization: Bearer x\r\ncontent-length: 10\r\n\r\n"
        )
    };
    let closes = |answer: &str| answer.to_lowercase().contains("\r\nconnection: close\r\n");
    for (path, expected) in [("/v1/account", 401), ("/v1/nothing", 404), ("/v1/version", 405)] {
        let held_back = exchange(address, head(path).as_bytes()).await;
        assert!(status(&held_back) == expected && closes(&held_back), "{held_back}");

        let next = "GET /v1/version HTTP/1.1\r\nhost: ca.test\r\nconnection: close\r\n\r\n";
        let both = exchange(address, format!("{}0123456789{next}", head(path)).as_bytes()).await;
        assert_eq!(answers(&both), 2, "{both}");
        let (first, second) = both.split_at(both.rfind("HTTP/1.1 ").unwrap());
        assert!(status(first) == expected && !closes(first), "{first}");
        assert_eq!(status(second), 200, "{second}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn honest_chunks_are_read_and_honest_requests_follow_each_other() {
    let world = World::sqlite().await;
    let address = serve(&world, Limits::default(), 100).await;
    let chunked = "POST /oauth/token HTTP/1.1\r\nhost: ca.test\r\ncontent-type: application/json\r\n\
                   transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    let answer = exchange(address, chunked.as_bytes()).await;
    assert_eq!(status(&answer), 400, "{answer}");
    assert!(answer.contains("grant_type") && answer.to_lowercase().contains("connection: close"), "{answer}");
    let two = "GET /v1/version HTTP/1.1\r\nhost: ca.test\r\n\r\nGET /v1/version HTTP/1.1\r\nhost: ca.test\r\nconnection: close\r\n\r\n";
    assert_eq!(answers(&exchange(address, two.as_bytes()).await), 2);
}
