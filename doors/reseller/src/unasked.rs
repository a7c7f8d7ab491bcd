//! What an operation does not take is refused and not passed over: whoever sends it means something by it.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chancery_http::{ApiError, Authenticated, BodyLimits, Door, StrictQuery, read_beginning, read_bounded};
use chancery_wire::FieldProblem;
use http::Method;
use http_body::Body as _;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::{OpenApi, RefOr, SecurityRequirement};

/// The operations that take no query, or no body, as the document describes them.
#[derive(Clone)]
pub(crate) struct Unasked {
    door: Door,
    operations: Arc<HashMap<(Method, String), Takes>>,
}

#[derive(Clone, Copy)]
struct Takes {
    query: bool,
    body: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// An empty object, with some room around it.
const SHORT: usize = 16;

impl Unasked {
    pub(crate) fn of(door: Door, document: &OpenApi) -> Self {
        let mut operations = HashMap::new();
        for (path, item) in &document.paths.paths {
            let methods = [
                (Method::GET, &item.get),
                (Method::HEAD, &item.get),
                (Method::POST, &item.post),
                (Method::PUT, &item.put),
                (Method::PATCH, &item.patch),
                (Method::DELETE, &item.delete),
            ];
            let known = methods.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?)));
            // What is for everybody is not for us to judge.
            let guarded = known.filter(|(_, operation)| !is_open(operation));
            operations.extend(guarded.map(|(method, operation)| ((method, path.clone()), Takes::of(operation))));
        }
        Self { door, operations: Arc::new(operations) }
    }

    /// Who is refused is told so after it has shown who it is.
    pub(crate) async fn refuse(State(me): State<Self>, request: Request, next: Next) -> Response {
        match me.check(request).await {
            Ok(request) => next.run(request).await,
            Err(refusal) => refusal.into_response(),
        }
    }

    async fn check(&self, request: Request) -> Result<Request, ApiError> {
        let Some(path) = request.extensions().get::<MatchedPath>() else { return Ok(request) };
        let operation = (request.method().clone(), path.as_str().to_owned());
        let Some(takes) = self.operations.get(&operation).copied() else { return Ok(request) };
        let has_query = request.uri().query().is_some_and(|query| query.bytes().any(|byte| byte != b'&'));
        let unasked_query = has_query && !takes.query;
        let limits = request.extensions().get::<BodyLimits>().copied().unwrap_or_default();
        let (mut parts, mut body) = request.into_parts();
        // Of a stranger no more is read than shows that there is something.
        let begun = match takes.body || body.is_end_stream() {
            true => None,
            false => Some(read_beginning(&mut body, SHORT, limits).await?).filter(|begun| !is_nothing(begun)),
        };
        if !unasked_query && begun.is_none() {
            let body = if takes.body { body } else { Body::empty() };
            return Ok(Request::from_parts(parts, body));
        }
        Authenticated::from_request_parts(&mut parts, &self.door).await?;
        if unasked_query {
            StrictQuery::<Nothing>::from_request_parts(&mut parts, &()).await?;
        }
        let rest = read_bounded(body, limits).await?;
        Err(not_taken(&[begun.unwrap_or_default(), rest].concat()))
    }
}

/// Whether that is no body: there are clients that always send an empty object, and proxies that cannot tell beforehand how
/// long a body is going to be.
fn is_nothing(body: &[u8]) -> bool {
    matches!(body.trim_ascii(), b"" | b"{}")
}

/// Whether strangers may ask as well: one of the ways to be let in asks for nothing.
fn is_open(operation: &Operation) -> bool {
    operation.security.iter().flatten().any(|way| *way == SecurityRequirement::default())
}

impl Takes {
    fn of(operation: &Operation) -> Self {
        let mut parameters = operation.parameters.iter().flatten();
        Self {
            query: parameters.any(|parameter| match parameter {
                RefOr::T(parameter) => matches!(parameter.parameter_in, ParameterIn::Query),
                RefOr::Ref(_) => true,
            }),
            body: operation.request_body.is_some(),
        }
    }
}

fn not_taken(body: &[u8]) -> ApiError {
    let members = serde_json::from_slice::<Map<String, Value>>(body).unwrap_or_default();
    let unknown =
        |name: String| FieldProblem::new(name, "unknown_field", "is not known here: the operation takes no body");
    ApiError::invalid(
        "The operation takes no body; leave it out.",
        members.into_iter().map(|(name, _)| unknown(name)).take(20).collect(),
    )
}
