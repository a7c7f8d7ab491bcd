//! What an operation does not take is refused and not passed over: whoever sends it means something by it.

use std::convert::Infallible;

use axum::extract::{FromRequest, FromRequestParts, Request};
use chancery_http::{ApiError, BodyLimits, Door, StrictQuery, read_bounded};
use chancery_service::ServiceError;
use chancery_wire::{ErrorCode, FieldProblem};
use http_body::Body as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::gone::with_last_state;

/// As many members are told.
const MOST_NAMED: usize = 20;

/// A body of whatever media type, where the operation takes none, with why it is refused. Extracted after the caller, so that nobody else's is read.
pub(crate) struct UnaskedBody(Option<ApiError>);

/// A body or a query, where the operation takes neither, with why it is refused.
pub(crate) struct Unasked(Option<ApiError>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl UnaskedBody {
    pub(crate) fn refuse(self) -> Result<(), ApiError> {
        self.0.map_or(Ok(()), Err)
    }
}

impl Unasked {
    /// Refuses it, once it is clear that what the path names is there and has not ended.
    pub(crate) async fn refuse<T: Serialize>(
        self,
        named: impl Future<Output = Result<(), ServiceError>>,
        name: &str,
        last: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<(), ApiError> {
        let Some(refusal) = self.0 else { return Ok(()) };
        match named.await {
            Ok(()) => Err(refusal),
            Err(missing) => Err(with_last_state(missing, name, last).await),
        }
    }
}

impl FromRequest<Door> for UnaskedBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &Door) -> Result<Self, Infallible> {
        if request.body().is_end_stream() {
            return Ok(Self(None));
        }
        let limits = request.extensions().get::<BodyLimits>().copied().unwrap_or_default();
        Ok(Self(match read_bounded(request.into_body(), limits).await {
            Ok(body) => not_taken(&body),
            Err(unreadable) => Some(unreadable),
        }))
    }
}

impl FromRequest<Door> for Unasked {
    type Rejection = Infallible;

    async fn from_request(request: Request, door: &Door) -> Result<Self, Infallible> {
        let (mut parts, body) = request.into_parts();
        let query = StrictQuery::<Nothing>::from_request_parts(&mut parts, door).await.err();
        let UnaskedBody(body) = UnaskedBody::from_request(Request::from_parts(parts, body), door).await?;
        Ok(Self(query.or(body)))
    }
}

/// There are clients that always send an empty object, and proxies that cannot tell beforehand how long a body is going to be:
/// that is as good as none.
fn not_taken(body: &[u8]) -> Option<ApiError> {
    let members = serde_json::from_slice::<Map<String, Value>>(body);
    if body.trim_ascii().is_empty() || members.as_ref().is_ok_and(Map::is_empty) {
        return None;
    }
    let members = members.unwrap_or_default();
    let unknown = |name| FieldProblem::new(name, "unknown_field", "is not known here: the operation takes no body");
    let problems: Vec<_> = members.into_iter().take(MOST_NAMED).map(|(name, _)| unknown(name)).collect();
    let code = if problems.is_empty() { ErrorCode::InvalidRequest } else { ErrorCode::UnknownField };
    Some(ApiError::bad_request(code, "The operation takes no body; leave it out.").with_errors(problems))
}
