//! Behind a proxy that speaks the PROXY protocol.

use super::*;
use crate::TrustedProxies;

const LINE: &str = "PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\n";

fn server(trusted: &str) -> Server {
    let proxies = TrustedProxies { networks: vec![trusted.parse().unwrap()], announce: true, ..Default::default() };
    let limits = Limits { handshake: SMALL, ..Limits::default() };
    Server::plain(router()).limits(limits).trusting(&proxies)
}

/// Version 2, for 192.0.2.7:4711.
fn binary() -> Vec<u8> {
    let addresses = [192, 0, 2, 7, 198, 51, 100, 1, 0x12, 0x67, 0x01, 0xbb];
    [&b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c"[..], &addresses].concat()
}

#[tokio::test]
async fn the_client_is_the_one_that_the_proxy_names() {
    let server = Running::start(server("127.0.0.1")).await;
    for header in [LINE.as_bytes().to_vec(), binary()] {
        let mut stream = server.connect().await;
        stream.write_all(&header).await.unwrap();
        for _ in 0..2 {
            let answer = ask(&mut stream, GET_PEER).await;
            assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("192.0.2.7:4711"), "{answer}");
        }
    }
    // The proxy's own, as when it looks whether we are there.
    let mut stream = server.connect().await;
    stream.write_all(b"PROXY UNKNOWN\r\n").await.unwrap();
    let local = stream.local_addr().unwrap().to_string();
    assert!(ask(&mut stream, GET_PEER).await.ends_with(&local));
}

#[tokio::test]
async fn nobody_else_can_say_who_they_are() {
    let server = Running::start(server("192.0.2.0/24")).await;
    let mut stream = server.connect().await;
    let local = stream.local_addr().unwrap().to_string();
    assert!(ask(&mut stream, GET_PEER).await.ends_with(&local), "without it they are served as ever");
    for header in [LINE.as_bytes().to_vec(), binary()] {
        let mut stream = server.connect().await;
        stream.write_all(&header).await.unwrap();
        let _ = stream.write_all(GET_PEER.as_bytes()).await;
        let answer = closed(&mut stream).await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    }
}

#[tokio::test]
async fn a_proxy_that_does_not_say_it_right_is_not_served() {
    let server = Running::start(server("127.0.0.1")).await;
    let long = [&binary()[..14], &[0xff, 0xff], &[0; 8000]].concat();
    let endless = [b"PROXY UNKNOWN ".to_vec(), vec![b'x'; 8000]].concat();
    for bytes in [GET_PEER.as_bytes().to_vec(), b"PROXY TCP4 me you 1 2\r\n".to_vec(), long, endless] {
        let mut stream = server.connect().await;
        let _ = stream.write_all(&bytes).await;
        assert!(closed(&mut stream).await.is_empty());
    }
    // Half of it, and then nothing: cut when the time is over, or when the other side closes.
    let mut stream = server.connect().await;
    stream.write_all(&binary()[..20]).await.unwrap();
    assert!(closed(&mut stream).await.is_empty());
}

#[tokio::test]
async fn connections_are_counted_by_the_client_that_is_named() {
    let limited = server("127.0.0.1");
    let limits = Limits { connections_per_peer: Some(1), ..limited.limits };
    let server = Running::start(limited.limits(limits)).await;
    let mut first = server.connect().await;
    first.write_all(LINE.as_bytes()).await.unwrap();
    assert!(ask(&mut first, GET_PEER).await.starts_with("HTTP/1.1 200 "));
    let mut second = server.connect().await;
    second.write_all(LINE.as_bytes()).await.unwrap();
    assert!(closed(&mut second).await.is_empty(), "it has its share");
    let mut other = server.connect().await;
    other.write_all(LINE.replace("192.0.2.7", "192.0.2.8").as_bytes()).await.unwrap();
    assert!(ask(&mut other, GET_PEER).await.starts_with("HTTP/1.1 200 "));
}
