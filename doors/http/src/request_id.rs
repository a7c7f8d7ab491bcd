//! One name for each exchange: in the response, in every log line, in the body of a refusal.

use std::{fmt, future::Future, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header that carries the request id, both ways.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest request id that is taken from a request.
const MAX_LENGTH: usize = 128;

/// Draws a fresh request id; injected, so that tests can foresee what it draws.
/// What it draws must itself be well formed: see [`RequestId::parse`].
pub type RequestIdSource = Arc<dyn Fn() -> String + Send + Sync>;

tokio::task_local! {
    static CURRENT: RequestId;
}

/// The name of one exchange: 1 to 128 characters of `[A-Za-z0-9._-]`, so it is safe in headers, logs and bodies.
/// Handlers find it in the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Takes a text that is well formed, and no other.
    pub fn parse(text: &str) -> Option<Self> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        ((1..=MAX_LENGTH).contains(&text.len()) && text.bytes().all(good)).then(|| Self(text.into()))
    }

    /// The id of the exchange that the running task is answering, if it is answering one.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The client's id when it sent exactly one that is well formed, else a fresh one.
    pub(crate) fn of(headers: &HeaderMap, fresh: &RequestIdSource) -> Self {
        let mut sent = headers.get_all(X_REQUEST_ID).iter();
        let one = sent.next().filter(|_| sent.next().is_none());
        one.and_then(|value| Self::parse(value.to_str().ok()?))
            .unwrap_or_else(|| Self::parse(&fresh()).unwrap_or_else(|| Self("unknown".into())))
    }

    /// Runs a future in which [`RequestId::current`] is this id.
    pub(crate) fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self.clone(), future)
    }

    pub(crate) fn header_value(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("a request id has only characters that a header takes")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sent: &[&str]) -> String {
        let fresh: RequestIdSource = Arc::new(|| "fresh-1".into());
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(X_REQUEST_ID, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        RequestId::of(&headers, &fresh).to_string()
    }

    #[test]
    fn a_well_formed_id_is_taken_from_the_request() {
        assert_eq!(of(&["aZ09._-"]), "aZ09._-");
        assert_eq!(of(&[&"x".repeat(128)]), "x".repeat(128));
    }

    #[test]
    fn any_other_id_is_replaced_by_a_fresh_one() {
        for bad in ["", "a b", "a\tb", "é", "a/b", "{}", &"x".repeat(129)] {
            assert_eq!(of(&[bad]), "fresh-1", "{bad:?}");
        }
        assert_eq!(of(&[]), "fresh-1");
        assert_eq!(of(&["one", "two"]), "fresh-1");
    }

    #[tokio::test]
    async fn the_current_id_is_known_inside_its_scope_only() {
        let id = RequestId::parse("r1").unwrap();
        assert_eq!(RequestId::current(), None);
        assert_eq!(id.scope(async { RequestId::current() }).await, Some(id));
        assert_eq!(RequestId::current(), None);
    }
}
