//! Revocation lists.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use chancery_domain::IssuerId;
use chancery_service::{CrlName, NoCrl, Services};
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};

use crate::caching::{Freshness, give};
use crate::nothing;

/// `{issuer}/{shard}.crl`, or `{issuer}/root.crl`.
pub(crate) async fn show(
    State(services): State<Services>,
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
) -> Response {
    let list = path.ok().and_then(|Path((issuer, file))| read(&issuer, &file));
    let Some((issuer, name)) = list else { return nothing().await.into_response() };
    let crl = match services.publication.expect_crl(issuer, name).await {
        Ok(crl) => crl,
        Err(NoCrl::Unknown) => return nothing().await.into_response(),
        Err(NoCrl::ToCome) => return to_come().into_response(),
    };
    let freshness =
        Freshness { etag: crl.etag.clone(), modified: crl.this_update, ends: crl.next_update, now: services.now() };
    give("application/pkix-crl", Bytes::from_owner(crl.der.clone()), &freshness, &headers)
}

fn to_come() -> impl IntoResponse {
    let said = "This list is about to be made; ask again in a moment.\n";
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "2")], said)
}

fn read(issuer: &str, file: &str) -> Option<(IssuerId, CrlName)> {
    Some((issuer.parse().ok()?, file.strip_suffix(".crl")?.parse().ok()?))
}
