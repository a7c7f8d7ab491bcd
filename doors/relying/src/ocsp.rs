//! OCSP over HTTP (RFC 6960 appendix A, RFC 5019 section 5).

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use chancery_http::{BodyLimits, read_bounded};
use chancery_service::{OcspAnswer, Services};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, Uri};

use crate::caching::{Freshness, give};

const MEDIA_TYPE: &str = "application/ocsp-response";
/// Somewhat more than any request that is understood, so that those who send more are told so in OCSP.
const MAX_BYTES: usize = 16 * 1024;

/// The request is the body. A cache would not know what was asked, so it is told to keep nothing.
pub(crate) async fn post(State(services): State<Services>, body: Body) -> Response {
    let limits = BodyLimits { max_bytes: MAX_BYTES, ..BodyLimits::default() };
    match read_bounded(body, limits).await {
        Ok(body) => uncached(services.ocsp.answer_post(&body).await),
        // In plain text, as everything here that is not DER.
        Err(refused) => (refused.status(), "The body is too large, too slow or broke off.\n").into_response(),
    }
}

/// The request is the rest of the path: base64, with its slashes as they are or percent-encoded. Some clients put one
/// slash too many before it; none of it is a part of the request, which always begins with `M`.
pub(crate) async fn get(State(services): State<Services>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().strip_prefix("/ocsp/").unwrap_or_default();
    let answer = services.ocsp.answer_get(path.trim_start_matches('/')).await;
    match answer.cacheable.clone() {
        Some(cacheable) => {
            let freshness = Freshness {
                etag: cacheable.etag,
                modified: cacheable.this_update,
                ends: cacheable.next_update,
                now: services.now(),
            };
            give(MEDIA_TYPE, Bytes::from_owner(answer.der), &freshness, &headers)
        }
        None => uncached(answer),
    }
}

fn uncached(answer: OcspAnswer) -> Response {
    ([(CONTENT_TYPE, MEDIA_TYPE), (CACHE_CONTROL, "no-store")], Bytes::from_owner(answer.der)).into_response()
}
