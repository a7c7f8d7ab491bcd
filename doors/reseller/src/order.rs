//! `/v1/order`: certificate orders.

use std::sync::OnceLock;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chancery_domain::{ExternalId, Metadata, OrderId, OrderStatus, Problems, ProfileName, Scope};
use chancery_http::{
    ApiError, Authenticated, Begun, Door, FilterQuery, JsonBody, RequestKey, StrictPath, list_response,
};
use chancery_service::{
    AccountLookup, Caller, Finalized, NewOrder, Noun, OrderDetails, OrderFilter, SPANS, ServiceError, Services,
};
use chancery_wire::{self as wire, ErrorCode};
use http::StatusCode;
use serde::Deserialize;
use tracing::{Instrument, trace_span};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::gone::with_last_state;
use crate::openapi::{BadBody, Gone, KeyReused, NoAccount, NoOrder, OrderGone, Refused};
use crate::order_view::view;
use crate::selector::{one_account, read_identifiers, read_time};
use crate::unasked::Unasked;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, cancel)).routes(routes!(finalize))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only orders of this account.
    account_lookup: Option<String>,
    /// Only orders with this status.
    status: Option<String>,
    /// Only the order with this reference of yours.
    external_id: Option<String>,
    /// Most results: 1 to 1000, 100 where it is left out.
    #[param(example = "100")]
    limit: Option<String>,
    /// The `nextCursor` of the page before.
    cursor: Option<String>,
}

/// Lists orders
///
/// The `attempts` of challenges are left out here: they are in the order, the authorization and the challenge. With
/// filters, or if orders are long, a page may have fewer orders than `limit`, or none, and a `nextCursor`: the list
/// ends where there is none.
#[utoipa::path(get, path = "/v1/order", tag = "Orders", operation_id = "listOrders", params(ListQuery),
    security(("OAuth2Reseller" = ["reseller", "read:order"])),
    responses((status = 200, body = wire::OrderList), Refused))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    query: FilterQuery<ListQuery>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadOrder)?;
    let now = door.services.now();
    let page = |query: &ListQuery| (query.limit.clone(), query.cursor.clone());
    let ((account, filter), request) = query.read(page, |query| {
        let status = query.status.as_deref().map(read_status).transpose()?;
        let account = query.account_lookup.as_deref().map(AccountLookup::parse);
        Ok((account, OrderFilter { account: None, status, external_id: query.external_id, now }))
    })?;
    let page = door.services.orders.list(&caller, account, filter, &request).await?;
    Ok(list_response(page, |order| in_list(view(order, now))))
}

/// Without the looks, which may be longer than all the rest.
fn in_list(mut order: wire::Order) -> wire::Order {
    for challenge in order.authorizations.iter_mut().flat_map(|each| &mut each.challenges) {
        challenge.attempts.clear();
    }
    order
}

fn read_status(text: &str) -> Result<OrderStatus, ServiceError> {
    text.parse().map_err(|_| {
        let known: Vec<_> = OrderStatus::ALL.iter().map(|status| status.as_str()).collect();
        ServiceError::invalid("status", "invalid", format!("must be one of {}", known.join(", ")))
    })
}

/// Creates an order for an account
#[utoipa::path(post, path = "/v1/order", tag = "Orders", operation_id = "createOrder",
    request_body = wire::ResellerOrderRequest, params(crate::openapi::IdempotencyKey),
    security(("OAuth2Reseller" = ["reseller", "write:order"])),
    responses((status = 201, body = wire::Order), Refused, BadBody, KeyReused, NoAccount, Gone))]
async fn create(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    key: Result<RequestKey, ApiError>,
    body: Result<JsonBody<wire::ResellerOrderRequest>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::WriteOrder)?;
    let (key, body, now) = (key?, body?, door.services.now());
    let (bytes, shown) = (body.bytes.clone(), move |made: &OrderDetails| view(made, now));
    let told = OnceLock::new();
    let answer = key.answer(&door, &caller, &bytes, StatusCode::CREATED, shown, async |once| {
        let (once, fits) = (once?, body.fits());
        let new = body.read(|request| read_order(request, fits, &door.services))?;
        let span = trace_span!(target: SPANS, "order.create");
        let (made, begun) = Begun::by(door.services.orders.create(&caller, new, once).instrument(span)).await?;
        told.set(begun).ok();
        Ok(made)
    });
    let answer = answer.await?;
    Ok((told.into_inner(), answer).into_response())
}

/// Shows an order
#[utoipa::path(get, path = "/v1/order/{order_lookup}", tag = "Orders", operation_id = "getOrder",
    params(("order_lookup" = String, Path, description = "The order")),
    security(("OAuth2Reseller" = ["reseller", "read:order"])),
    responses((status = 200, body = wire::Order), Refused, NoOrder, OrderGone))]
async fn show(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::Order>, ApiError> {
    caller.require(Scope::ReadOrder)?;
    let (details, now) = (door.services.orders.show(&caller, read_order_id(&lookup)?).await?, door.services.now());
    let shown = view(&details, now);
    if details.order.is_expired(now) {
        let message = format!("The order expired at {}.", details.order.expires_at);
        return Err(ApiError::gone(ErrorCode::OrderGone, message).with_extra("order", crate::order_view::json(&shown)));
    }
    Ok(Json(shown))
}

/// Cancels an order: its authorizations are deactivated
#[utoipa::path(delete, path = "/v1/order/{order_lookup}", tag = "Orders", operation_id = "cancelOrder",
    params(("order_lookup" = String, Path, description = "The order")),
    security(("OAuth2Reseller" = ["reseller", "write:order"])),
    responses((status = 200, body = wire::Order), Refused, NoOrder, OrderGone))]
async fn cancel(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    unasked: Unasked,
) -> Result<Json<wire::Order>, ApiError> {
    caller.require(Scope::WriteOrder)?;
    let (id, span) = (read_order_id(&lookup)?, trace_span!(target: SPANS, "order.cancel"));
    unasked.refuse(door.services.orders.require_alive(&caller, id), "order", last(&door, &caller, id)).await?;
    match door.services.orders.cancel(&caller, id).instrument(span).await {
        Ok(details) => Ok(Json(view(&details, door.services.now()))),
        Err(refused) => Err(with_last_state(refused, "order", last(&door, &caller, id)).await),
    }
}

/// Asks for the certificate of an order whose names are all authorized
#[utoipa::path(post, path = "/v1/order/{order_lookup}/finalize", tag = "Orders", operation_id = "finalizeOrder",
    params(("order_lookup" = String, Path, description = "The order")),
    security(("OAuth2Reseller" = ["reseller", "write:order"])),
    responses((status = 202, body = wire::Order), (status = 208, body = wire::Order), Refused, NoOrder, OrderGone))]
async fn finalize(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    unasked: Unasked,
) -> Result<(StatusCode, Json<wire::Order>), ApiError> {
    caller.require(Scope::WriteOrder)?;
    let (id, span) = (read_order_id(&lookup)?, trace_span!(target: SPANS, "order.finalize"));
    // Whoever sends a CSR here would think that it is what the certificate is for.
    unasked.refuse(door.services.orders.require_alive(&caller, id), "order", last(&door, &caller, id)).await?;
    let (status, details) = match door.services.orders.finalize(&caller, id).instrument(span).await {
        Ok(Finalized::Accepted(details)) => (StatusCode::ACCEPTED, details),
        Ok(Finalized::AlreadyAccepted(details)) => (StatusCode::ALREADY_REPORTED, details),
        Err(refused) => return Err(with_last_state(refused, "order", last(&door, &caller, id)).await),
    };
    Ok((status, Json(view(&details, door.services.now()))))
}

async fn last(door: &Door, caller: &Caller, id: OrderId) -> Result<wire::Order, ServiceError> {
    let details = door.services.orders.show(caller, id).await?;
    Ok(view(&details, door.services.now()))
}

/// A lookup of another kind names no order.
pub(crate) fn read_order_id(text: &str) -> Result<OrderId, ServiceError> {
    text.parse().map_err(|_| ServiceError::not_found(Noun::Order))
}

/// What is wrong with the CSR and the profile is told later, once it is clear that the caller may order at all; where something else is
/// wrong, or the body does not fit, it is told along with that.
fn read_order(request: wire::ResellerOrderRequest, fits: bool, services: &Services) -> Result<NewOrder, ServiceError> {
    let mut problems = Problems::default();
    let account = one_account(request.account_lookup, request.customer_email, request.eab_kid, &mut problems);
    let profile = request.profile.and_then(|text| problems.take("profile", ProfileName::parse(&text)));
    let identifiers = request.identifiers.map(|inputs| read_identifiers(&inputs, &mut problems));
    let not_before = read_time("not_before", request.not_before, &mut problems);
    let not_after = read_time("not_after", request.not_after, &mut problems);
    let external_id = request.external_id.and_then(|text| problems.take("external_id", ExternalId::parse(&text)));
    let metadata = Metadata::parse("metadata", request.metadata.unwrap_or_default(), &mut problems);
    if !fits || !problems.is_empty() {
        problems.0.extend(services.certificates.unjudgeable(&request.csr, profile.as_ref()).0);
    }
    problems.into_result().map_err(ServiceError::Invalid)?;
    Ok(NewOrder { account, profile, csr: request.csr, identifiers, not_before, not_after, external_id, metadata })
}
