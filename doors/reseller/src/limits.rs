//! `/v1/limits`: what a reseller may do, and what is left of it.

use axum::Json;
use axum::extract::State;
use chancery_domain::Scope;
use chancery_http::{ApiError, Authenticated, Door};
use chancery_overload::{Limit, RateLimits};
use chancery_service::Caller;
use chancery_wire as wire;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::openapi::Refused;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(show))
}

/// Shows the limits that hold the reseller and its customers
///
/// Rates that belong to the reseller also say how many requests are left, as this node knows. A request beyond a limit receives
/// 429 with `Retry-After`, `RateLimit` and `RateLimit-Policy`, and the member `limit` of the response names the limit. Limits that
/// are turned off are not listed.
#[utoipa::path(get, path = "/v1/limits", tag = "Service", operation_id = "getLimits",
    security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::LimitOverview), Refused))]
async fn show(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
) -> Result<Json<wire::LimitOverview>, ApiError> {
    caller.require(Scope::ReadAccount)?;
    let limits = &door.services.limits;
    let rates = Limit::rates().filter_map(|limit| view(limits, limit, &caller)).collect();
    let caps = limits.settings().caps.configured().into_iter();
    let caps = caps.map(|(limit, most)| wire::Cap { name: limit.as_str().to_owned(), most }).collect();
    Ok(Json(wire::LimitOverview { rates, caps }))
}

fn view(limits: &RateLimits, limit: Limit, caller: &Caller) -> Option<wire::RateLimit> {
    let now = limits.peek(limit, &caller.reseller.to_string())?;
    Some(wire::RateLimit {
        name: limit.as_str().to_owned(),
        what: limit.label().to_owned(),
        per: limit.keyed_by().to_owned(),
        burst: now.rate.burst.get(),
        count: now.rate.count.get(),
        seconds: now.rate.per.as_secs(),
        remaining: (limit.keyed_by() == "reseller").then_some(now.remaining),
    })
}
