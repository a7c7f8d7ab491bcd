//! The caller of a request, authenticated before anything else is looked at.

use std::sync::Arc;

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use chancery_service::identity::AuthError;
use chancery_service::{Caller, Limit, Origin, ServiceError, client_network};
use futures_util::future::BoxFuture;
use http::StatusCode;
use http::header::AUTHORIZATION;
use http::request::Parts;

use crate::door::Door;
use crate::error::ApiError;
use crate::exchange::Exchange;
use crate::rate::or_refuse;
use crate::request_id::RequestId;
use crate::server::PeerAddr;

/// Takes a request only from a caller who has shown who it is, and who is within its request rate.
#[derive(Debug)]
pub struct Authenticated(pub Caller);

impl FromRequestParts<Door> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, ApiError> {
        authenticate(parts, door).await.map(Self)
    }
}

/// In a box, so that all of it is compiled here, once, and not anew with every handler that asks who calls.
fn authenticate<'a>(parts: &'a mut Parts, door: &'a Door) -> BoxFuture<'a, Result<Caller, ApiError>> {
    Box::pin(async move {
        let mut sent = parts.headers.get_all(AUTHORIZATION).iter();
        let header = match (sent.next(), sent.next()) {
            (None, _) => None,
            (Some(only), None) => Some(only.to_str().map_err(|_| refuse(AuthError::Malformed))?),
            (Some(_), Some(_)) => return Err(refuse(AuthError::Malformed)),
        };
        let origin = origin(parts);
        let limits = &door.services.limits;
        let network = client_network(&origin.address);
        // Whoever guesses is not looked at any further; those whose token is known go on.
        let guessed = limits.peek(Limit::RefusalsOfAddress, &network).filter(|guessed| !guessed.allowed());
        if let Some(guessed) = guessed.filter(|_| !door.services.identity.remembers(header)) {
            or_refuse(Some(&guessed))?;
        }
        let known = door.services.identity.authenticate(header, origin).await;
        let exchange = parts.extensions.get::<Arc<Exchange>>().cloned();
        let who = known.as_ref().map_or_else(AuthError::caller, Some);
        if let (Some(exchange), Some(caller)) = (&exchange, who) {
            exchange.note_caller(caller);
        }
        let caller = known.map_err(refuse).inspect_err(|error| {
            if error.status() == StatusCode::UNAUTHORIZED {
                limits.charge(Limit::RefusalsOfAddress, &network);
            }
        })?;
        if let Some(exchange) = &exchange {
            exchange.claim_place(&parts.extensions, caller.reseller)?;
        }
        let decision = limits.take(Limit::Requests, &caller.reseller.to_string()).await;
        if let (Some(exchange), Some(decision)) = (&exchange, decision) {
            exchange.note_rate(decision);
        }
        or_refuse(decision.as_ref())?;
        Ok(caller)
    })
}

/// For an operation that has an answer for strangers too.
impl OptionalFromRequestParts<Door> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Option<Self>, ApiError> {
        if parts.headers.contains_key(AUTHORIZATION) {
            <Self as FromRequestParts<Door>>::from_request_parts(parts, door).await.map(Some)
        } else {
            Ok(None)
        }
    }
}

/// Where a request came from.
pub fn origin(parts: &Parts) -> Origin {
    let address = parts.extensions.get::<PeerAddr>().map(|PeerAddr(address)| address.ip().to_string());
    let request_id = parts.extensions.get::<RequestId>().map(ToString::to_string);
    Origin { address: address.unwrap_or_default(), request_id: request_id.unwrap_or_default() }
}

fn refuse(error: AuthError) -> ApiError {
    let message = error.to_string();
    match error {
        // RFC 6750 section 3: no error code where no credentials were sent.
        AuthError::Missing => ApiError::unauthorized(message, "Bearer realm=\"chancery\""),
        AuthError::Malformed
        | AuthError::ApiKeysOff
        | AuthError::Token(_)
        | AuthError::Claim(_)
        | AuthError::ClientDisabled(_)
        | AuthError::ApiKey(_)
        | AuthError::UnknownReseller => {
            ApiError::unauthorized(message, "Bearer realm=\"chancery\", error=\"invalid_token\"")
        }
        AuthError::Suspended(_) => ApiError::forbidden(message),
        AuthError::KeysUnavailable(reason) => {
            tracing::warn!(reason, "cannot verify a token of the external provider");
            ApiError::unavailable("The identity provider's keys cannot be fetched at the moment; try again.", 5)
        }
        AuthError::Service(error) => ServiceError::into(error),
    }
}
