//! The certificates of CAs.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use chancery_domain::IssuerId;
use chancery_service::Services;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use crate::nothing;

/// `{issuer}.crt`, in DER (RFC 5280 section 4.2.2.1). It changes where another CA
/// vouches for it and an operator prefers that.
pub(crate) async fn show(State(services): State<Services>, path: Result<Path<String>, PathRejection>) -> Response {
    let id = path.ok().and_then(|Path(file)| file.strip_suffix(".crt")?.parse::<IssuerId>().ok());
    let Some(der) = id.and_then(|id| services.publication.issuer_certificate(id)) else {
        return nothing().await.into_response();
    };
    let headers = [(CONTENT_TYPE, "application/pkix-cert"), (CACHE_CONTROL, "public, max-age=600")];
    (headers, Bytes::from_owner(der)).into_response()
}
