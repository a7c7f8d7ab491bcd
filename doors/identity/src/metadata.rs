//! The public keys of our tokens, and the metadata of RFC 8414.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use chancery_domain::Scope;
use chancery_http::Door;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde_json::{Value, json};

/// New keys are published an hour before they are used, so a verifier may keep the set for some minutes.
pub(crate) async fn jwks(State(door): State<Door>) -> impl IntoResponse {
    let keys = door.services.identity.jwks().to_value().to_string();
    ([(CONTENT_TYPE, "application/jwk-set+json"), (CACHE_CONTROL, "public, max-age=300")], keys)
}

pub(crate) async fn server(State(door): State<Door>) -> Json<Value> {
    let auth = &door.urls.auth_url;
    let scopes: Vec<_> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    Json(json!({
        "issuer": door.services.settings.issuer,
        "token_endpoint": format!("{auth}/oauth/token"),
        "jwks_uri": format!("{auth}/.well-known/jwks.json"),
        "scopes_supported": scopes,
        "response_types_supported": [],
        "grant_types_supported": ["client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
        "service_documentation": format!("{}/docs", door.urls.base_url),
        // RFC 8414 section 2 allows further members: what a client has to send as `audience`.
        "chancery_audience": door.services.settings.audience,
    }))
}
