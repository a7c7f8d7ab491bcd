//! Path parameters: always text that a store can hold.

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{FromRequestParts, Path, RawPathParams, Request};
use chancery_wire::ErrorCode;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// The parameters of the path, as axum's own `Path` gives them, but refused with our bodies; no value contains U+0000.
#[derive(Debug)]
pub struct StrictPath<T>(
    /// The parameters: a string, or a tuple or struct of several.
    pub T,
);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for StrictPath<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let refuse = || ApiError::bad_request(ErrorCode::InvalidRequest, "The path is not percent-encoded UTF-8 text.");
        let raw = RawPathParams::from_request_parts(parts, state).await.map_err(|_| refuse())?;
        if raw.iter().any(|(_, value)| value.contains('\0')) {
            return Err(refuse());
        }
        Path::from_request_parts(parts, state).await.map(|Path(value)| Self(value)).map_err(|_| refuse())
    }
}

/// The request, if what its path names is text. What is not, axum refuses in words of its own: doors that have others ask
/// here first, inside of the route that matched.
pub async fn with_readable_path(request: Request) -> Option<Request> {
    // Nothing else can stand for what is no text.
    if !request.uri().path().contains('%') {
        return Some(request);
    }
    let (mut parts, body) = request.into_parts();
    match RawPathParams::from_request_parts(&mut parts, &()).await {
        Err(RawPathParamsRejection::InvalidUtf8InPathParam(_)) => None,
        _ => Some(Request::from_parts(parts, body)),
    }
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, routing::get};
    use tower::ServiceExt;

    use super::*;

    async fn status(path: &str) -> u16 {
        let router = Router::new()
            .route("/a/{x}/{y}", get(|StrictPath((x, y)): StrictPath<(String, String)>| async move { x + &y }));
        let request = http::Request::builder().uri(path).body(Body::empty()).unwrap();
        router.oneshot(request).await.unwrap().status().as_u16()
    }

    #[tokio::test]
    async fn a_path_is_given_decoded_or_refused() {
        assert_eq!(status("/a/1/b%40c").await, 200);
        assert_eq!(status("/a/1/b%00c").await, 400);
        assert_eq!(status("/a/1/%ff").await, 400);
    }
}
