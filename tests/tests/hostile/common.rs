//! A listener with limits that are soon reached.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use chancery_http::{Door, Edge, Limits, Server, account_for, finish};
use chancery_tests::{VERSION, World};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Long enough for anything that is going to happen at all.
pub(crate) const GENEROUS: Duration = Duration::from_secs(20);

/// Serves the doors of a world, until the test ends.
pub(crate) async fn serve(world: &World, limits: Limits, at_once: usize) -> SocketAddr {
    let door = Door { services: Arc::new(world.services.clone()), urls: world.urls.clone(), version: VERSION };
    let routes = chancery_reseller::router(door.clone())
        .merge(chancery_identity::router(door.clone()))
        .merge(chancery_acme::router(door.clone()));
    let acme = chancery_acme::wording(door.clone(), Arc::default());
    let edge = edge(at_once).wording(chancery_acme::ROOT, acme);
    serve_finished(finish(account_for(routes, door), edge), limits).await
}

pub(crate) async fn serve_router(router: Router, limits: Limits, at_once: usize) -> SocketAddr {
    serve_finished(finish(router, edge(at_once)), limits).await
}

fn edge(at_once: usize) -> Edge {
    Edge::new(Arc::new(|| "r".into())).at_most(at_once)
}

async fn serve_finished(router: Router, limits: Limits) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(Server::plain(router).limits(limits).serve(listener, std::future::pending()));
    address
}

/// Sends bytes, and reads everything until the other side closes.
pub(crate) async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = timeout(GENEROUS, stream.read_to_end(&mut answer)).await.expect("it ends");
    String::from_utf8_lossy(&answer).into_owned()
}

/// A request after whose answer the connection is closed.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: ca.test\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    [text.as_bytes(), b"\r\n", body].concat()
}

/// The status of an answer.
pub(crate) fn status(answer: &str) -> u16 {
    answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).and_then(|code| code.parse().ok()).unwrap_or(0)
}
