//! Bodies that nobody reads: another request follows, or the client is told that none can.

use super::*;

fn closes(answer: &str) -> bool {
    answer.contains("\r\nconnection: close\r\n")
}

/// The beginning of requests that are refused before their bodies are read: 404, 405, 415.
const UNREAD: [&str; 3] = ["POST /none", "DELETE /peer", "POST /body"];

#[tokio::test]
async fn an_answer_to_a_body_that_is_held_back_is_the_last_and_says_so() {
    let server = Running::plain(Limits::default()).await;
    for refused in UNREAD {
        for part in ["", "01234"] {
            let mut stream = server.connect().await;
            let request = format!("{refused} HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{part}");
            let answer = ask(&mut stream, &request).await;
            assert!(answer.starts_with("HTTP/1.1 4") && closes(&answer), "{answer}");
            assert!(closed(&mut stream).await.is_empty());
        }
    }
}

#[tokio::test]
async fn a_connection_lives_on_after_a_refused_body_that_came_along() {
    let server = Running::plain(Limits::default()).await;
    let mut stream = server.connect().await;
    for refused in UNREAD {
        let request = format!("{refused} HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n0123456789");
        let answer = ask(&mut stream, &request).await;
        assert!(answer.starts_with("HTTP/1.1 4") && !closes(&answer), "{answer}");
        assert!(ask(&mut stream, GET_PEER).await.starts_with("HTTP/1.1 200 "));
    }
}

#[tokio::test]
async fn a_connection_lives_on_after_a_body_that_was_read() {
    let server = Running::plain(Limits::default()).await;
    let mut stream = server.connect().await;
    let head = "POST /body HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    for _ in 0..2 {
        let answer = ask(&mut stream, &format!("{head}content-length: 2\r\n\r\n{{}}")).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && !closes(&answer), "{answer}");
    }
    // A client that waits is told that its body is wanted.
    let waiting = format!("{head}expect: 100-continue\r\ncontent-length: 2\r\n\r\n");
    stream.write_all(waiting.as_bytes()).await.unwrap();
    let mut told = [0; 25];
    within(stream.read_exact(&mut told)).await.unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    let answer = ask(&mut stream, "{}").await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && !closes(&answer), "{answer}");
    assert!(ask(&mut stream, GET_PEER).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_client_that_waits_with_its_body_is_refused_without_being_told_to_send_it() {
    let server = Running::plain(Limits::default()).await;
    let mut stream = server.connect().await;
    let request = "POST /none HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n";
    let answer = ask(&mut stream, request).await;
    assert!(answer.starts_with("HTTP/1.1 404 ") && closes(&answer), "{answer}");
}
