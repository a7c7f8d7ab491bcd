//! `/v1/version`: which program is answering. Needs no token.

use axum::Json;
use chancery_http::Door;
use chancery_wire as wire;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(version))
}

/// Names the program and its version
#[utoipa::path(get, path = "/v1/version", tag = "Service", operation_id = "getVersion", security(()),
    responses((status = 200, body = wire::Version)))]
async fn version() -> Json<wire::Version> {
    Json(wire::Version {
        name: "chancery".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        api_version: "v1".to_owned(),
    })
}
