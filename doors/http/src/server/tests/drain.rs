//! Told to stop, the server finishes what it has begun.

use tokio::sync::Notify;

use super::*;

/// A server with one handler that says when it has begun and waits until it is let go.
async fn waiting(limits: Limits) -> (Running, Arc<Notify>, Arc<Notify>) {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = {
        let (begun, go) = (begun.clone(), go.clone());
        move || async move {
            begun.notify_one();
            go.notified().await;
            "finished"
        }
    };
    let router = Router::new().route("/wait", get(handler)).route("/now", get(|| async { "x" }));
    (Running::start(Server::plain(router).limits(limits)).await, begun, go)
}

const WAIT: &[u8] = b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test]
async fn what_is_in_flight_is_finished_and_nothing_new_begun() {
    let (mut server, begun, go) = waiting(Limits { linger: SMALL, ..Limits::default() }).await;
    let mut idle = server.connect().await;
    assert!(ask(&mut idle, "GET /now HTTP/1.1\r\nhost: x\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
    let mut busy = server.connect().await;
    busy.write_all(WAIT).await.unwrap();
    within(begun.notified()).await;

    server.stop();
    assert!(closed(&mut idle).await.is_empty(), "an idle connection is closed at once");
    within(async { while TcpStream::connect(server.address).await.is_ok() {} }).await;
    assert!(!server.ended.is_finished());
    go.notify_one();
    let answer = String::from_utf8(closed(&mut busy).await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("finished"), "{answer}");
    assert_eq!(server.end().await, Drained { cut: 0 });
}

#[tokio::test]
async fn what_does_not_finish_in_time_is_cut() {
    let (mut server, begun, _go) = waiting(Limits { drain: SMALL, ..Limits::default() }).await;
    let mut busy = server.connect().await;
    busy.write_all(WAIT).await.unwrap();
    within(begun.notified()).await;
    server.stop();
    assert_eq!(server.end().await, Drained { cut: 1 });
    assert!(closed(&mut busy).await.is_empty());
}

#[tokio::test]
async fn a_connection_that_has_asked_nothing_does_not_delay_the_end() {
    let (mut server, ..) =
        waiting(Limits { drain: GENEROUS * 2, header_read: GENEROUS * 2, ..Limits::default() }).await;
    let mut other = server.connect().await;
    let _silent = server.connect().await;
    assert!(ask(&mut other, "GET /now HTTP/1.1\r\nhost: x\r\n\r\n").await.starts_with("HTTP/1.1 200 "));
    drop(other);
    server.stop();
    assert_eq!(server.end().await, Drained { cut: 0 });
}
