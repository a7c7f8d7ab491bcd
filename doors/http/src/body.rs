//! JSON bodies: bounded in size, time and depth, and refused with every problem that is in them.

use std::time::Duration;

use axum::{
    body::Body,
    extract::{FromRequest, Request},
};
use bytes::Bytes;
use chancery_wire::{ErrorCode, FieldProblem};
use http::{
    HeaderMap, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::{
    document::{self, MAX_PROBLEMS, Malformed, code},
    error::ApiError,
};

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

/// The JSON body of a request, as `T`: a struct with `#[serde(deny_unknown_fields)]`.
///
/// Refused are a media type that is not JSON (415), a body too large (413) or too slow (408), text that is not JSON
/// (400 `malformed_json`, with the position), and anything that does not fit `T` (400 with all problems in `errors`).
/// No string in an accepted body contains U+0000.
#[derive(Debug)]
pub struct JsonBody<T> {
    /// What was sent.
    pub value: T,
    /// The bytes it was read from.
    pub bytes: Bytes,
}

/// As [`JsonBody`], where a request may also have no body, or an empty one.
#[derive(Debug)]
pub struct OptionalJsonBody<T> {
    /// What was sent, if anything was.
    pub value: Option<T>,
    /// The bytes it was read from.
    pub bytes: Bytes,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let limits = limits(&request);
        if request.body().is_end_stream() {
            return Err(empty());
        }
        require_json(request.headers())?;
        let bytes = read_bounded(request.into_body(), limits).await?;
        if bytes.is_empty() {
            return Err(empty());
        }
        Ok(Self { value: read_json(&bytes, limits)?, bytes })
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for OptionalJsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let limits = limits(&request);
        let (head, body) = request.into_parts();
        let bytes = read_bounded(body, limits).await?;
        if bytes.is_empty() {
            return Ok(Self { value: None, bytes });
        }
        require_json(&head.headers)?;
        Ok(Self { value: Some(read_json(&bytes, limits)?), bytes })
    }
}

fn limits(request: &Request) -> BodyLimits {
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

fn too_large(limits: BodyLimits) -> ApiError {
    let message = format!("The body is larger than {} bytes.", limits.max_bytes);
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::BodyTooLarge, message)
}

fn empty() -> ApiError {
    ApiError::bad_request(ErrorCode::InvalidRequest, "The body is empty; this operation needs a JSON object.")
}

/// `application/json`, or a type that is built on it (RFC 6839, section 3.1), in UTF-8 and not compressed.
fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let refuse =
        |message| Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorCode::UnsupportedMediaType, message));
    if headers.get_all(CONTENT_ENCODING).iter().any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return refuse("Send the body without Content-Encoding.");
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    match (types.next().and_then(|value| value.to_str().ok()), types.next()) {
        (Some(media_type), None) if is_json(media_type) => Ok(()),
        _ => refuse("Send the body as JSON, with Content-Type: application/json."),
    }
}

fn is_json(media_type: &str) -> bool {
    let mut parts = media_type.split(';');
    let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let json = essence
        .strip_prefix("application/")
        .is_some_and(|subtype| subtype == "json" || subtype.strip_suffix("+json").is_some_and(|name| !name.is_empty()));
    json && parts.all(|parameter| match parameter.trim().split_once('=') {
        Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
            value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    })
}

fn read_json<T: DeserializeOwned>(text: &[u8], limits: BodyLimits) -> Result<T, ApiError> {
    let parsed = document::parse(text, limits.max_depth).map_err(malformed)?;
    document::read(parsed.tree, parsed.problems, "body").map_err(|problems| refuse("The body", problems))
}

fn malformed(Malformed { line, column, message }: Malformed) -> ApiError {
    let message = format!("The body is not valid JSON: {message}, at line {line}, column {column}.");
    ApiError::bad_request(ErrorCode::MalformedJson, message)
}

/// One answer for all the problems that were found in `what`.
pub(crate) fn refuse(what: &str, problems: Vec<FieldProblem>) -> ApiError {
    let kind = if problems.iter().all(|problem| problem.code == code::UNKNOWN_FIELD) {
        ErrorCode::UnknownField
    } else {
        ErrorCode::InvalidRequest
    };
    let message = match problems.as_slice() {
        [only] => format!("{what} is not acceptable: {} {}.", only.field, only.message),
        more if more.len() >= MAX_PROBLEMS => format!("{what} has many problems; the first {} are listed.", more.len()),
        more => format!("{what} has {} problems.", more.len()),
    };
    ApiError::bad_request(kind, message).with_errors(problems)
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        name: String,
        #[serde(default)]
        size: Option<u8>,
    }

    fn request(content_type: Option<&str>, body: impl Into<Body>) -> Request {
        let mut request = Request::new(body.into());
        if let Some(value) = content_type {
            request.headers_mut().insert(CONTENT_TYPE, value.parse().unwrap());
        }
        request
    }

    async fn refusal(request: Request) -> (u16, Value) {
        let error = JsonBody::<Wanted>::from_request(request, &()).await.unwrap_err();
        let response = error.into_response();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap())
    }

    async fn json_refusal(text: &str) -> Value {
        let (status, body) = refusal(request(Some("application/json"), text.to_owned())).await;
        assert_eq!(status, 400);
        body
    }

    #[tokio::test]
    async fn a_good_body_is_given_with_its_bytes() {
        for media_type in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/merge-patch+json",
            "application/json;x",
        ] {
            let text = r#"{"name": "n", "size": 3}"#;
            let body = JsonBody::<Wanted>::from_request(request(Some(media_type), text), &()).await.unwrap();
            assert_eq!((body.value.name.as_str(), body.value.size), ("n", Some(3)));
            assert_eq!(body.bytes, text);
        }
    }

    #[tokio::test]
    async fn other_media_types_are_refused() {
        for media_type in [
            None,
            Some("text/plain"),
            Some("application/+json"),
            Some("application/json; charset=latin1"),
            Some("json"),
        ] {
            let (status, body) = refusal(request(media_type, "{}")).await;
            assert_eq!((status, body["code"].as_str()), (415, Some("unsupported_media_type")), "{media_type:?}");
        }
        let mut compressed = request(Some("application/json"), "{}");
        compressed.headers_mut().insert(CONTENT_ENCODING, "gzip".parse().unwrap());
        assert_eq!(refusal(compressed).await.0, 415);
    }

    #[tokio::test]
    async fn a_body_too_large_is_refused_whether_or_not_it_says_so() {
        let large = format!("{{\"name\": \"{}\"}}", "x".repeat(256 * 1024));
        let (status, body) = refusal(request(Some("application/json"), large.clone())).await;
        assert_eq!((status, body["code"].as_str()), (413, Some("body_too_large")));

        let chunks = large
            .into_bytes()
            .chunks(1000)
            .map(|c| Ok::<_, std::io::Error>(Bytes::copy_from_slice(c)))
            .collect::<Vec<_>>();
        let unsized_body = Body::from_stream(futures_util::stream::iter(chunks));
        assert_eq!(refusal(request(Some("application/json"), unsized_body)).await.0, 413);
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
        assert_eq!(refusal(request(Some("application/json"), Body::new(Unreadable))).await.0, 413);
    }

    #[tokio::test]
    async fn a_body_that_never_ends_is_given_up() {
        let stuck = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let mut request = request(Some("application/json"), stuck);
        request.extensions_mut().insert(BodyLimits { time: Duration::from_millis(20), ..BodyLimits::default() });
        let (status, body) = refusal(request).await;
        assert_eq!((status, body["code"].as_str()), (408, Some("request_timeout")));
    }

    #[tokio::test]
    async fn an_empty_body_is_refused_in_words_and_taken_where_it_is_optional() {
        for media_type in [None, Some("application/json")] {
            let (status, body) = refusal(request(media_type, "")).await;
            assert_eq!((status, body["code"].as_str()), (400, Some("invalid_request")));
            assert!(body["message"].as_str().unwrap().contains("empty"), "{body}");
            let optional = OptionalJsonBody::<Wanted>::from_request(request(media_type, ""), &()).await.unwrap();
            assert!(optional.value.is_none());
        }
        let given = request(Some("application/json"), r#"{"name": "n"}"#);
        assert_eq!(OptionalJsonBody::<Wanted>::from_request(given, &()).await.unwrap().value.unwrap().name, "n");
        let untyped = OptionalJsonBody::<Wanted>::from_request(request(None, "{}"), &()).await.unwrap_err();
        assert_eq!(untyped.status(), 415);
    }

    #[tokio::test]
    async fn malformed_json_is_told_with_its_position() {
        let body = json_refusal("{\"name\":\n  x}").await;
        assert_eq!(body["code"], "malformed_json");
        assert_eq!(body["message"], "The body is not valid JSON: expected value, at line 2, column 3.");
    }

    #[tokio::test]
    async fn all_problems_are_in_the_answer() {
        let body = json_refusal(r#"{"size": "x", "sise": 1, "sise": 2, "other": "\u0000"}"#).await;
        assert_eq!(body["code"], "invalid_request");
        let mut found: Vec<String> = body["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| format!("{} {}", e["field"].as_str().unwrap(), e["code"].as_str().unwrap()))
            .collect();
        found.sort();
        assert_eq!(
            found,
            [
                "name missing",
                "other nul_character",
                "other unknown_field",
                "sise duplicate_field",
                "sise unknown_field",
                "size wrong_type"
            ]
        );
    }

    #[tokio::test]
    async fn unknown_members_alone_have_their_own_code() {
        let body = json_refusal(r#"{"name": "n", "max_nmaes": 3}"#).await;
        assert_eq!(body["code"], "unknown_field");
        assert_eq!(body["message"], "The body is not acceptable: max_nmaes is not known here; known are name, size.");
    }

    #[tokio::test]
    async fn a_name_given_twice_is_named() {
        let body = json_refusal(r#"{"name": "a", "name": "b"}"#).await;
        assert_eq!(body["errors"][0]["field"], "name");
        assert_eq!(body["errors"][0]["code"], "duplicate_field");
    }
}
