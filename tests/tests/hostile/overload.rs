//! More than a node can do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use chancery_http::{Authenticated, Door, Limits, account_for};
use chancery_tests::{Tenant, VERSION, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::common::{exchange, request, serve, serve_router, status};

/// A door whose every answer takes until it is told to be given.
fn slow(world: &World) -> (Router, Arc<Notify>) {
    let (door, go) = (
        Door { services: Arc::new(world.services.clone()), urls: world.urls.clone(), version: VERSION },
        Arc::new(Notify::new()),
    );
    let gate = go.clone();
    let wait = move |State(_): State<Door>, _caller: Authenticated| {
        let gate = gate.clone();
        async move {
            gate.notified().await;
            "done"
        }
    };
    let router = Router::new().route("/slow", get(wait)).route("/quick", get(|_: Authenticated| async { "quick" }));
    (account_for(router.with_state(door.clone()), door), go)
}

fn ask(tenant: &Tenant, path: &str) -> Vec<u8> {
    request("GET", path, &[("authorization", tenant.authorization.as_deref().unwrap())], b"")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_much_is_turned_away_at_once_and_what_is_under_way_ends_well() {
    let world = World::sqlite().await;
    let (router, go) = slow(&world);
    let tenants = [world.tenant("ONE").await, world.tenant("TWO").await, world.tenant("THREE").await];
    let address = serve_router(router, Limits::default(), 12).await;
    let mut under_way = JoinSet::new();
    for number in 0..300 {
        let bytes = ask(&tenants[number % 3], "/slow");
        under_way.spawn(async move {
            let began = Instant::now();
            (exchange(address, &bytes).await, began.elapsed())
        });
    }
    let mut turned_away = 0;
    // All but those that have a place are answered while nobody is let go.
    while under_way.len() > 12 {
        let (answer, took) = under_way.join_next().await.unwrap().unwrap();
        assert_eq!(status(&answer), 503, "{answer}");
        assert!(answer.contains("retry-after: 1") && answer.contains("\"unavailable\""), "{answer}");
        assert!(took < Duration::from_secs(10), "{took:?}");
        turned_away += 1;
    }
    assert!(turned_away >= 288);
    let releasing = tokio::spawn(async move {
        loop {
            go.notify_waiters();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut done = 0;
    while let Some(ended) = under_way.join_next().await {
        let (answer, _) = ended.unwrap();
        assert!(matches!(status(&answer), 200 | 503), "{answer}");
        done += usize::from(status(&answer) == 200);
    }
    releasing.abort();
    assert!((6..=12).contains(&done), "{done} were under way");
    let answer = exchange(address, &ask(&tenants[0], "/quick")).await;
    assert_eq!(status(&answer), 200, "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_noisy_reseller_starves_no_other() {
    let world = World::sqlite().await;
    let (router, go) = slow(&world);
    let (noisy, quiet) = (world.tenant("NOISY").await, world.tenant("QUIET").await);
    let address = serve_router(router, Limits::default(), 20).await;
    let mut storm = JoinSet::new();
    for _ in 0..200 {
        let bytes = ask(&noisy, "/slow");
        storm.spawn(async move { exchange(address, &bytes).await });
    }
    while storm.len() > 20 {
        assert_eq!(status(&storm.join_next().await.unwrap().unwrap()), 503);
    }
    for _ in 0..20 {
        let answer = exchange(address, &ask(&quiet, "/quick")).await;
        assert_eq!(status(&answer), 200, "{answer}");
    }
    let more = exchange(address, &ask(&noisy, "/quick")).await;
    assert_eq!(status(&more), 503, "the noisy one has its share");
    go.notify_waiters();
}

/// Each promises a body that does not come. They get half of the places, and others are served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_of_one_address_who_send_no_body_starve_nobody_elsewhere() {
    let world = World::sqlite().await;
    let address = serve(&world, Limits::default(), 20).await;
    let head = "POST /acme/TLS-90d/new-account HTTP/1.1\r\nhost: ca.test\r\n\
                content-type: application/jose+json\r\ncontent-length: 100\r\n\r\n";
    let mut held = Vec::new();
    for _ in 0..40 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        held.push(stream);
    }
    let mut refused = 0;
    for stream in &mut held {
        let mut start = [0; 12];
        let answered = tokio::time::timeout(Duration::from_millis(200), stream.read_exact(&mut start)).await;
        refused += usize::from(answered.is_ok() && &start == b"HTTP/1.1 503");
    }
    assert_eq!(refused, 29, "half of them and one have a place");
    for _ in 0..20 {
        let elsewhere = TcpSocket::new_v4().unwrap();
        elsewhere.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let mut elsewhere = elsewhere.connect(address).await.unwrap();
        elsewhere.write_all(&request("GET", "/v1/version", &[], b"")).await.unwrap();
        let mut answer = String::new();
        elsewhere.read_to_string(&mut answer).await.unwrap();
        assert_eq!(status(&answer), 200, "{answer}");
    }
}

/// RFC 8555 section 6.7, with all that stands around other answers of ACME.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_turned_away_at_the_acme_door_is_a_problem_document() {
    let world = World::sqlite().await;
    let address = serve(&world, Limits::default(), 1).await;
    let mut holder = TcpStream::connect(address).await.unwrap();
    let head = "POST /acme/TLS-90d/new-account HTTP/1.1\r\nhost: ca.test\r\n\
                content-type: application/jose+json\r\ncontent-length: 100\r\n\r\n";
    holder.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let headers = [("content-type", "application/jose+json")];
    let answer = exchange(address, &request("POST", "/acme/TLS-90d/new-order", &headers, b"{}")).await;
    assert_eq!(status(&answer), 503, "{answer}");
    for part in [
        "content-type: application/problem+json",
        "retry-after: 1",
        "replay-nonce: ",
        "/acme/TLS-90d/directory>;rel=\"index\"",
        "access-control-allow-origin: *",
        "\"type\":\"urn:ietf:params:acme:error:serverInternal\"",
        "\"status\":503",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    let elsewhere = exchange(address, &request("GET", "/v1/version", &[], b"")).await;
    assert!(
        elsewhere.contains("content-type: application/json") && elsewhere.contains("\"unavailable\""),
        "{elsewhere}"
    );
}
