//! `/v1/limits`: what a reseller may do, and what is left of it.

use axum::Json;
use axum::extract::State;
use chancery_domain::Scope;
use chancery_http::{ApiError, Authenticated, DOWNLOADS, Door};
use chancery_service::{Caller, Limit, Limits};
use chancery_wire as wire;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::openapi::Refused;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(show))
}

/// Shows the limits that hold the reseller and its customers
///
/// Where a limit is the reseller's own, what is left of it is told too, as far as this node knows. Whoever meets a limit
/// gets 429 with `Retry-After`, `RateLimit` and `RateLimit-Policy`. A limit that is turned off is not listed.
#[utoipa::path(get, path = "/v1/limits", tag = "Service", operation_id = "getLimits",
    security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::LimitOverview), Refused))]
async fn show(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
) -> Result<Json<wire::LimitOverview>, ApiError> {
    caller.require(Scope::ReadAccount)?;
    let limits = &door.services.limits;
    let rates = Limit::ALL.iter().filter_map(|limit| view(limits, *limit, &caller)).collect();
    let caps = limits.settings().caps;
    let caps = [
        ("open-orders-per-account", caps.open_orders),
        ("policies-per-reseller", caps.policies),
        ("failures-until-a-name-is-paused", caps.failures_to_pause),
        (DOWNLOADS, caps.downloads),
    ];
    let caps = caps.into_iter().filter(|(_, most)| *most > 0);
    let caps = caps.map(|(name, most)| wire::Cap { name: name.to_owned(), most }).collect();
    Ok(Json(wire::LimitOverview { rates, caps }))
}

fn view(limits: &Limits, limit: Limit, caller: &Caller) -> Option<wire::RateLimit> {
    let now = limits.peek(limit, &caller.reseller.to_string())?;
    Some(wire::RateLimit {
        name: limit.as_str().to_owned(),
        what: limit.what().to_owned(),
        per: limit.of().to_owned(),
        burst: now.rate.burst.get(),
        count: now.rate.count.get(),
        seconds: now.rate.per.as_secs(),
        remaining: (limit.of() == "reseller").then_some(now.remaining),
    })
}
