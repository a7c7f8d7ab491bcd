//! Bodies, bounded in size and time.

use std::time::Duration;

use axum::{body::Body, extract::Request};
use bytes::Bytes;
use chancery_overload::Limit;
use chancery_wire::ErrorCode;
use http::{HeaderMap, StatusCode, header::CONTENT_ENCODING};
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::error::ApiError;

/// What a body may cost. Set for a router by [`crate::Edge`]; the default otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Most bytes; beyond it 413.
    pub max_bytes: usize,
    /// Longest time from the first read to the last byte; beyond it 408.
    pub time: Duration,
    /// Most levels of lists and objects inside each other; beyond it 400.
    pub max_depth: usize,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { max_bytes: 256 * 1024, time: Duration::from_secs(20), max_depth: 32 }
    }
}

/// The limits that hold for a request.
pub(crate) fn limits(request: &Request) -> BodyLimits {
    request.extensions().get().copied().unwrap_or_default()
}

/// Reads a whole body, of any media type, within its limits: 413 or 408 beyond them.
/// A body that is declared too large is refused without reading any of it.
pub async fn read_bounded(body: Body, limits: BodyLimits) -> Result<Bytes, ApiError> {
    if body.size_hint().lower() > limits.max_bytes as u64 {
        return Err(too_large(limits));
    }
    match tokio::time::timeout(limits.time, Limited::new(body, limits.max_bytes).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(limits)),
        Ok(Err(_)) => Err(ApiError::bad_request(ErrorCode::InvalidRequest, "The body broke off.")),
        Err(_) => Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            ErrorCode::RequestTimeout,
            "The body did not arrive in time.",
        )),
    }
}

/// Whether a body comes in another form than its own, such as compressed: that is not taken (415).
pub fn is_encoded(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).iter().any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

fn too_large(limits: BodyLimits) -> ApiError {
    let message = format!("The body is larger than {} bytes.", limits.max_bytes);
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::BodyTooLarge, message).with_limit(Limit::RequestBodyBytes)
}

#[cfg(test)]
mod tests {
    use axum::{extract::FromRequest, response::IntoResponse};
    use http::header::CONTENT_TYPE;
    use serde_json::Value;

    use super::*;
    use crate::JsonBody;

    async fn refusal(body: impl Into<Body>, limits: BodyLimits) -> (u16, Value) {
        let mut request = Request::new(body.into());
        request.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
        request.extensions_mut().insert(limits);
        let response = JsonBody::<Value>::from_request(request, &()).await.unwrap_err().into_response();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap())
    }

    #[tokio::test]
    async fn a_body_too_large_is_refused_whether_or_not_it_says_so() {
        let large = format!("{{\"name\": \"{}\"}}", "x".repeat(256 * 1024));
        let (status, body) = refusal(large.clone(), BodyLimits::default()).await;
        assert_eq!((status, body["code"].as_str()), (413, Some("body_too_large")));

        let chunks = large
            .into_bytes()
            .chunks(1000)
            .map(|c| Ok::<_, std::io::Error>(Bytes::copy_from_slice(c)))
            .collect::<Vec<_>>();
        let unsized_body = Body::from_stream(futures_util::stream::iter(chunks));
        assert_eq!(refusal(unsized_body, BodyLimits::default()).await.0, 413);
    }

    #[tokio::test]
    async fn a_body_that_says_it_is_too_large_is_not_read() {
        struct Unreadable;
        impl http_body::Body for Unreadable {
            type Data = Bytes;
            type Error = std::io::Error;
            fn poll_frame(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
                panic!("the body was read");
            }
            fn size_hint(&self) -> http_body::SizeHint {
                http_body::SizeHint::with_exact(256 * 1024 + 1)
            }
        }
        assert_eq!(refusal(Body::new(Unreadable), BodyLimits::default()).await.0, 413);
    }

    #[tokio::test]
    async fn a_body_that_never_ends_is_given_up() {
        let stuck = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let limits = BodyLimits { time: Duration::from_millis(20), ..BodyLimits::default() };
        let (status, body) = refusal(stuck, limits).await;
        assert_eq!((status, body["code"].as_str()), (408, Some("request_timeout")));
    }
}
