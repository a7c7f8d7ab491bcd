//! `/v1/pause`: names whose validation failed too often, until somebody lifts it.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Pause, PauseId, Scope};
use chancery_http::{ApiError, Authenticated, Door, StrictPath, StrictQuery, list_request, list_response};
use chancery_service::{Noun, ServiceError};
use chancery_wire as wire;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::openapi::{NoPause, PageQuery, Refused};

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(lift))
}

/// Lists the names that are paused
///
/// Where validations of a name fail for an account again and again, new orders for it are refused, at either door, until
/// the cause is mended and the pause lifted.
#[utoipa::path(get, path = "/v1/pause", tag = "Orders", operation_id = "listPauses", params(PageQuery),
    security(("OAuth2Reseller" = ["reseller", "read:order"])),
    responses((status = 200, body = wire::PauseList), Refused))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    query: Result<StrictQuery<PageQuery>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadOrder)?;
    let StrictQuery(PageQuery { limit, cursor }) = query?;
    let page = door.services.pauses.list(&caller, &list_request(limit, cursor)?).await?;
    Ok(list_response(page, view))
}

/// Lifts a pause
///
/// New orders for the name are taken again on every node within seconds, and failures are counted from none.
#[utoipa::path(delete, path = "/v1/pause/{lookup}", tag = "Orders", operation_id = "deletePause",
    params(("lookup" = String, Path, description = "The pause")),
    security(("OAuth2Reseller" = ["reseller", "write:order"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, NoPause))]
async fn lift(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteOrder)?;
    let id: PauseId = lookup.parse().map_err(|_| ServiceError::not_found(Noun::Pause))?;
    let pause = door.services.pauses.lift(&caller, id).await?;
    Ok(Json(wire::SuccessResponse::new(format!("New orders for {} are taken again.", pause.name))))
}

fn view(pause: &Pause) -> wire::PauseRecord {
    wire::PauseRecord {
        lookup: pause.id.to_string(),
        account: pause.account.to_string(),
        name: pause.name.to_string(),
        failures: pause.failures,
        problem: pause.problem.clone(),
        first_failed_at: pause.first_failed_at.to_string(),
        last_failed_at: pause.last_failed_at.to_string(),
        paused_at: pause.paused_at.to_string(),
    }
}
