//! Problem documents (RFC 7807, RFC 8555 section 6.7): every refusal is one.

use axum::Json;
use axum::response::{IntoResponse, Response};
use chancery_domain::{Identifier, ProblemKind, ValidationProblem};
use chancery_http::{ApiError, RefusalNote, RefusedBy, RequestId};
use chancery_overload::Limit;
use chancery_wire::acme as wire;
use http::header::{CONTENT_LANGUAGE, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// Subproblems that a problem document has.
const MAX_SUBPROBLEMS: usize = 32;

macro_rules! types {
    ($($name:ident = $text:literal,)*) => {
        /// What kind of problem it is, as RFC 8555 section 6.7 and its followers name them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum ProblemType { $($name,)* }

        impl ProblemType {
            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

types! {
    AccountDoesNotExist = "accountDoesNotExist",
    AlreadyReplaced = "alreadyReplaced",
    AlreadyRevoked = "alreadyRevoked",
    BadCsr = "badCSR",
    BadNonce = "badNonce",
    BadPublicKey = "badPublicKey",
    BadRevocationReason = "badRevocationReason",
    BadSignatureAlgorithm = "badSignatureAlgorithm",
    ExternalAccountRequired = "externalAccountRequired",
    InvalidContact = "invalidContact",
    InvalidProfile = "invalidProfile",
    Malformed = "malformed",
    OrderNotReady = "orderNotReady",
    RateLimited = "rateLimited",
    RejectedIdentifier = "rejectedIdentifier",
    ServerInternal = "serverInternal",
    Unauthorized = "unauthorized",
    UnsupportedContact = "unsupportedContact",
    UnsupportedIdentifier = "unsupportedIdentifier",
    UserActionRequired = "userActionRequired",
}

impl ProblemType {
    pub(crate) fn urn(self) -> String {
        urn(self.as_str())
    }
}

/// A refusal.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    kind: ProblemType,
    status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: wire::Problem,
    limit: Option<Limit>,
}

impl Problem {
    pub(crate) fn new(kind: ProblemType, status: StatusCode, detail: impl Into<String>) -> Self {
        let status_code = Some(status.as_u16());
        let body =
            wire::Problem { kind: kind.urn(), detail: detail.into(), status: status_code, ..wire::Problem::default() };
        Self { kind, status, headers: HeaderMap::new(), body, limit: None }
    }

    /// 400 `malformed`.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::Malformed, StatusCode::BAD_REQUEST, detail)
    }

    /// 403 `unauthorized`.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::Unauthorized, StatusCode::FORBIDDEN, detail)
    }

    /// 404; there is no type of its own for it.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::Malformed, StatusCode::NOT_FOUND, detail)
    }

    /// 500 that tells the client nothing. The caller logs the cause.
    pub(crate) fn internal() -> Self {
        let detail = "something went wrong on our side; quote the request id when you report it";
        Self::new(ProblemType::ServerInternal, StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// 503, with the time to come back.
    pub(crate) fn unavailable() -> Self {
        let detail = "the service cannot do this at the moment; try again";
        Self::new(ProblemType::ServerInternal, StatusCode::SERVICE_UNAVAILABLE, detail).retry_after(1)
    }

    /// Names the limit that refuses the request.
    pub(crate) fn with_limit(self, limit: Option<Limit>) -> Self {
        Self { limit: limit.or(self.limit), ..self }
    }

    /// Whether it is a failure of the service rather than of the client.
    pub(crate) fn is_ours(&self) -> bool {
        self.status.is_server_error()
    }

    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        self.with_header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    pub(crate) fn with_text(self, name: HeaderName, value: &str) -> Self {
        match HeaderValue::from_str(value) {
            Ok(value) => self.with_header(name, value),
            Err(_) => self,
        }
    }

    /// Where the client is to go next.
    pub(crate) fn at_instance(mut self, url: &str) -> Self {
        self.body.instance = Some(url.to_owned());
        self
    }

    pub(crate) fn with_algorithms(mut self, names: Vec<String>) -> Self {
        self.body.algorithms = names;
        self
    }

    /// At most 32; the detail says how many there are.
    pub(crate) fn with_subproblems(mut self, mut problems: Vec<wire::Problem>) -> Self {
        problems.truncate(MAX_SUBPROBLEMS);
        self.body.subproblems = problems;
        self
    }
}

/// A part of a problem, about one name (RFC 8555 section 6.7.1).
pub(crate) fn subproblem(kind: ProblemType, detail: String, identifier: Option<wire::Identifier>) -> wire::Problem {
    wire::Problem { kind: kind.urn(), detail, identifier, ..wire::Problem::default() }
}

/// An identifier as it stands in ACME's objects.
pub(crate) fn view(identifier: &Identifier) -> wire::Identifier {
    let kind = match identifier {
        Identifier::Dns(_) => "dns",
        Identifier::Ip(_) => "ip",
    };
    wire::Identifier { kind: kind.to_owned(), value: identifier.to_string() }
}

/// Why a name could not be validated, or an order not be issued.
pub(crate) fn of_validation(problem: &ValidationProblem) -> wire::Problem {
    let status = match problem.kind {
        ProblemKind::Connection
        | ProblemKind::Dns
        | ProblemKind::IncorrectResponse
        | ProblemKind::Malformed
        | ProblemKind::Tls
        | ProblemKind::BadCsr => StatusCode::BAD_REQUEST,
        ProblemKind::Unauthorized | ProblemKind::Caa | ProblemKind::RejectedIdentifier => StatusCode::FORBIDDEN,
        ProblemKind::ServerInternal => StatusCode::INTERNAL_SERVER_ERROR,
    };
    wire::Problem {
        kind: urn(problem.kind.as_str()),
        detail: problem.detail.clone(),
        status: Some(status.as_u16()),
        ..wire::Problem::default()
    }
}

/// An order or a challenge that came to nothing for another reason than a failed validation.
pub(crate) fn of_end(detail: String) -> wire::Problem {
    let kind = ProblemType::Unauthorized.urn();
    wire::Problem { kind, detail, status: Some(403), ..wire::Problem::default() }
}

fn urn(kind: &str) -> String {
    format!("urn:ietf:params:acme:error:{kind}")
}

/// What can be refused before a request gets here, or while its body is read.
impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        let limit = error.limit();
        let problem = match error.status() {
            status @ StatusCode::PAYLOAD_TOO_LARGE => {
                Self::new(ProblemType::Malformed, status, "the body is larger than we take; send less")
            }
            StatusCode::SERVICE_UNAVAILABLE => Self::unavailable(),
            status if status.is_client_error() => Self::new(ProblemType::Malformed, status, error.message()),
            _ => Self::internal(),
        };
        problem.with_limit(limit)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { kind, status, headers, mut body, limit } = self;
        metrics::counter!("chancery_acme_problems_total", "type" => kind.as_str()).increment(1);
        body.limit = limit.map(|limit| limit.as_str().to_owned());
        body.request_id = RequestId::current().map(|id| id.to_string());
        let note = RefusalNote::new(kind.as_str(), &body.detail);
        let mut response = (status, headers, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CONTENT_LANGUAGE, HeaderValue::from_static("en"));
        response.extensions_mut().insert(note);
        if let Some(limit) = limit {
            response.extensions_mut().insert(RefusedBy(limit));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use chancery_wire::ErrorCode;

    use super::*;

    #[test]
    fn what_is_refused_before_it_gets_here_keeps_its_reason() {
        let refused = ApiError::bad_request(ErrorCode::InvalidRequest, "A request has one header Host.");
        let Problem { status, body, .. } = refused.into();
        let malformed = "urn:ietf:params:acme:error:malformed";
        assert_eq!((status.as_u16(), body.kind.as_str()), (400, malformed));
        assert_eq!(body.detail, "A request has one header Host.");
    }
}
