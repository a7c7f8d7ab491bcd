//! An OpenID provider's key endpoint, as good or bad as a test wants it.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use chancery_idp::{FetchLimits, JwksFetcher};
use chancery_jose::{Algorithm, JwkSet, PublishedKey, SigningKey};
use chancery_service::identity::KeySource;
use http::{Request, Response, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// Every outcome is fetched anew, and what hangs is soon given up.
pub(crate) const EAGER: FetchLimits = FetchLimits {
    timeout: Duration::from_secs(5),
    body: 4096,
    min_interval: Duration::ZERO,
    interval: Duration::from_millis(20),
};

/// What the provider does with a request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// A 200 with this body.
    Body(Vec<u8>),
    /// A 200 with this body, without saying how long it will be.
    Chunked(Vec<u8>),
    /// Another status; a redirection leads to `/elsewhere`.
    Status(u16),
    /// This body, after a while.
    Late(Duration, Vec<u8>),
    /// A byte now and then, for ever.
    Trickle(Duration),
}

pub(crate) struct Provider {
    port: u16,
    answer: Arc<Mutex<Answer>>,
    requests: Arc<AtomicUsize>,
    last: Arc<Mutex<String>>,
    serving: JoinHandle<()>,
}

impl Provider {
    pub(crate) async fn start(answer: Answer) -> Self {
        Self::listen(answer, None).await
    }

    pub(crate) async fn start_tls(answer: Answer, tls: TlsAcceptor) -> Self {
        Self::listen(answer, Some(tls)).await
    }

    async fn listen(answer: Answer, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (answer, requests, last) = (Arc::new(Mutex::new(answer)), Arc::default(), Arc::default());
        let serving = tokio::spawn(serve(listener, tls, answer.clone(), Arc::clone(&requests), Arc::clone(&last)));
        Self { port, answer, requests, last, serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/keys", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn answers(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    /// How many requests it got, whatever became of them.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// The target and `Host` of the last request.
    pub(crate) fn last_request(&self) -> String {
        self.last.lock().unwrap().clone()
    }

    /// Stops listening and cuts all connections.
    pub(crate) async fn stop(self) {
        self.serving.abort();
        self.serving.await.unwrap_err();
    }
}

/// A set with one new key of this name.
pub(crate) fn key_set(kid: &str) -> Vec<u8> {
    let key = PublishedKey::for_signatures(kid, Algorithm::ES256, SigningKey::generate().unwrap().public().clone());
    JwkSet { keys: vec![key] }.to_value().to_string().into_bytes()
}

pub(crate) fn keys(kid: &str) -> Answer {
    Answer::Body(key_set(kid))
}

pub(crate) fn fetcher(url: &str, limits: FetchLimits) -> JwksFetcher {
    JwksFetcher::new(url, None, limits).unwrap_or_else(|error| panic!("{url}: {error}"))
}

/// The names of the keys that the fetcher has; none if it never got any.
pub(crate) fn kids(fetcher: &JwksFetcher) -> Option<Vec<String>> {
    let name = |key: &PublishedKey| key.kid.clone().unwrap();
    fetcher.keys().map(|set| set.keys.iter().map(name).collect())
}

async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    answer: Arc<Mutex<Answer>>,
    requests: Arc<AtomicUsize>,
    last: Arc<Mutex<String>>,
) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (answer, requests, last, tls) = (answer.clone(), requests.clone(), last.clone(), tls.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            requests.fetch_add(1, Ordering::SeqCst);
            let host = request.headers().get(header::HOST).map_or("", |host| host.to_str().unwrap());
            *last.lock().unwrap() = format!("{} {host}", request.uri());
            respond(answer.lock().unwrap().clone())
        });
        connections.spawn(async move {
            let _ = match tls {
                None => http1::Builder::new().serve_connection(TokioIo::new(stream), service).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => http1::Builder::new().serve_connection(TokioIo::new(stream), service).await,
                    Err(_) => Ok(()),
                },
            };
        });
    }
}

async fn respond(answer: Answer) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
    let full = |body: Vec<u8>| Full::new(Bytes::from(body)).boxed_unsync();
    Ok(match answer {
        Answer::Body(body) => Response::new(full(body)),
        Answer::Chunked(body) => {
            let frame = Ok::<_, Infallible>(Frame::data(Bytes::from(body)));
            Response::new(StreamBody::new(futures_util::stream::iter([frame])).boxed_unsync())
        }
        Answer::Status(status) => {
            let response = Response::builder().status(status).header(header::LOCATION, "/elsewhere");
            response.body(full(key_set("unwanted"))).unwrap()
        }
        Answer::Late(delay, body) => {
            tokio::time::sleep(delay).await;
            Response::new(full(body))
        }
        Answer::Trickle(pause) => {
            let bytes = futures_util::stream::unfold((), move |()| async move {
                tokio::time::sleep(pause).await;
                Some((Ok::<_, Infallible>(Frame::data(Bytes::from_static(b" "))), ()))
            });
            Response::new(StreamBody::new(bytes).boxed_unsync())
        }
    })
}
