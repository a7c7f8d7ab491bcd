//! `/v1/webhook`: where resellers are told of events.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Description, Problems, Scope, Webhook, WebhookId, WebhookUrl, WebhookUrlRules};
use chancery_http::{
    ApiError, Authenticated, Door, JsonBody, RequestKey, StrictPath, StrictQuery, list_request, list_response,
};
use chancery_service::{Caller, NewWebhook, NewWebhookSecret, Noun, ServiceError, WebhookChange};
use chancery_wire as wire;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::account::time;
use crate::event::read_types;
use crate::openapi::{BadBody, KeyReused, NoWebhook, PageQuery, Refused};

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, change, delete))
        .routes(routes!(rotate_secret))
}

/// Types that one webhook may name.
const MOST_TYPES: usize = 100;
/// Where a body is passed over, requests under one key are the same whatever it says.
pub(crate) const NO_BODY: &[u8] = b"";

/// Lists webhooks
#[utoipa::path(get, path = "/v1/webhook", tag = "Webhooks", operation_id = "listWebhooks", params(PageQuery),
    security(("OAuth2Reseller" = ["reseller", "read:webhook"])),
    responses((status = 200, body = wire::WebhookList), Refused))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    query: Result<StrictQuery<PageQuery>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadWebhook)?;
    let StrictQuery(PageQuery { limit, cursor }) = query?;
    let page = door.services.webhooks.list(&caller, &list_request(limit, cursor)?).await?;
    Ok(list_response(page, view))
}

/// Creates a webhook
///
/// It is told of all that happens from then on. The answer alone has its secret.
#[utoipa::path(post, path = "/v1/webhook", tag = "Webhooks", operation_id = "createWebhook",
    request_body = wire::WebhookRequest, params(crate::openapi::IdempotencyKey),
    security(("OAuth2Reseller" = ["reseller", "write:webhook"])),
    responses((status = 201, body = wire::WebhookWithSecret), Refused, BadBody, KeyReused))]
async fn create(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    key: Result<RequestKey, ApiError>,
    body: Result<JsonBody<wire::WebhookRequest>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::WriteWebhook)?;
    let (key, body) = (key?, body?);
    let bytes = body.bytes.clone();
    let view = |made: &NewWebhookSecret| with_secret(made, None);
    key.answer(&door, &caller, &bytes, StatusCode::CREATED, view, async |once| {
        let once = once?;
        let new = body.read(|request| read_new(request, door.services.settings.webhooks.urls))?;
        Ok(door.services.webhooks.create(&caller, new, once).await?)
    })
    .await
}

/// Shows a webhook
#[utoipa::path(get, path = "/v1/webhook/{webhook_lookup}", tag = "Webhooks", operation_id = "getWebhook",
    params(("webhook_lookup" = String, Path, description = "The webhook")),
    security(("OAuth2Reseller" = ["reseller", "read:webhook"])),
    responses((status = 200, body = wire::Webhook), Refused, NoWebhook))]
async fn show(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::Webhook>, ApiError> {
    caller.require(Scope::ReadWebhook)?;
    Ok(Json(view(&door.services.webhooks.show(&caller, read_webhook_id(&lookup)?).await?)))
}

/// Changes a webhook in part
#[utoipa::path(patch, path = "/v1/webhook/{webhook_lookup}", tag = "Webhooks", operation_id = "updateWebhook",
    request_body = wire::UpdateWebhookRequest,
    params(("webhook_lookup" = String, Path, description = "The webhook")),
    security(("OAuth2Reseller" = ["reseller", "write:webhook"])),
    responses((status = 200, body = wire::Webhook), Refused, BadBody, NoWebhook))]
async fn change(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    body: Result<JsonBody<wire::UpdateWebhookRequest>, ApiError>,
) -> Result<Json<wire::Webhook>, ApiError> {
    caller.require(Scope::WriteWebhook)?;
    let id = find(&door, &caller, &lookup).await?;
    let change = body?.read(|request| read_change(request, door.services.settings.webhooks.urls))?;
    Ok(Json(view(&door.services.webhooks.change(&caller, id, change).await?)))
}

/// Deletes a webhook, with what was told to it
#[utoipa::path(delete, path = "/v1/webhook/{webhook_lookup}", tag = "Webhooks", operation_id = "deleteWebhook",
    params(("webhook_lookup" = String, Path, description = "The webhook")),
    security(("OAuth2Reseller" = ["reseller", "write:webhook"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, NoWebhook))]
async fn delete(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteWebhook)?;
    door.services.webhooks.delete(&caller, read_webhook_id(&lookup)?).await?;
    Ok(Json(wire::SuccessResponse::new(format!("The webhook {lookup} is deleted."))))
}

/// Gives a webhook a new secret
///
/// For a day messages are signed with the one before as well: `webhook-signature` has a signature for each.
#[utoipa::path(post, path = "/v1/webhook/{webhook_lookup}/secret", tag = "Webhooks",
    operation_id = "rotateWebhookSecret",
    params(("webhook_lookup" = String, Path, description = "The webhook"), crate::openapi::IdempotencyKey),
    security(("OAuth2Reseller" = ["reseller", "write:webhook"])),
    responses((status = 200, body = wire::WebhookWithSecret), Refused, KeyReused, NoWebhook))]
async fn rotate_secret(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    key: Result<RequestKey, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::WriteWebhook)?;
    let key = key_about(key, &door, &caller, &lookup).await?;
    let view = |made: &NewWebhookSecret| with_secret(made, Some(made.others_end.to_string()));
    key.answer(&door, &caller, NO_BODY, StatusCode::OK, view, async |once| {
        let id = find(&door, &caller, &lookup).await?;
        let once = once?;
        Ok(door.services.webhooks.rotate_secret(&caller, id, once).await?)
    })
    .await
}

/// The key of a request about a webhook. That there is no such webhook is told before what is wrong with the key.
pub(crate) async fn key_about(
    key: Result<RequestKey, ApiError>,
    door: &Door,
    caller: &Caller,
    lookup: &str,
) -> Result<RequestKey, ApiError> {
    if key.is_err() {
        find(door, caller, lookup).await?;
    }
    key
}

/// The webhook that a path names, if it is there and the caller's.
pub(crate) async fn find(door: &Door, caller: &Caller, lookup: &str) -> Result<WebhookId, ServiceError> {
    Ok(door.services.webhooks.show(caller, read_webhook_id(lookup)?).await?.id)
}

/// A lookup of another kind names no webhook.
fn read_webhook_id(text: &str) -> Result<WebhookId, ServiceError> {
    text.parse().map_err(|_| ServiceError::not_found(Noun::Webhook))
}

fn read_new(request: wire::WebhookRequest, rules: WebhookUrlRules) -> Result<NewWebhook, ServiceError> {
    let mut problems = Problems::default();
    let url = problems.take("url", WebhookUrl::parse(&request.url, rules));
    let types = types(&request.types.unwrap_or_default(), &mut problems);
    let description = request.description.and_then(|text| problems.take("description", Description::parse(&text)));
    match url {
        Some(url) if problems.is_empty() => Ok(NewWebhook { url, description, types }),
        _ => Err(ServiceError::Invalid(problems)),
    }
}

fn read_change(request: wire::UpdateWebhookRequest, rules: WebhookUrlRules) -> Result<WebhookChange, ServiceError> {
    let mut problems = Problems::default();
    let url = request.url.and_then(|text| problems.take("url", WebhookUrl::parse(&text, rules)));
    let types = request.types.map(|names| types(&names, &mut problems));
    let description = request.description.and_then(|text| problems.take("description", Description::parse(&text)));
    let change = WebhookChange { url, description, types, enabled: request.enabled };
    if problems.is_empty() && change == WebhookChange::default() {
        problems.add("body", "nothing_to_change", "must name at least one of url, types, description, enabled");
    }
    problems.into_result().map_err(ServiceError::Invalid).map(|()| change)
}

fn types(names: &[String], problems: &mut Problems) -> Vec<chancery_domain::EventType> {
    if names.len() > MOST_TYPES {
        problems.add("types", "too_many", format!("must name at most {MOST_TYPES} types"));
    }
    let mut types = read_types(names.iter().map(String::as_str), "types", problems);
    types.sort();
    types.dedup();
    types
}

fn with_secret(made: &NewWebhookSecret, previous_secret_ends_at: Option<String>) -> wire::WebhookWithSecret {
    let secret = made.secret.reveal().to_owned();
    wire::WebhookWithSecret { webhook: view(&made.webhook), secret, previous_secret_ends_at }
}

fn view(webhook: &Webhook) -> wire::Webhook {
    wire::Webhook {
        lookup: webhook.id.to_string(),
        url: webhook.url.as_str().to_owned(),
        types: webhook.types.iter().map(ToString::to_string).collect(),
        description: webhook.description.as_ref().map(ToString::to_string),
        status: webhook.state.as_str().to_owned(),
        failing_since: time(webhook.failing_since),
        created_at: webhook.created_at.to_string(),
        updated_at: webhook.updated_at.to_string(),
    }
}
