//! The identity provider: the token endpoint, and what others need to verify our tokens.

mod metadata;
#[doc(hidden)]
pub mod parsers;
mod token;
mod token_request;

use axum::Router;
use chancery_http::Door;
use chancery_http::routing::{get, post};

/// `/oauth/token` and the well-known documents.
pub fn router(door: Door) -> Router {
    Router::new()
        .route("/oauth/token", post(token::grant))
        .route("/.well-known/jwks.json", get(metadata::jwks))
        .route("/.well-known/oauth-authorization-server", get(metadata::server))
        .with_state(door)
}
