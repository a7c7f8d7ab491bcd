//! newNonce (RFC 8555 section 7.2).

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use http::{Method, StatusCode};

use crate::directory::find;
use crate::jws::by_account;
use crate::mount::Door;
use crate::payload;
use crate::problem::Problem;
use crate::surroundings::give_nonce;

pub(crate) async fn give(
    State(door): State<Door>,
    Path(profile): Path<String>,
    method: Method,
) -> Result<Response, Problem> {
    find(&door, &profile)?;
    let status = if method == Method::HEAD { StatusCode::OK } else { StatusCode::NO_CONTENT };
    let mut response = (status, [(CACHE_CONTROL, "no-store")]).into_response();
    give_nonce(&mut response, &door);
    Ok(response)
}

/// Gives a nonce by POST-as-GET (RFC 8555 section 6.3).
pub(crate) async fn give_signed(
    State(door): State<Door>,
    profile: Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let (_, signed) = by_account(&door, request).await?;
    payload::require_empty(&signed.payload)?;
    give(State(door), profile, Method::GET).await
}
