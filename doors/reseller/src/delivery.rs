//! `/v1/webhook/{lookup}/delivery`: what was told to a webhook; and what is to be told now.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Delivery, DeliveryId, DeliveryState, Scope};
use chancery_http::{ApiError, Authenticated, Door, RequestKey, StrictPath, StrictQuery, list_request, list_response};
use chancery_service::{Noun, ServiceError};
use chancery_wire as wire;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::openapi::{KeyReused, NoDelivery, NoWebhook, PageQuery, Refused};
use crate::webhook::{NO_BODY, find, key_about};

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(test)).routes(routes!(list)).routes(routes!(redeliver))
}

/// Sends a test message to a webhook, and to no other
#[utoipa::path(post, path = "/v1/webhook/{webhook_lookup}/test", tag = "Webhooks", operation_id = "testWebhook",
    params(("webhook_lookup" = String, Path, description = "The webhook"), crate::openapi::IdempotencyKey),
    security(("OAuth2Reseller" = ["reseller", "write:webhook"])),
    responses((status = 202, body = wire::Delivery), Refused, KeyReused, NoWebhook))]
async fn test(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    key: Result<RequestKey, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::WriteWebhook)?;
    let key = key_about(key, &door, &caller, &lookup).await?;
    key.answer(&door, &caller, NO_BODY, StatusCode::ACCEPTED, view, async |once| {
        let id = find(&door, &caller, &lookup).await?;
        let once = once?;
        Ok(door.services.webhooks.test(&caller, id, once).await?)
    })
    .await
}

/// Lists what was told to a webhook in the last 30 days
#[utoipa::path(get, path = "/v1/webhook/{webhook_lookup}/delivery", tag = "Webhooks", operation_id = "listDeliveries",
    params(("webhook_lookup" = String, Path, description = "The webhook"), PageQuery),
    security(("OAuth2Reseller" = ["reseller", "read:webhook"])),
    responses((status = 200, body = wire::DeliveryList), Refused, NoWebhook))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    query: Result<StrictQuery<PageQuery>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadWebhook)?;
    let id = find(&door, &caller, &lookup).await?;
    let StrictQuery(PageQuery { limit, cursor }) = query?;
    let page = door.services.webhooks.deliveries(&caller, id, &list_request(limit, cursor)?).await?;
    Ok(list_response(page, view))
}

/// Tells an event once more, whatever came of it before
#[utoipa::path(post, path = "/v1/webhook/{webhook_lookup}/delivery/{delivery_lookup}/redeliver", tag = "Webhooks",
    operation_id = "redeliver",
    params(("webhook_lookup" = String, Path, description = "The webhook"),
           ("delivery_lookup" = String, Path, description = "The delivery")),
    security(("OAuth2Reseller" = ["reseller", "write:webhook"])),
    responses((status = 202, body = wire::Delivery), Refused, NoDelivery))]
async fn redeliver(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath((webhook, delivery)): StrictPath<(String, String)>,
) -> Result<(StatusCode, Json<wire::Delivery>), ApiError> {
    caller.require(Scope::WriteWebhook)?;
    let id = find(&door, &caller, &webhook).await?;
    let delivery: DeliveryId = delivery.parse().map_err(|_| ServiceError::not_found(Noun::Delivery))?;
    Ok((StatusCode::ACCEPTED, Json(view(&door.services.webhooks.redeliver(&caller, id, delivery).await?))))
}

fn view(delivery: &Delivery) -> wire::Delivery {
    let last = delivery.last.as_ref();
    let pending = delivery.state == DeliveryState::Pending;
    wire::Delivery {
        lookup: delivery.id.to_string(),
        event: delivery.event.to_string(),
        event_type: delivery.kind.to_string(),
        status: delivery.state.as_str().to_owned(),
        attempts: delivery.attempts,
        next_attempt_at: pending.then(|| delivery.due_at.to_string()),
        last_attempt_at: last.map(|last| last.at.to_string()),
        last_attempt_milliseconds: last.map(|last| u64::try_from(last.took.as_millis()).unwrap_or(u64::MAX)),
        response_status: last.and_then(|last| last.answered),
        error: last.and_then(|last| last.failure.clone()),
        created_at: delivery.created_at.to_string(),
    }
}
