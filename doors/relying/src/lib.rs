//! What relying parties fetch, without a name or a password: revocation lists, OCSP answers, issuers' certificates.
//!
//! Plain HTTP: what is fetched is signed, and fetching it over TLS could need the very thing that is fetched.

mod caching;
mod crl;
mod issuer;
mod ocsp;

use axum::Router;
use chancery_http::routing::{any, get, post};
use chancery_service::Services;
use http::StatusCode;

/// `/crl`, `/issuer` and `/ocsp`.
pub fn router(services: Services) -> Router {
    Router::new()
        .route("/crl/{issuer}/{file}", get(crl::show))
        .route("/issuer/{file}", get(issuer::show))
        .route("/ocsp", post(ocsp::post))
        .route("/ocsp/", post(ocsp::post))
        .route("/ocsp/{*request}", get(ocsp::get).merge(post(ocsp::post)))
        .route("/", any(nothing))
        .route("/{*path}", any(nothing))
        // First come: what stands around every router would answer in JSON.
        .method_not_allowed_fallback(wrong_method)
        .with_state(services)
}

async fn nothing() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "There is nothing here.\n")
}

async fn wrong_method() -> (StatusCode, &'static str) {
    (StatusCode::METHOD_NOT_ALLOWED, "This path does not take this method; the header Allow lists what it takes.\n")
}
