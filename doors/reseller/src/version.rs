//! `/v1/version`: which program is answering. Needs no token.

use axum::Json;
use axum::extract::State;
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
async fn version(State(door): State<Door>) -> Json<wire::Version> {
    Json(wire::Version { name: "chancery".to_owned(), version: door.version.to_owned(), api_version: "v1".to_owned() })
}
