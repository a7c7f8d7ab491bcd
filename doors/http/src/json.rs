//! JSON bodies, refused with every problem that is in them.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use chancery_service::ServiceError;
use chancery_wire::{ErrorCode, FieldProblem};
use http::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use http_body::Body as _;
use serde::de::DeserializeOwned;

use crate::{
    body::{BodyLimits, is_encoded, limits, read_bounded},
    document::{self, Malformed, Unfit},
    error::ApiError,
    shape::{Shape, WHOLE},
};

/// The JSON body of a request, as `T`: a struct with `#[serde(deny_unknown_fields)]`.
///
/// Refused at once are a media type that is not JSON (415) and a body that is empty (400), too large (413) or too slow
/// (408). What is wrong with the text itself is told by [`JsonBody::read`], so that a handler can look at other things
/// first, and can tell by the bytes which request it was.
#[derive(Debug)]
pub struct JsonBody<T> {
    /// What was sent, byte for byte.
    pub bytes: Bytes,
    shape: Shape<T>,
}

/// As [`JsonBody`], where a request may also have no body, or an empty one.
#[derive(Debug)]
pub struct OptionalJsonBody<T> {
    /// What was sent, byte for byte.
    pub bytes: Bytes,
    body: Option<JsonBody<T>>,
}

impl<T: DeserializeOwned> JsonBody<T> {
    /// What was sent, once the rules for its members have had their say.
    ///
    /// Text that is not JSON is 400 `malformed_json`, with the position. Otherwise all problems are in `errors`: members
    /// that are missing, unknown or of the wrong type, and what the rules find wrong with the others. No string that the
    /// rules see contains U+0000.
    pub fn read<U>(self, rules: impl FnOnce(T) -> Result<U, ServiceError>) -> Result<U, ApiError> {
        self.shape.read("The body", rules)
    }

    /// Whether rules are going to see all that was sent. Where they are not, something is wrong in any case, and they may look at
    /// what is told later otherwise, so that nobody has to ask twice.
    pub fn fits(&self) -> bool {
        matches!(self.shape, Shape::Fits(_))
    }

    pub(crate) fn of(bytes: Bytes, limits: BodyLimits) -> Self {
        let shape = match document::parse(&bytes, limits.max_depth) {
            Err(error) => Shape::Malformed(malformed(error)),
            Ok(parsed) => Shape::of(document::read(parsed.tree, parsed.problems, WHOLE)),
        };
        Self { bytes, shape }
    }
}

impl<T: DeserializeOwned + Default> OptionalJsonBody<T> {
    /// As [`JsonBody::read`]; without a body, the rules see the default.
    pub fn read<U>(self, rules: impl FnOnce(T) -> Result<U, ServiceError>) -> Result<U, ApiError> {
        match self.body {
            Some(body) => body.read(rules),
            None => Ok(rules(T::default())?),
        }
    }
}

/// Why a text is not read as what was asked for. Nothing of the text is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadJson {
    /// It is not JSON, or nested too deeply.
    Malformed { line: usize, column: usize },
    /// It is JSON of another shape, or has a name twice or U+0000 in it.
    Unfit,
}

/// Reads a text as strictly as [`JsonBody`] does, for doors that refuse in words of their own.
pub fn read_json<T: DeserializeOwned>(text: &[u8], limits: BodyLimits) -> Result<T, BadJson> {
    let parsed = document::parse(text, limits.max_depth)
        .map_err(|Malformed { line, column, .. }| BadJson::Malformed { line, column })?;
    document::read(parsed.tree, parsed.problems, WHOLE).map_err(|_: Unfit<T>| BadJson::Unfit)
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
        Ok(Self::of(bytes, limits))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for OptionalJsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let limits = limits(&request);
        let (head, body) = request.into_parts();
        let bytes = read_bounded(body, limits).await?;
        if bytes.is_empty() {
            return Ok(Self { bytes, body: None });
        }
        require_json(&head.headers)?;
        Ok(Self { bytes: bytes.clone(), body: Some(JsonBody::of(bytes, limits)) })
    }
}

fn empty() -> ApiError {
    ApiError::bad_request(ErrorCode::InvalidRequest, "The body is empty; this operation needs a JSON object.")
}

/// Everything that keeps a JSON text from being read as what was asked for, in words for people: for doors that refuse in words of
/// their own. Nothing where it fits, or is no JSON.
pub fn misfits<T: DeserializeOwned>(text: &[u8], limits: BodyLimits) -> Vec<FieldProblem> {
    let Ok(parsed) = document::parse(text, limits.max_depth) else { return Vec::new() };
    match document::read(parsed.tree, parsed.problems, WHOLE) {
        Ok(value) => {
            drop::<T>(value);
            Vec::new()
        }
        Err(Unfit { problems, .. }) => problems,
    }
}

/// `application/json`, or a type that is built on it (RFC 6839, section 3.1), in UTF-8 and not compressed.
fn require_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let refuse =
        |message| Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorCode::UnsupportedMediaType, message));
    if is_encoded(headers) {
        return refuse("Send the body without Content-Encoding.");
    }
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    match (types.next().and_then(|value| value.to_str().ok()), types.next()) {
        (Some(media_type), None) if is_json(media_type) => match is_utf8(media_type) {
            true => Ok(()),
            false => refuse("Send the body as UTF-8: the charset in Content-Type must be utf-8, or be left out."),
        },
        _ => refuse("Send the body as JSON, with Content-Type: application/json."),
    }
}

fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence
        .strip_prefix("application/")
        .is_some_and(|subtype| subtype == "json" || subtype.strip_suffix("+json").is_some_and(|name| !name.is_empty()))
}

/// Whether no other charset is named; none need be, for JSON has but one (RFC 8259 section 8.1).
fn is_utf8(media_type: &str) -> bool {
    media_type.split(';').skip(1).all(|parameter| match parameter.trim().split_once('=') {
        Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
            value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    })
}

fn malformed(Malformed { line, column, message }: Malformed) -> ApiError {
    let message = format!("The body is not valid JSON: {message}, at line {line}, column {column}.");
    ApiError::bad_request(ErrorCode::MalformedJson, message)
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, response::IntoResponse};
    use chancery_domain::Problems;
    use http::header::CONTENT_ENCODING;
    use http_body_util::BodyExt;
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        name: String,
        #[serde(default)]
        size: Option<u8>,
    }

    fn rules(value: Wanted) -> Result<Wanted, ServiceError> {
        let mut problems = Problems::default();
        if !value.name.starts_with('n') {
            problems.add("name", "first_letter", "must begin with n");
            problems.add("body", "nameless", "must be about something");
        }
        if value.size == Some(0) {
            problems.add("size", "out_of_range", "must be at least 1");
        }
        problems.into_result().map_err(ServiceError::Invalid).map(|()| value)
    }

    fn request(content_type: Option<&str>, body: impl Into<Body>) -> Request {
        let mut request = Request::new(body.into());
        if let Some(value) = content_type {
            request.headers_mut().insert(CONTENT_TYPE, value.parse().unwrap());
        }
        request
    }

    async fn refusal(request: Request) -> (u16, Value) {
        let body = JsonBody::<Wanted>::from_request(request, &()).await;
        let response = body.and_then(|body| body.read(rules)).unwrap_err().into_response();
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
            assert_eq!(body.bytes, text);
            let value = body.read(rules).unwrap();
            assert_eq!((value.name.as_str(), value.size), ("n", Some(3)));
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
            let of_charset = body["message"].as_str().unwrap().contains("as UTF-8");
            assert_eq!(of_charset, media_type.is_some_and(|name| name.contains("latin1")), "{body}");
        }
        let mut compressed = request(Some("application/json"), "{}");
        compressed.headers_mut().insert(CONTENT_ENCODING, "gzip".parse().unwrap());
        assert_eq!(refusal(compressed).await.0, 415);
    }

    #[tokio::test]
    async fn an_empty_body_is_refused_in_words_and_taken_where_it_is_optional() {
        for media_type in [None, Some("application/json")] {
            let (status, body) = refusal(request(media_type, "")).await;
            assert_eq!((status, body["code"].as_str()), (400, Some("invalid_request")));
            assert!(body["message"].as_str().unwrap().contains("empty"), "{body}");
            let optional = OptionalJsonBody::<Wanted>::from_request(request(media_type, ""), &()).await.unwrap();
            assert_eq!(optional.read(|Wanted { name, .. }| Ok(name)).unwrap(), "");
        }
        let given = request(Some("application/json"), r#"{"name": "n"}"#);
        let given = OptionalJsonBody::<Wanted>::from_request(given, &()).await.unwrap();
        assert_eq!(given.read(rules).unwrap().name, "n");
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
    async fn what_breaks_the_rules_is_told_beside_what_does_not_fit() {
        let found = async |text: &str| {
            let body = json_refusal(text).await;
            let errors = body["errors"].as_array().unwrap().clone();
            errors.iter().map(|e| format!("{} {}", e["field"], e["code"]).replace('"', "")).collect::<Vec<_>>()
        };
        assert_eq!(
            found(r#"{"name": "x", "size": 0}"#).await,
            ["name first_letter", "body nameless", "size out_of_range"]
        );
        assert_eq!(found(r#"{"name": "x", "sise": 1}"#).await, ["sise unknown_field", "name first_letter"]);
        // A stand-in breaks rules too, and that is nobody's fault.
        assert_eq!(found(r#"{"size": 0}"#).await, ["name missing", "size out_of_range"]);
        assert_eq!(found(r#"{"name": 5}"#).await, ["name wrong_type"]);
        assert_eq!(found("[]").await, ["body wrong_type"]);
    }

    #[tokio::test]
    async fn unknown_members_alone_have_their_own_code() {
        let body = json_refusal(r#"{"name": "n", "max_nmaes": 3}"#).await;
        assert_eq!(body["code"], "unknown_field");
        assert_eq!(body["message"], "The body is not acceptable: max_nmaes is not known here; known are name, size.");
    }

    #[test]
    fn a_text_alone_is_read_as_strictly() {
        let read = |text: &str| read_json::<Wanted>(text.as_bytes(), BodyLimits::default()).map(|wanted| wanted.name);
        assert_eq!(read(r#"{"name": "n"}"#).as_deref(), Ok("n"));
        assert_eq!(read("{\"name\":\n  x}"), Err(BadJson::Malformed { line: 2, column: 3 }));
        assert!(matches!(read(&"[".repeat(33)), Err(BadJson::Malformed { .. })));
        for text in ["[]", r#"["n", 3]"#, "null", r#"{"name": "n", "name": "n"}"#, r#"{"name": "\u0000"}"#] {
            assert_eq!(read(text), Err(BadJson::Unfit), "{text}");
        }
    }

    #[tokio::test]
    async fn a_name_given_twice_is_named() {
        let body = json_refusal(r#"{"name": "n", "name": "b"}"#).await;
        assert_eq!(body["errors"][0]["field"], "name");
        assert_eq!(body["errors"][0]["code"], "duplicate_field");
    }
}
