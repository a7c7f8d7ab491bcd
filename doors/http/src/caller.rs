//! The caller of a request, authenticated before anything else is looked at.

use std::sync::Arc;

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use chancery_service::identity::AuthError;
use chancery_service::{Caller, Origin, ServiceError};
use futures_util::future::BoxFuture;
use http::StatusCode;
use http::header::AUTHORIZATION;
use http::request::Parts;

use crate::door::Door;
use crate::error::ApiError;
use crate::exchange::Exchange;
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
        let rates = &door.services.rates;
        // An address that guesses credentials is not served further, but for tokens that are already verified.
        if let Err(refusal) = rates.check_unauthorized(&origin)
            && !door.services.identity.remembers(header)
        {
            return Err(refusal.into());
        }
        let known = door.services.identity.authenticate(header, origin.clone()).await;
        let exchange = parts.extensions.get::<Arc<Exchange>>().cloned();
        let who = known.as_ref().map_or_else(AuthError::caller, Some);
        if let (Some(exchange), Some(caller)) = (&exchange, who) {
            exchange.note_caller(caller);
        }
        let caller = known.map_err(refuse).inspect_err(|error| {
            if error.status() == StatusCode::UNAUTHORIZED {
                rates.charge_unauthorized(&origin);
            }
        })?;
        if let Some(exchange) = &exchange {
            exchange.assign_permit(&parts.extensions, caller.reseller)?;
        }
        let decision = rates.request(caller.reseller).await?;
        if let (Some(exchange), Some(decision)) = (&exchange, decision) {
            exchange.note_rate(decision);
        }
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
