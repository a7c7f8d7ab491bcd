//! The server as clients see it, over loopback. Limits are made small so that the tests are quick; waiting is generous.

mod bounds;
mod drain;
mod http2;
mod proxied;
mod slow;
mod tls;
mod unread;

use std::{sync::Arc, time::Duration};

use axum::{Extension, Router, routing::get};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

use super::*;
use crate::{BodyLimits, Edge, JsonBody, finish};

/// Long enough for anything that is going to happen at all.
const GENEROUS: Duration = Duration::from_secs(20);

const SMALL: Duration = Duration::from_millis(150);

struct Running {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    ended: JoinHandle<Drained>,
}

impl Running {
    async fn start(server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(server.serve(listener, async { drop(stopped.await) }));
        Self { address, stop: Some(stop), ended }
    }

    async fn plain(limits: Limits) -> Self {
        Self::start(Server::plain(router()).limits(limits)).await
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    async fn end(self) -> Drained {
        within(self.ended).await.unwrap()
    }
}

fn router() -> Router {
    let router = Router::new()
        .route("/peer", get(|Extension(PeerAddr(peer)): Extension<PeerAddr>| async move { peer.to_string() }))
        .route(
            "/panic",
            get(|| async {
                if true {
                    panic!("on purpose")
                }
            }),
        )
        .route("/body", axum::routing::post(|body: JsonBody<serde_json::Value>| async move { body.bytes }));
    let limits = BodyLimits { time: 2 * SMALL, ..BodyLimits::default() };
    finish(router, Edge::new(Arc::new(|| "fresh".into())).body_limits(limits))
}

async fn within<F: Future>(future: F) -> F::Output {
    timeout(GENEROUS, future).await.expect("it takes far too long")
}

const GET_PEER: &str = "GET /peer HTTP/1.1\r\nhost: x\r\n\r\n";

/// Sends a request on a connection that stays open, and reads the whole answer.
async fn ask(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    within(answer(stream)).await
}

/// Reads one answer with a Content-Length; what there is of it when the connection ends first.
async fn answer(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if length.is_some_and(|length| body.len() >= length.parse().unwrap()) {
                return text;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return text,
            Ok(read) => text.push_str(std::str::from_utf8(&buffer[..read]).unwrap()),
        }
    }
}

/// Reads until the other side closes or resets.
async fn closed(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let _ = within(stream.read_to_end(&mut all)).await;
    all
}

#[tokio::test]
async fn a_request_is_answered_and_the_connection_kept() {
    let server = Running::plain(Limits::default()).await;
    let mut stream = server.connect().await;
    let local = stream.local_addr().unwrap().to_string();
    for _ in 0..2 {
        let answer = ask(&mut stream, GET_PEER).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(&local), "{answer}");
    }
}

#[tokio::test]
async fn a_panic_costs_one_answer_and_nothing_more() {
    let server = Running::plain(Limits::default()).await;
    let mut stream = server.connect().await;
    let answer = ask(&mut stream, "GET /panic HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 500 ") && answer.contains("internal_error"), "{answer}");
    assert!(ask(&mut stream, GET_PEER).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn failures_to_accept_end_nothing() {
    struct Flaky(TcpListener, std::sync::atomic::AtomicU32);
    impl Accept for Flaky {
        async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
            const EMFILE: i32 = 24;
            match self.1.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0..3 => Err(io::Error::from_raw_os_error(EMFILE)),
                3 => Err(io::ErrorKind::ConnectionAborted.into()),
                _ => self.0.accept().await,
            }
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let flaky = Flaky(listener, Default::default());
    let serving = tokio::spawn(Server::plain(router()).serve_on(flaky, std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    assert!(ask(&mut stream, GET_PEER).await.starts_with("HTTP/1.1 200 "));
    serving.abort();
}
