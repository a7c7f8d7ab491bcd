//! Refusals: one type that every handler and extractor returns, and that turns into a response.

use axum::response::{IntoResponse, Response};
use chancery_overload::Limit;
use chancery_wire::{ErrorCode, ErrorResponse, FieldProblem};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use serde_json::{Map, Value};

use crate::document::MAX_PROBLEMS;
use crate::exchange::RefusalNote;
use crate::request_id::RequestId;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PLAIN_TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// A refusal. As a response it is an [`ErrorResponse`] with the id of the exchange filled in;
/// a 401 or 403 is a plain string.
#[derive(Debug, Clone)]
pub struct ApiError {
    status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Refusal,
    limit: Option<Limit>,
}

/// The limit that refused a request; found in the extensions of the response, for the metric and the access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedBy(pub Limit);

#[derive(Debug, Clone)]
enum Refusal {
    Json { code: ErrorCode, message: String, errors: Vec<FieldProblem>, omitted: usize, extra: Map<String, Value> },
    Text(String),
}

impl ApiError {
    /// A refusal with a body that programs can read. For 401 and 403 use [`ApiError::unauthorized`] and
    /// [`ApiError::forbidden`].
    pub fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        let body = Refusal::Json { code, message: message.into(), errors: Vec::new(), omitted: 0, extra: Map::new() };
        Self { status, headers: HeaderMap::new(), body, limit: None }
    }

    /// 400.
    pub fn bad_request(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// 400 `invalid_request` that lists every problem found.
    pub fn invalid(message: impl Into<String>, errors: Vec<FieldProblem>) -> Self {
        Self::bad_request(ErrorCode::InvalidRequest, message).with_errors(errors)
    }

    /// 404.
    pub fn not_found(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    /// 409.
    pub fn conflict(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// 410.
    pub fn gone(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, code, message)
    }

    /// 406: nothing that `Accept` asks for can be given.
    pub fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, ErrorCode::NotAcceptable, message)
    }

    /// 422.
    pub fn unprocessable(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message)
    }

    /// 429, with `Retry-After`.
    pub fn too_many(code: ErrorCode, message: impl Into<String>, retry_after_seconds: u64) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, code, message).with_retry_after(retry_after_seconds)
    }

    /// 503, with `Retry-After`.
    pub fn unavailable(message: impl Into<String>, retry_after_seconds: u64) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::Unavailable, message)
            .with_retry_after(retry_after_seconds)
    }

    /// 503 because a limit on load refuses the request for the moment.
    pub fn overloaded(limit: Limit) -> Self {
        let message = if limit == Limit::ListReads {
            "Lists and evaluations of this reseller occupy its share; send fewer at the same time, or try again."
        } else if limit == Limit::UnsentResponses {
            "Clients of this reseller have not read their responses; read them before you request more."
        } else {
            "The service has more to do than it can at the moment; try again."
        };
        Self::unavailable(message, 1).with_limit(limit)
    }

    /// 500 that tells the client nothing. The caller logs the cause.
    pub fn internal() -> Self {
        let message = "Something went wrong on our side. Quote the request id when you report it.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::InternalError, message)
    }

    /// 401, a plain string. `www_authenticate` is the challenge (RFC 6750, section 3).
    pub fn unauthorized(message: impl Into<String>, www_authenticate: &str) -> Self {
        let challenge = HeaderValue::from_str(www_authenticate).unwrap_or(HeaderValue::from_static("Bearer"));
        Self::text(StatusCode::UNAUTHORIZED, message.into()).with_header(WWW_AUTHENTICATE, challenge)
    }

    /// 403, a plain string.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::text(StatusCode::FORBIDDEN, message.into())
    }

    fn text(status: StatusCode, message: String) -> Self {
        Self { status, headers: HeaderMap::new(), body: Refusal::Text(message), limit: None }
    }

    /// Names the limit that refuses the request.
    pub fn with_limit(self, limit: Limit) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The limit that refuses the request, if one does.
    pub fn limit(&self) -> Option<Limit> {
        self.limit
    }

    /// 403, a plain string, where the token lacks a scope (RFC 6750 section 3.1).
    pub fn lacking(message: impl Into<String>, scope: &str) -> Self {
        let challenge = format!("Bearer realm=\"chancery\", error=\"insufficient_scope\", scope=\"{scope}\"");
        let challenge = HeaderValue::from_str(&challenge).unwrap_or(HeaderValue::from_static("Bearer"));
        Self::forbidden(message).with_header(WWW_AUTHENTICATE, challenge)
    }

    /// Adds problems to `errors`, which has at most 32; the others are counted as omitted. A plain-string refusal has no such list
    /// and stays as it is.
    pub fn with_errors(mut self, problems: Vec<FieldProblem>) -> Self {
        match &mut self.body {
            Refusal::Json { errors, omitted, .. } => {
                errors.extend(problems);
                *omitted += errors.len().saturating_sub(MAX_PROBLEMS);
                errors.truncate(MAX_PROBLEMS);
            }
            Refusal::Text(_) => {}
        }
        self
    }

    /// Says how many problems there are beyond those in `errors`.
    pub fn with_omitted(mut self, count: usize) -> Self {
        match &mut self.body {
            Refusal::Json { omitted, .. } => *omitted += count,
            Refusal::Text(_) => {}
        }
        self
    }

    /// The problems it lists.
    pub fn errors(&self) -> &[FieldProblem] {
        match &self.body {
            Refusal::Json { errors, .. } => errors,
            Refusal::Text(_) => &[],
        }
    }

    /// Puts a further member, such as `order`, beside the others of the body.
    /// A plain-string refusal has no members and stays as it is.
    pub fn with_extra(mut self, name: &str, value: Value) -> Self {
        match &mut self.body {
            Refusal::Json { extra, .. } => drop(extra.insert(name.to_owned(), value)),
            Refusal::Text(_) => {}
        }
        self
    }

    /// Sets a header of the response.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets `Retry-After`, in seconds.
    pub fn with_retry_after(self, seconds: u64) -> Self {
        self.with_header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What is told to people.
    pub fn message(&self) -> String {
        match &self.body {
            Refusal::Json { message, .. } | Refusal::Text(message) => message.clone(),
        }
    }

    /// The code of the body; a 401 or 403 has none.
    pub fn code(&self) -> Option<ErrorCode> {
        match &self.body {
            Refusal::Json { code, .. } => Some(*code),
            Refusal::Text(_) => None,
        }
    }
}

impl ApiError {
    /// What the audit trail is told of it.
    fn note(&self) -> RefusalNote {
        match &self.body {
            Refusal::Json { code, message, .. } => RefusalNote::new(code.as_str(), message),
            Refusal::Text(message) => {
                let code = if self.status == StatusCode::UNAUTHORIZED { "unauthorized" } else { "forbidden" };
                RefusalNote::new(code, message)
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let note = self.note();
        let (content_type, body) = match self.body {
            Refusal::Json { code, message, errors, omitted, extra } => {
                let request_id = RequestId::current().map(|id| id.to_string()).unwrap_or_default();
                let body = ErrorResponse {
                    status: self.status.as_u16(),
                    code,
                    message,
                    request_id,
                    errors,
                    omitted_errors: omitted,
                    limit: self.limit.map(|limit| limit.as_str().to_owned()),
                    extra,
                };
                (JSON, serde_json::to_vec(&body).expect("strings, numbers and JSON values can be written as JSON"))
            }
            Refusal::Text(text) => (PLAIN_TEXT, text.into_bytes()),
        };
        let mut response = (self.status, self.headers, body).into_response();
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        response.extensions_mut().insert(note);
        if let Some(limit) = self.limit {
            response.extensions_mut().insert(RefusedBy(limit));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::json;

    use super::*;

    async fn parts(error: ApiError) -> (StatusCode, HeaderMap, String) {
        let (head, body) = error.into_response().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (head.status, head.headers, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_refusal_carries_its_problems_its_further_members_and_the_request_id() {
        let error = ApiError::gone(ErrorCode::OrderNotFound, "It expired.")
            .with_errors(vec![FieldProblem::new("a", "b", "c")])
            .with_omitted(2)
            .with_extra("order", json!({"lookup": "ord_1"}));
        let id = RequestId::parse("r7").unwrap();
        let (status, headers, body) = id.scope(parts(error)).await;
        assert_eq!(status, 410);
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(
            serde_json::from_str::<Value>(&body).unwrap(),
            json!({"status": 410, "code": "order_not_found", "message": "It expired.", "requestId": "r7",
                   "errors": [{"field": "a", "code": "b", "message": "c"}], "omittedErrors": 2, "order": {"lookup": "ord_1"}})
        );
    }

    #[tokio::test]
    async fn a_refusal_lists_32_problems_and_counts_the_others() {
        let problems = |count| (0..count).map(|_| FieldProblem::new("a", "b", "c")).collect::<Vec<_>>();
        let error = ApiError::invalid("No.", problems(30)).with_errors(problems(70)).with_omitted(3);
        assert_eq!(error.errors().len(), 32);
        let (_, _, body) = parts(error).await;
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["omittedErrors"], 71);
    }

    #[test]
    fn a_refusal_for_load_says_what_the_client_can_change() {
        assert!(ApiError::overloaded(Limit::ListReads).message().contains("send fewer at the same time"));
        assert!(ApiError::overloaded(Limit::UnsentResponses).message().contains("read them"));
    }

    #[tokio::test]
    async fn unauthorized_and_forbidden_are_plain_strings() {
        let (status, headers, body) = parts(ApiError::unauthorized("No token.", "Bearer realm=\"x\"")).await;
        assert_eq!((status.as_u16(), body.as_str()), (401, "No token."));
        assert_eq!(headers["www-authenticate"], "Bearer realm=\"x\"");
        assert_eq!(headers["content-type"], "text/plain; charset=utf-8");

        let (status, headers, body) = parts(ApiError::forbidden("Scope write:order is missing.")).await;
        assert_eq!((status.as_u16(), body.as_str()), (403, "Scope write:order is missing."));
        assert_eq!(headers["content-type"], "text/plain; charset=utf-8");
    }

    #[tokio::test]
    async fn a_challenge_that_no_header_can_carry_is_replaced() {
        let (_, headers, _) = parts(ApiError::unauthorized("No.", "Bearer \r\nSet-Cookie: x")).await;
        assert_eq!(headers["www-authenticate"], "Bearer");
    }
}
