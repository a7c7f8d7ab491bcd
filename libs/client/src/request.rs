//! Requests, of every kind: those of the typed operations, and those that are meant to be refused.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde::Serialize;

use crate::path::Path;
use crate::query::Query;

/// A request that is sent as it is written, well formed or not. What cannot be written at all is found when it is
/// sent, as [`Error::Unsendable`](crate::Error::Unsendable).
///
/// Without more it has the client's token, no body and no headers but those that HTTP needs.
#[derive(Clone)]
pub struct RawRequest {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) authorized: bool,
    pub(crate) fault: Option<String>,
}

impl RawRequest {
    /// A request to a path and query below the client's base URL, percent-encoded already.
    pub fn new(method: Method, target: impl Into<String>) -> Self {
        let (target, headers) = (target.into(), HeaderMap::new());
        Self { method, target, headers, body: Bytes::new(), authorized: true, fault: None }
    }

    /// Adds a header field, beside any of the same name. `Authorization` takes the place of the client's own.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        match (HeaderName::try_from(name), HeaderValue::from_bytes(value.as_ref())) {
            (Ok(name), Ok(value)) => {
                self.headers.append(name, value);
                self
            }
            (Err(_), _) => self.fail(format!("{name:?} is no name of a header field")),
            (_, Err(_)) => self.fail(format!("the value for the header field {name} has control characters")),
        }
    }

    /// The body, of whatever kind; says nothing of its media type.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// The body as JSON, and its media type.
    pub fn json(mut self, body: &(impl Serialize + ?Sized)) -> Self {
        self.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match serde_json::to_vec(body) {
            Ok(body) => self.body(body),
            Err(error) => self.fail(format!("the body cannot be written as JSON: {error}")),
        }
    }

    /// Makes the server answer this request as it answered the first one under the same key.
    pub fn idempotency_key(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    /// Leaves out the client's token; none is fetched.
    pub fn without_token(mut self) -> Self {
        self.authorized = false;
        self
    }

    /// The request of a typed operation.
    pub(crate) fn call(method: Method, path: Path) -> Self {
        let request = match path.0 {
            Ok(path) => Self::new(method, path),
            Err(reason) => Self::new(method, "/").fail(reason.to_owned()),
        };
        request.header("accept", "application/json")
    }

    pub(crate) fn get(path: Path) -> Self {
        Self::call(Method::GET, path)
    }

    pub(crate) fn post(path: Path) -> Self {
        Self::call(Method::POST, path)
    }

    pub(crate) fn put(path: Path) -> Self {
        Self::call(Method::PUT, path)
    }

    pub(crate) fn patch(path: Path) -> Self {
        Self::call(Method::PATCH, path)
    }

    pub(crate) fn delete(path: Path) -> Self {
        Self::call(Method::DELETE, path)
    }

    /// Asks for another form of answer than JSON.
    pub(crate) fn accept(mut self, media_type: &'static str) -> Self {
        self.headers.insert(header::ACCEPT, HeaderValue::from_static(media_type));
        self
    }

    pub(crate) fn query(mut self, query: &Query) -> Self {
        self.target += &query.to_text();
        self
    }

    /// The first fault is the one that is told.
    fn fail(mut self, fault: String) -> Self {
        self.fault.get_or_insert(fault);
        self
    }
}
