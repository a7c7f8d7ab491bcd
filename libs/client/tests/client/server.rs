//! The server that the client is tested against.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use chancery_client::{Client, ClientBuilder, ClientCredentials};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    /// Path and query, as they stood in the request.
    pub(crate) target: String,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Method and target.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }
}

/// An answer to give.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    body: Bytes,
    never: bool,
}

impl Answer {
    pub(crate) fn json(status: u16, body: Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json")],
            body: body.to_string().into(),
            never: false,
        }
    }

    pub(crate) fn text(status: u16, body: &'static str) -> Self {
        Self { status, headers: vec![("content-type", "text/plain")], body: body.into(), never: false }
    }

    /// Takes the request and says nothing.
    pub(crate) fn never() -> Self {
        Self { never: true, ..Self::text(200, "") }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// Listens until it is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _task: JoinSet<()>,
}

impl Server {
    pub(crate) async fn start(answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        Self::listen(None, answer).await
    }

    pub(crate) async fn listen(
        tls: Option<TlsAcceptor>,
        answer: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = if tls.is_some() { format!("https://localhost:{port}") } else { format!("http://127.0.0.1:{port}") };
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (remembered, answer) = (seen.clone(), Arc::new(answer));
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (tls, remembered, answer) = (tls.clone(), remembered.clone(), answer.clone());
                connections.spawn(async move {
                    let service = service_fn(move |request| respond(request, remembered.clone(), answer.clone()));
                    let builder = auto::Builder::new(TokioExecutor::new());
                    // A client that goes away, or that does not trust us, is a part of some tests.
                    let _ = match tls {
                        None => builder.serve_connection(TokioIo::new(stream), service).await,
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else { return };
                            builder.serve_connection(TokioIo::new(stream), service).await
                        }
                    };
                });
            }
        });
        Self { url, seen, _task: task }
    }

    /// All requests, in the order of their arrival.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Methods and targets of all requests.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().iter().map(Seen::line).collect()
    }

    /// A client with a token that it need not fetch.
    pub(crate) fn client(&self) -> Client {
        Client::builder(&self.url).token("t").build().unwrap()
    }

    /// A client that fetches its token here.
    pub(crate) fn with_credentials(&self) -> ClientBuilder {
        Client::builder(&self.url).credentials(ClientCredentials {
            client_id: "id".to_owned(),
            client_secret: "geheim".to_owned(),
            audience: "api".to_owned(),
            auth_url: format!("{}/", self.url),
        })
    }
}

type Answering = Arc<dyn Fn(&Seen) -> Answer + Send + Sync>;

async fn respond(
    request: Request<Incoming>,
    remembered: Arc<Mutex<Vec<Seen>>>,
    answer: Answering,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let seen = Seen {
        method: head.method,
        target: head.uri.path_and_query().unwrap().to_string(),
        version: head.version,
        headers: head.headers,
        body: body.collect().await.unwrap().to_bytes(),
    };
    let answer = answer(&seen);
    remembered.lock().unwrap().push(seen);
    if answer.never {
        std::future::pending::<()>().await;
    }
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap();
    for (name, value) in answer.headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// An account as the server would show it.
pub(crate) fn account(lookup: &str) -> Value {
    json!({
        "lookup": lookup, "id": 7, "kid": "0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f", "resellerCode": "DEMO",
        "email": "a@example.com", "revoked": false, "deleted": false, "suspended": false, "status": "active",
        "parent": null, "boundAccounts": [], "createdAt": "2026-11-15T00:00:00Z", "updatedAt": "2026-11-15T00:00:00Z",
    })
}

/// The same with more members, or others.
pub(crate) fn merged(mut value: Value, more: Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}
