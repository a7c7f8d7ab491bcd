//! `/v1/event`: what has happened.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chancery_domain::{EventId, EventType, Problems, Scope};
use chancery_http::{ApiError, Authenticated, Door, FilterQuery, StrictPath, list_response};
use chancery_service::{AccountLookup, Event, EventFilter, Noun, ServiceError};
use chancery_wire as wire;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::openapi::{NoEvent, Refused};
use crate::selector::read_time;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// One type or several with commas between, such as `certificate.issued,certificate.revoked`. There are:
    /// `account.created`, `account.updated`, `account.suspended`, `account.resumed`, `account.terminated`,
    /// `eab_credential.created`, `eab_credential.revoked`, `eab_credential.first_used`, `order.created`, `order.ready`,
    /// `order.valid`, `order.invalid`, `order.cancelled`, `authorization.valid`, `authorization.invalid`,
    /// `authorization.deactivated`, `certificate.issued`, `certificate.expiring`, `certificate.revoked`,
    /// `policy.refused`, `quota.exceeded`, `webhook.disabled`, `webhook.test`.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Only events of this root account.
    account_lookup: Option<String>,
    /// Only events from this time on.
    created_after: Option<String>,
    /// Only events before this time.
    created_before: Option<String>,
    /// `newest` first, or `oldest` first in the order of commits, to be followed.
    #[param(example = "newest")]
    order: Option<String>,
    /// Most results: 1 to 1000, 100 where it is left out.
    #[param(example = "100")]
    limit: Option<String>,
    /// The `nextCursor` of the page before.
    cursor: Option<String>,
}

/// Lists events
///
/// A page may have fewer events than `limit`, or none, and a `nextCursor`. Newest first, the list ends where there is none.
/// With `order=oldest` there is always one: keep it and ask again with it later for what has happened since. Nothing is left
/// out and nothing comes twice that way.
#[utoipa::path(get, path = "/v1/event", tag = "Events", operation_id = "listEvents", params(ListQuery),
    security(("OAuth2Reseller" = ["reseller", "read:event"])),
    responses((status = 200, body = wire::EventList), Refused))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    query: FilterQuery<ListQuery>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadEvent)?;
    let (filter, request) = query.read(|query| (query.limit.clone(), query.cursor.clone()), read_filter)?;
    let page = door.services.events.list(&caller, filter, &request).await?;
    Ok(list_response(page, view))
}

/// Shows an event
#[utoipa::path(get, path = "/v1/event/{lookup}", tag = "Events", operation_id = "getEvent",
    params(("lookup" = String, Path, description = "The event")),
    security(("OAuth2Reseller" = ["reseller", "read:event"])),
    responses((status = 200, body = wire::Event), Refused, NoEvent))]
async fn show(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::Event>, ApiError> {
    caller.require(Scope::ReadEvent)?;
    let id: EventId = lookup.parse().map_err(|_| ServiceError::not_found(Noun::Event))?;
    Ok(Json(view(&door.services.events.show(&caller, id).await?)))
}

fn read_filter(query: ListQuery) -> Result<EventFilter, ServiceError> {
    let mut problems = Problems::default();
    let types = read_types(query.kind.iter().flat_map(|text| text.split(',')).map(str::trim), "type", &mut problems);
    let created_after = read_time("created_after", query.created_after, &mut problems);
    let created_before = read_time("created_before", query.created_before, &mut problems);
    let oldest_first = match query.order.as_deref() {
        None | Some("newest") => false,
        Some("oldest") => true,
        Some(_) => {
            problems.add("order", "invalid", "must be newest or oldest");
            false
        }
    };
    problems.into_result().map_err(ServiceError::Invalid)?;
    let account = query.account_lookup.map(|text| AccountLookup::parse(&text));
    Ok(EventFilter { types, account, created_after, created_before, oldest_first })
}

/// Types of events by their names.
pub(crate) fn read_types<'a>(
    names: impl Iterator<Item = &'a str>,
    field: &str,
    problems: &mut Problems,
) -> Vec<EventType> {
    names.filter_map(|name| problems.take(field, name.parse::<EventType>())).collect()
}

fn view(event: &Event) -> wire::Event {
    wire::Event {
        id: event.id.to_string(),
        kind: event.kind.to_string(),
        timestamp: event.at.to_string(),
        account: event.account.clone(),
        subject: event.subject.clone(),
        data: event.data.clone(),
    }
}
