//! What is learnt about a request while it is answered, and what is done with it afterwards: the rate headers go on
//! the response, and a refusal goes into the audit trail.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use chancery_domain::ResellerId;
use chancery_overload::{Decision, RequestPermit};
use chancery_service::{Actor, Caller, Refusal};
use http::{Extensions, Method, StatusCode};

use crate::caller::origin;
use crate::door::Door;
use crate::error::ApiError;
use crate::rate::apply_rate;

/// Filled in by the extractors; found in the request's extensions.
#[derive(Default)]
pub struct Exchange {
    caller: OnceLock<Caller>,
    operator: OnceLock<String>,
    rate: OnceLock<Decision>,
}

/// Why a request was refused, for the audit trail; found in the response's extensions.
#[derive(Debug, Clone)]
pub struct RefusalNote {
    pub code: String,
    pub message: String,
    /// What the request was about, where that says more than its path.
    pub subject: Option<String>,
}

impl RefusalNote {
    pub fn new(code: &str, message: &str) -> Self {
        Self { code: code.to_owned(), message: message.to_owned(), subject: None }
    }
}

impl Exchange {
    /// Notes who asks, for the audit trail.
    pub fn note_caller(&self, caller: &Caller) {
        // Only one caller can have authenticated: a second note would be the same.
        let _already = self.caller.set(caller.clone());
    }

    /// Notes that it is the operator who asks, by the name of their key.
    pub fn note_operator(&self, name: &str) {
        let _already = self.operator.set(name.to_owned());
    }

    /// Assigns the permit of this request to its reseller, until the response has been sent; refuses if the reseller has its share.
    pub fn assign_permit(&self, extensions: &Extensions, reseller: ResellerId) -> Result<(), ApiError> {
        let permit = extensions.get::<Arc<RequestPermit>>();
        permit.map_or(Ok(()), |permit| permit.assign(reseller)).map_err(ApiError::overloaded)
    }

    /// Refuses new work of the alleged reseller if it has its share; a cheap check before authentication.
    pub fn check_new_work(&self, extensions: &Extensions, reseller: ResellerId) -> Result<(), ApiError> {
        let permit = extensions.get::<Arc<RequestPermit>>();
        permit.map_or(Ok(()), |permit| permit.check_new_work(reseller)).map_err(ApiError::overloaded)
    }

    /// Notes how the caller stands with its request rate, for the headers.
    pub fn note_rate(&self, decision: Decision) {
        let _already = self.rate.set(decision);
    }
}

/// Adds rate headers and the audit of refusals to a router. Goes on before [`crate::finish`].
pub fn account_for(router: Router, door: Door) -> Router {
    router.layer(middleware::from_fn_with_state(door, around))
}

async fn around(State(door): State<Door>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let exchange = Arc::new(Exchange::default());
    parts.extensions.insert(exchange.clone());
    let origin = origin(&parts);
    let method = parts.method.clone();
    let path = parts.uri.path().to_owned();
    let route = parts.extensions.get::<MatchedPath>().map(|matched| matched.as_str().to_owned());

    let mut response = next.run(Request::from_parts(parts, body)).await;
    if let Some(decision) = exchange.rate.get() {
        apply_rate(decision, response.headers_mut());
    }
    if is_refusal(&method, response.status()) {
        let caller = exchange.caller.get();
        let note = response.extensions().get::<RefusalNote>().cloned().unwrap_or(RefusalNote::new("", ""));
        door.services.audit.refused(Refusal {
            reseller: caller.map(|caller| caller.reseller),
            actor: match (caller, exchange.operator.get()) {
                (Some(caller), _) => caller.actor.clone(),
                (None, Some(name)) => Actor::Operator(name.clone()),
                (None, None) => Actor::Anonymous,
            },
            origin,
            action: format!("{method} {}", route.as_deref().unwrap_or("unknown path")),
            subject: note.subject.unwrap_or(path),
            status: response.status().as_u16(),
            code: note.code,
            message: note.message,
        });
    }
    response
}

/// Every refusal of a change, and every refusal of a caller. A read that finds nothing is not one: nobody was refused.
fn is_refusal(method: &Method, status: StatusCode) -> bool {
    let reads = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS => true,
        other => other.is_client_error() && !reads,
    }
}
