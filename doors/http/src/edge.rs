//! What stands around every router: names the exchange, catches what goes wrong, and leaves a trace of it.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc};

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use chancery_overload::ConcurrencyLimit;
use chancery_service::SPANS;
use chancery_wire::ErrorCode;
use futures_util::FutureExt;
use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version};
use http_body::Body as _;
use tracing::field::Empty;
use tracing::{Instrument, error, info_span, trace_span};

use crate::{
    access,
    begun::Begun,
    body::BodyLimits,
    error::{ApiError, RefusedBy},
    metrics,
    proxies::{Network, TrustedProxies},
    request_id::{RequestId, RequestIdSource, X_REQUEST_ID},
    security,
    server::{OverTls, PeerAddr, UnclearHost},
    unread::Unread,
};

/// W3C Trace Context: which trace the request belongs to, as its sender sees it.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What [`finish`] puts around a router.
#[derive(Clone)]
pub struct Edge {
    request_ids: RequestIdSource,
    body: BodyLimits,
    proxies: TrustedProxies,
    concurrency: Option<ConcurrencyLimit>,
    wordings: Vec<(&'static str, Wording)>,
    tracers: Vec<Network>,
    beginnings: &'static [&'static str],
}

/// Says a refusal in the way of one door, which may be asked before the request gets to it.
pub type Wording = Arc<dyn Fn(&Method, &Uri, ApiError) -> Response + Send + Sync>;

impl Edge {
    /// With the default limits for bodies.
    pub fn new(request_ids: RequestIdSource) -> Self {
        Self {
            request_ids,
            body: BodyLimits::default(),
            proxies: TrustedProxies::default(),
            concurrency: None,
            wordings: Vec::new(),
            tracers: Vec::new(),
            beginnings: &[],
        }
    }

    /// Replaces the limits for bodies.
    pub fn body_limits(mut self, limits: BodyLimits) -> Self {
        self.body = limits;
        self
    }

    /// Takes the trace of those who connect from these networks (`traceparent`) for that of the request.
    pub fn continuing_traces_of(mut self, networks: Vec<Network>) -> Self {
        self.tracers = networks;
        self
    }

    /// The header as it was sent, by somebody whose traces are continued. Two of them are none.
    fn traceparent(&self, peer: Option<&PeerAddr>, headers: &HeaderMap) -> Option<String> {
        let PeerAddr(peer) = peer?;
        let mut sent = headers.get_all(TRACEPARENT).iter();
        let header = sent.next().filter(|_| self.tracers.iter().any(|network| network.contains(peer.ip())))?;
        header.to_str().ok().filter(|_| sent.next().is_none()).map(str::to_owned)
    }

    /// Limits the requests in flight, in total and for each tenant.
    pub fn at_most(mut self, requests: usize) -> Self {
        self.concurrency = Some(ConcurrencyLimit::new(requests));
        self
    }

    /// Says refusals of requests for what is below a path in its door's own way.
    pub fn wording(mut self, below: &'static str, wording: Wording) -> Self {
        self.wordings.push((below, wording));
        self
    }

    fn refuse(&self, method: &Method, uri: &Uri, error: ApiError) -> Response {
        let below =
            |path: &str| uri.path().strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        match self.wordings.iter().find(|(path, _)| below(path)) {
            Some((_, wording)) => wording(method, uri, error),
            None => error.into_response(),
        }
    }

    /// Routes where a POST begins something that more requests follow: they are the first to be turned away.
    pub fn beginning_at(mut self, routes: &'static [&'static str]) -> Self {
        self.beginnings = routes;
        self
    }

    /// Believes these proxies when they say whose request they pass on.
    pub fn trusting(mut self, proxies: TrustedProxies) -> Self {
        self.proxies = proxies;
        self
    }
}

/// Finishes a router, as the last thing that is done to it. From then on every response carries `X-Request-Id` and the
/// security headers; an unknown path (404), a wrong method (405, with `Allow`) and a panic (500) are answered with an
/// `ErrorResponse`; every request is counted, timed and logged once.
pub fn finish(router: Router, edge: Edge) -> Router {
    router
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        // Applied to each route, so the route that matched is known inside.
        .layer(middleware::from_fn_with_state(Arc::new(edge), around))
}

async fn around(State(edge): State<Arc<Edge>>, mut request: Request, next: Next) -> Response {
    let id = RequestId::of(request.headers(), &edge.request_ids);
    let peer = request.extensions().get::<PeerAddr>();
    let traceparent = edge.traceparent(peer, request.headers());
    let peer = peer.map(|PeerAddr(peer)| PeerAddr(edge.proxies.client(*peer, request.headers())));
    let extensions = request.extensions_mut();
    if let Some(peer) = peer {
        extensions.insert(peer);
    }
    extensions.insert(id.clone());
    extensions.insert(edge.body);
    let tls = extensions.get::<OverTls>().is_some();
    let unclear = extensions.get::<UnclearHost>().copied();
    let route = extensions.get::<MatchedPath>().cloned();
    let method = metrics::method_label(request.method());
    let route = route.as_ref().map_or(metrics::UNMATCHED, MatchedPath::as_str);
    let starts_work = request.method() == Method::POST && edge.beginnings.contains(&route);
    let from = peer.map(|PeerAddr(peer)| peer.ip());
    let permit = match unclear {
        Some(UnclearHost(why)) => Err(ApiError::bad_request(ErrorCode::InvalidRequest, why)),
        None => edge
            .concurrency
            .as_ref()
            .map(|limit| limit.admit(from, starts_work))
            .transpose()
            .map_err(ApiError::overloaded),
    };
    if let Ok(Some(permit)) = &permit {
        request.extensions_mut().insert(permit.clone());
    }
    let response_permit = permit.as_ref().ok().and_then(|permit| Some(permit.as_ref()?.response()));
    let read = (request.method() == Method::GET).then(|| request.uri().clone());

    let span = info_span!("request", request_id = %id);
    let traced = trace_span!(
        target: SPANS, parent: None, "http.request", traceparent, method, route, status = Empty, request_id = %id
    );
    let whole = traced.clone();
    // Whatever follows a body in chunks, a proxy may have taken for a part of it (RFC 9112 sections 6.1 and 11.2), and whatever
    // follows another host's request for that host's: nothing more is read from the connection.
    let chunked = request.headers().contains_key(TRANSFER_ENCODING);
    let doubtful = request.version() < Version::HTTP_2 && (chunked || unclear.is_some());
    let unread = if doubtful { None } else { Unread::of(&mut request) };
    let answer = async {
        let watch = metrics::Watch::start();
        let answered = async {
            match permit {
                Ok(_permit) => next.run(request).await,
                Err(refusal) => edge.refuse(request.method(), request.uri(), refusal),
            }
        };
        let mut response = match AssertUnwindSafe(answered).catch_unwind().await {
            Ok(response) => response,
            Err(panic) => {
                error!(request_id = %id, method, route, panic = panic_message(&*panic), "a handler panicked");
                ApiError::internal().into_response()
            }
        };
        if let (Some(limit), Some(Begun(took))) = (&edge.concurrency, response.extensions().get()) {
            limit.observe(*took);
        }
        if let Some(permit) = response_permit {
            // A streamed body has no length; `downloads-at-a-time` bounds those.
            let bytes = response.body().size_hint().exact().unwrap_or(0);
            match &read {
                Some(uri) => {
                    if let Err(limit) = permit.reserve_unsent(bytes) {
                        response = edge.refuse(&Method::GET, uri, ApiError::overloaded(limit));
                    }
                }
                None => permit.count_unsent(bytes),
            }
            // Until the response has been sent.
            response.extensions_mut().insert(permit);
        }
        let limit = response.extensions().get().map(|RefusedBy(limit)| *limit);
        if let Some(limit) = limit {
            limit.count_refusal();
        }
        security::apply(response.headers_mut(), tls);
        response.headers_mut().insert(X_REQUEST_ID, id.header_value());
        traced.record("status", response.status().as_u16());
        let took = watch.stop(method, route, response.status());
        access::log(method, route, response.status(), limit, took, &id, peer);
        // After the log: a client that goes away meanwhile is in it all the same.
        let last = match unread {
            Some(unread) => unread.remains().await,
            None => doubtful,
        };
        if last {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    };
    id.scope(answer.instrument(whole).instrument(span)).await
}

async fn no_such_path() -> ApiError {
    ApiError::not_found(ErrorCode::NotFound, "There is nothing at this path.")
}

async fn no_such_method(method: Method) -> ApiError {
    let message = format!("This path does not take {method}; the header Allow lists what it takes.");
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, ErrorCode::MethodNotAllowed, message)
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("not a text")
}

#[cfg(test)]
mod tests {
    use axum::{
        body::Body,
        routing::{get, post},
    };
    use chancery_domain::ResellerId;
    use chancery_overload::{Limit, RequestPermit};
    use http_body_util::BodyExt;
    use serde_json::{Value, json};
    use tower::ServiceExt;

    use super::*;
    use crate::JsonBody;

    fn router() -> Router {
        let router = Router::new()
            .route("/ok", get(|id: axum::Extension<RequestId>| async move { id.as_str().to_owned() }))
            .route("/cached", get(|| async { ([("cache-control", "max-age=60")], "x") }))
            .route(
                "/panic",
                get(|| async {
                    if true {
                        panic!("the secret is 42")
                    }
                }),
            )
            .route("/body", post(|body: JsonBody<Vec<u8>>| async move { body.read(Ok) }));
        finish(router, Edge::new(Arc::new(|| "fresh".into())))
    }

    async fn send(method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap, String) {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = router().oneshot(request.body(Body::from("{")).unwrap()).await.unwrap();
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (head.status.as_u16(), head.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    fn json(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[tokio::test]
    async fn an_unknown_path_is_an_error_response() {
        let (status, headers, body) = send("GET", "/nope?token=secret", &[]).await;
        assert_eq!(status, 404);
        assert_eq!(headers["x-request-id"], "fresh");
        let expected = json!({"status": 404, "code": "not_found", "message": "There is nothing at this path.", "requestId": "fresh"});
        assert_eq!(json(&body), expected);
    }

    #[tokio::test]
    async fn a_wrong_method_is_an_error_response_with_allow() {
        let (status, headers, body) = send("DELETE", "/ok", &[]).await;
        assert_eq!((status, headers["allow"].to_str().unwrap()), (405, "GET,HEAD"));
        assert_eq!((&json(&body)["code"], &json(&body)["requestId"]), (&json!("method_not_allowed"), &json!("fresh")));
        let (status, headers, body) = send("HEAD", "/body", &[]).await;
        assert_eq!((status, headers["allow"].to_str().unwrap(), body.as_str()), (405, "POST", ""));
    }

    #[tokio::test]
    async fn a_panic_is_an_error_response_without_detail() {
        let (status, headers, body) = send("GET", "/panic", &[("x-request-id", "r-1")]).await;
        assert_eq!((status, headers["x-request-id"].to_str().unwrap()), (500, "r-1"));
        assert_eq!((&json(&body)["code"], &json(&body)["requestId"]), (&json!("internal_error"), &json!("r-1")));
        assert!(!body.contains("42"), "{body}");
    }

    #[tokio::test]
    async fn a_refusal_of_an_extractor_knows_the_request_id() {
        let (status, _, body) =
            send("POST", "/body", &[("content-type", "application/json"), ("x-request-id", "r-2")]).await;
        assert_eq!((status, &json(&body)["requestId"]), (400, &json!("r-2")));
        let (status, _, body) = send("POST", "/body", &[("content-type", "text/html")]).await;
        assert_eq!((status, &json(&body)["code"]), (415, &json!("unsupported_media_type")));
    }

    #[tokio::test]
    async fn the_request_id_is_taken_given_back_and_shown_to_handlers() {
        let (_, headers, body) = send("GET", "/ok", &[("x-request-id", "mine_1.2")]).await;
        assert_eq!((headers["x-request-id"].to_str().unwrap(), body.as_str()), ("mine_1.2", "mine_1.2"));
        let (_, headers, body) = send("GET", "/ok", &[("x-request-id", "not/mine")]).await;
        assert_eq!((headers["x-request-id"].to_str().unwrap(), body.as_str()), ("fresh", "fresh"));
    }

    #[tokio::test]
    async fn it_is_learnt_how_long_it_takes_to_begin_something() {
        let begin = || async { Begun::by(async { Ok::<_, ApiError>(()) }).await.map(|((), begun)| (begun, "x")) };
        let router = Router::new().route("/begin", post(begin)).route("/other", post(|| async { "x" }));
        let edge = Edge::new(Arc::new(|| "fresh".into())).at_most(100);
        let concurrency = edge.concurrency.clone().unwrap();
        let router = finish(router, edge);
        for (path, learnt) in [("/other", false), ("/begin", true)] {
            let request = http::Request::post(path).body(Body::empty()).unwrap();
            assert_eq!(router.clone().oneshot(request).await.unwrap().status(), 200);
            assert_eq!(concurrency.is_adjusted(), learnt, "{path}");
        }
    }

    #[tokio::test]
    async fn a_place_is_taken_until_the_answer_has_been() {
        let router =
            finish(Router::new().route("/x", get(|| async { "x" })), Edge::new(Arc::new(|| "fresh".into())).at_most(1));
        let ask = async || {
            let request = http::Request::get("/x").body(Body::empty()).unwrap();
            router.clone().oneshot(request).await.unwrap()
        };
        let first = ask().await;
        assert_eq!((first.status().as_u16(), ask().await.status().as_u16()), (200, 503));
        drop(first);
        assert_eq!(ask().await.status(), 200);
    }

    /// 5 MiB to read, or as the response to a change, for one reseller.
    async fn page(permit: axum::Extension<Arc<RequestPermit>>) -> Result<String, ApiError> {
        let reseller: ResellerId = "rsl_01hzz8f1x7e6k9qw3n5v2c4b6d".parse().unwrap();
        permit.assign(reseller).map_err(ApiError::overloaded)?;
        Ok("x".repeat(5 * 1024 * 1024))
    }

    #[tokio::test]
    async fn unread_responses_to_a_reseller_are_bounded_and_a_change_is_answered() {
        let wording: Wording = Arc::new(|_, _, error: ApiError| (error.status(), "in other words").into_response());
        let edge = Edge::new(Arc::new(|| "fresh".into())).at_most(100).wording("/worded", wording);
        let router = Router::new().route("/page", get(page).post(page)).route("/worded/page", get(page));
        let router = finish(router, edge);
        let ask = async |method: &str, path: &str| {
            let request = http::Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
            router.clone().oneshot(request).await.unwrap()
        };
        let text = async |response: Response| {
            let body = response.into_body().collect().await.unwrap().to_bytes();
            String::from_utf8(body.to_vec()).unwrap()
        };
        let mut unread = Vec::new();
        for _ in 0..6 {
            unread.push(ask("GET", "/page").await);
        }
        assert!(unread.iter().all(|response| response.status() == 200));

        let refused = ask("GET", "/page").await;
        assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (503, "1"));
        assert_eq!(refused.extensions().get::<RefusedBy>(), Some(&RefusedBy(Limit::UnsentResponses)));
        assert_eq!(json(&text(refused).await)["limit"], "unsent-responses");
        let refused = ask("GET", "/worded/page").await;
        assert_eq!((refused.status().as_u16(), text(refused).await.as_str()), (503, "in other words"));

        unread.push(ask("POST", "/page").await);
        assert_eq!(unread[6].status(), 200, "the change is made, and must be answered");
        assert_eq!(ask("POST", "/page").await.status(), 503, "the next one is refused before it is made");
        unread.pop();
        assert_eq!(ask("POST", "/page").await.status(), 200);
        unread.pop();
        assert_eq!(ask("GET", "/page").await.status(), 200);
    }

    #[tokio::test]
    async fn an_answer_to_a_body_that_has_not_come_is_the_last_of_its_connection() {
        let connection = async |method: &str, path: &str, version: Version, body: Body| {
            let request = http::Request::builder().method(method).uri(path).version(version).body(body).unwrap();
            router().oneshot(request).await.unwrap().headers().get(CONNECTION).cloned()
        };
        let never = || Body::from_stream(futures_util::stream::pending::<Result<bytes::Bytes, std::io::Error>>());
        // An unknown path, a wrong method, a wrong media type, a panic.
        for (method, path) in [("POST", "/nope"), ("DELETE", "/ok"), ("POST", "/body"), ("GET", "/panic")] {
            assert_eq!(connection(method, path, Version::HTTP_11, never()).await.unwrap(), "close", "{path}");
            assert_eq!(connection(method, path, Version::HTTP_11, Body::from("{")).await, None, "{path}");
            assert_eq!(connection(method, path, Version::HTTP_11, Body::empty()).await, None, "{path}");
            assert_eq!(connection(method, path, Version::HTTP_2, never()).await, None, "{path}");
        }
    }

    #[tokio::test]
    async fn every_response_has_the_security_headers() {
        for path in ["/ok", "/nope", "/panic", "/body"] {
            let (_, headers, _) = send("GET", path, &[]).await;
            assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
            assert_eq!(headers["referrer-policy"], "no-referrer");
            assert_eq!(headers["cache-control"], "no-store");
            assert!(!headers.contains_key("strict-transport-security"));
        }
        assert_eq!(send("GET", "/cached", &[]).await.1["cache-control"], "max-age=60");
    }

    #[test]
    fn a_trace_is_continued_of_those_alone_who_are_named() {
        let edge = Edge::new(Arc::new(|| "fresh".into()))
            .continuing_traces_of(vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()]);
        let told = |peer: &str, headers: &[&'static str]| {
            let mut map = HeaderMap::new();
            for text in headers {
                map.append(TRACEPARENT, HeaderValue::from_static(text));
            }
            edge.traceparent(Some(&PeerAddr(peer.parse().unwrap())), &map)
        };
        assert_eq!(told("10.1.2.3:1", &["00-a"]).as_deref(), Some("00-a"));
        assert_eq!(told("[fd00::1]:1", &["00-a"]).as_deref(), Some("00-a"));
        assert_eq!(told("192.0.2.1:1", &["00-a"]), None);
        assert_eq!(told("10.1.2.3:1", &["00-a", "00-b"]), None);
        assert_eq!(told("10.1.2.3:1", &[]), None);
        assert_eq!(edge.traceparent(None, &HeaderMap::new()), None);
    }

    #[tokio::test]
    async fn strict_transport_security_is_sent_over_tls_only() {
        let request = http::Request::builder().uri("/ok").extension(OverTls).body(Body::empty()).unwrap();
        let response = router().oneshot(request).await.unwrap();
        assert_eq!(response.headers()["strict-transport-security"], "max-age=31536000");
    }
}
