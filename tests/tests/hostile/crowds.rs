//! Very many connections.

use std::time::{Duration, Instant};

use chancery_http::Limits;
use chancery_tests::World;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::{exchange, request, serve, status};

/// Those that were let in and say nothing are cut off, those beyond the limit at once; then everybody is served again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_of_silent_connections_passes() {
    let world = World::sqlite().await;
    let short = Duration::from_secs(1);
    let limits = Limits { connections: 200, header_read: short, idle: short, ..Limits::default() };
    let address = serve(&world, limits, 100).await;
    let mut crowd = Vec::new();
    for number in 0..800 {
        let Ok(mut stream) = TcpStream::connect(address).await else { continue };
        // Some half a request, some nothing at all.
        if number % 2 == 0 {
            let _ = stream.write_all(b"GET /v1/version HTTP/1.1\r\nhost: ca.t").await;
        }
        crowd.push(stream);
    }
    let began = Instant::now();
    loop {
        let answer = exchange(address, &request("GET", "/v1/version", &[], b"")).await;
        if status(&answer) == 200 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(15), "the crowd still holds the server");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // Every one of them was let go, whatever it said.
    for mut stream in crowd {
        let mut rest = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(15), stream.read_to_end(&mut rest)).await;
        assert!(read.is_ok(), "a connection is still open");
        assert!(!rest.starts_with(b"HTTP/1.1 2"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_cannot_have_all_connections() {
    let world = World::sqlite().await;
    let limits = Limits { connections: 100, connections_per_peer: Some(5), ..Limits::default() };
    let address = serve(&world, limits, 100).await;
    let mut held = Vec::new();
    for _ in 0..5 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET").await.unwrap();
        held.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(status(&exchange(address, &request("GET", "/v1/version", &[], b"")).await), 0);
    let elsewhere = tokio::net::TcpSocket::new_v4().unwrap();
    elsewhere.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut elsewhere = elsewhere.connect(address).await.unwrap();
    elsewhere.write_all(&request("GET", "/v1/version", &[], b"")).await.unwrap();
    let mut answer = String::new();
    elsewhere.read_to_string(&mut answer).await.unwrap();
    assert_eq!(status(&answer), 200);
}
