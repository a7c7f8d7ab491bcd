//! How much a client may have.

use super::*;

/// Nothing is closed for being slow, so what is closed is closed for being too much.
fn patient() -> Limits {
    Limits { header_read: GENEROUS * 2, idle: GENEROUS * 2, ..Limits::default() }
}

#[tokio::test]
async fn one_connection_too_many_is_closed_at_once() {
    let server = Running::plain(Limits { connections: 2, ..patient() }).await;
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    for stream in [&mut first, &mut second] {
        assert!(ask(stream, GET_PEER).await.starts_with("HTTP/1.1 200 "));
    }
    assert!(closed(&mut server.connect().await).await.is_empty());
    // Those inside are not disturbed, and a place that becomes free is given again.
    assert!(ask(&mut first, GET_PEER).await.starts_with("HTTP/1.1 200 "));
    drop(second);
    within(async { while !try_ask(&server).await.starts_with("HTTP/1.1 200 ") {} }).await;
}

#[tokio::test]
async fn one_client_cannot_take_all_places() {
    let server = Running::plain(Limits { connections_per_peer: Some(1), ..patient() }).await;
    let mut first = server.connect().await;
    assert!(ask(&mut first, GET_PEER).await.starts_with("HTTP/1.1 200 "));
    assert!(closed(&mut server.connect().await).await.is_empty());
    drop(first);
    within(async { while !try_ask(&server).await.starts_with("HTTP/1.1 200 ") {} }).await;
}

#[tokio::test]
async fn a_proxy_that_is_named_has_any_number_of_connections() {
    let proxies = crate::TrustedProxies { networks: vec!["127.0.0.0/8".parse().unwrap()], ..Default::default() };
    let limits = Limits { connections_per_peer: Some(1), ..patient() };
    let server = Running::start(Server::plain(router()).limits(limits).trusting(&proxies)).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = server.connect().await;
        assert!(ask(&mut stream, GET_PEER).await.starts_with("HTTP/1.1 200 "));
        held.push(stream);
    }
}

/// As `ask` on a new connection that the server may close at any moment.
async fn try_ask(server: &Running) -> String {
    let mut stream = server.connect().await;
    match stream.write_all(GET_PEER.as_bytes()).await {
        Ok(()) => within(answer(&mut stream)).await,
        Err(_) => String::new(),
    }
}

#[tokio::test]
async fn a_refused_body_is_answered_even_to_a_client_that_sends_it_all_first() {
    let server = Running::plain(Limits::default()).await;
    for length in ["content-length: 4000000", "transfer-encoding: chunked"] {
        let mut stream = server.connect().await;
        let head = format!("POST /body HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let chunk = format!("{:x}\r\n{}\r\n", 4_000_000, " ".repeat(4_000_000));
        let body = if length.contains("chunked") { &chunk } else { &chunk[8..4_000_008] };
        stream.write_all(body.as_bytes()).await.unwrap();
        let answer = within(answer(&mut stream)).await;
        assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("body_too_large"), "{length}: {answer}");
    }
}

#[tokio::test]
async fn a_head_too_large_is_refused() {
    let server = Running::plain(Limits { header_bytes: 16 * 1024, ..Limits::default() }).await;
    let mut stream = server.connect().await;
    let fits = format!("GET /peer HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "x".repeat(8_000));
    assert!(ask(&mut stream, &fits).await.starts_with("HTTP/1.1 200 "));
    let large = format!("GET /peer HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(40_000));
    let answer = ask(&mut stream, &large).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");

    let mut stream = server.connect().await;
    let many = format!("GET /peer HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(200));
    assert!(ask(&mut stream, &many).await.starts_with("HTTP/1.1 431 "));
}

/// Each is answered as its door answers, and is the last of its connection.
#[tokio::test]
async fn a_request_that_does_not_say_which_host_it_is_for_is_refused() {
    let server = Running::plain(Limits::default()).await;
    for hosts in ["", "host: a.example\r\nhost: a.example\r\n", "host: a b\r\n"] {
        let mut stream = server.connect().await;
        let answer = ask(&mut stream, &format!("GET /peer HTTP/1.1\r\n{hosts}\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{hosts:?}: {answer}");
        assert!(answer.contains("invalid_request") && answer.contains("connection: close"), "{hosts:?}: {answer}");
        assert!(answer.contains("Host"), "{hosts:?}: {answer}");
    }
    let mut stream = server.connect().await;
    let answer = ask(&mut stream, "GET /peer HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200 "), "{answer}");
}
