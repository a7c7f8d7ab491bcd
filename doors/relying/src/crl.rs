//! Revocation lists.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use chancery_domain::IssuerId;
use chancery_service::{CrlName, Services};
use http::HeaderMap;

use crate::caching::{Freshness, give};
use crate::nothing;

/// `{issuer}/{shard}.crl`, or `{issuer}/root.crl`.
pub(crate) async fn show(
    State(services): State<Services>,
    Path((issuer, file)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let name = file.strip_suffix(".crl").and_then(|name| name.parse::<CrlName>().ok());
    let list = issuer.parse::<IssuerId>().ok().zip(name);
    let Some(crl) = list.and_then(|(issuer, name)| services.publication.crl(issuer, name)) else {
        return nothing().await.into_response();
    };
    let freshness =
        Freshness { etag: crl.etag.clone(), modified: crl.this_update, ends: crl.next_update, now: services.now() };
    give("application/pkix-crl", Bytes::from_owner(crl.der.clone()), &freshness, &headers)
}
