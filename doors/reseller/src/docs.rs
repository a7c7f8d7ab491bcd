//! `/openapi.json` and `/docs`: the document, and a page that shows it. Neither needs a token.

use std::sync::LazyLock;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};

static DOCUMENT: LazyLock<String> =
    LazyLock::new(|| crate::openapi().to_pretty_json().expect("the document is texts, numbers and maps"));

const PAGE: &str = include_str!("../assets/docs.html");
const SCRIPT: &str = include_str!("../assets/docs.js");
const STYLE: &str = include_str!("../assets/docs.css");

/// Nothing from elsewhere, nothing inline: a description that smuggled in a script would be dead text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn router() -> Router {
    let asset = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "max-age=300")], text) })
    };
    Router::new()
        .route("/openapi.json", get(document))
        .route("/docs", get(page))
        .route("/docs/docs.js", asset("text/javascript; charset=utf-8", SCRIPT))
        .route("/docs/docs.css", asset("text/css; charset=utf-8", STYLE))
}

async fn document() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "max-age=300")], DOCUMENT.as_str())
}

async fn page() -> impl IntoResponse {
    let headers =
        [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, POLICY), (CACHE_CONTROL, "max-age=300")];
    (headers, PAGE)
}
