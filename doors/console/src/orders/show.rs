//! One order and its story.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::{OrderId, OrderState, Scope, Timestamp};
use chancery_http::Door;
use chancery_service::{AccountLookup, Noun, OrderDetails, ServiceError};
use maud::{Markup, html};

use super::timeline::timeline;
use crate::layout::Context;
use crate::parts::{confirmed, fact, names, pill, trail};
use crate::refused::Refused;
use crate::session::{Change, SignedIn, see_other};
use crate::text::{exact, moment};

/// Seconds until an open order is looked at again.
const SOON: u32 = 3;
const LATER: u32 = 15;

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Path(id): Path<String>) -> Result<Response, Refused> {
    let details = door.services.orders.show(&who.caller, read_id(&id)?).await?;
    let may_write = who.caller.scopes.contains(Scope::WriteOrder);
    let account = details.order.account;
    let customer = match who.caller.scopes.contains(Scope::ReadAccount) {
        true => door.services.accounts.find(&who.caller, AccountLookup::Id(account)).await?.email.to_string(),
        false => account.to_string(),
    };
    Ok(who.context.page("Order", body(&door, &who.context, &details, &customer, may_write)))
}

pub(crate) async fn cancel(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    let id = read_id(&id)?;
    door.services.orders.cancel(&change.caller, id).await?;
    Ok(see_other(&format!("/console/orders/{id}?done=cancelled")))
}

pub(crate) async fn finalize(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    let id = read_id(&id)?;
    door.services.orders.finalize(&change.caller, id).await?;
    Ok(see_other(&format!("/console/orders/{id}?done=finalized")))
}

fn read_id(id: &str) -> Result<OrderId, ServiceError> {
    id.parse().map_err(|_| ServiceError::not_found(Noun::Order))
}

fn body(door: &Door, context: &Context, details: &OrderDetails, customer: &str, may_write: bool) -> Markup {
    let OrderDetails { order, authorizations, .. } = details;
    let now = door.services.now();
    let again = refresh(details, now);
    html! {
        (trail("/console/orders", "Orders"))
        div.title data-refresh=[again] { h1 { "Order for " (names(&order.identifiers)) } (pill(order.status(now).as_str())) }
        section.card { dl.facts {
            (fact("Names", html! { ul.tags { @for name in &order.identifiers { li.tag { (name) } } } }))
            (fact("Customer", html! { a href={ "/console/customers/" (order.account) } { (customer) } }))
            (fact("Profile", html! { (order.profile) }))
            (fact("Ordered", html! { (moment(order.created_at, now)) " through " (order.via.as_str()) }))
            (fact("Expires", html! { (exact(order.expires_at)) }))
            @if let Some(id) = &order.external_id { (fact("Your reference", html! { (id) })) }
            @for (key, value) in order.metadata.pairs() { (fact(key, html! { (value) })) }
            (fact("Lookup", html! { span.mono { (order.id) } }))
        } }
        section.card { h2 { "What happened" } (timeline(order, authorizations, now)) }
        @if may_write && order.is_open(now) {
            section.card {
                h2 { "Go on or stop" }
                div.row {
                    @if order.state == OrderState::Ready && order.csr.is_some() {
                        form method="post" action={ "/console/orders/" (order.id) "/finalize" } {
                            (context.token()) button.primary type="submit" { "Issue the certificate" }
                        }
                    }
                    (confirmed("Cancel…", html! {
                        form method="post" action={ "/console/orders/" (order.id) "/cancel" } {
                            (context.token())
                            p { "Nothing is issued for it any more, and its authorizations are given up." }
                            button.bad type="submit" { "Cancel the order" }
                        }
                    }))
                }
            }
        }
    }
}

/// After how many seconds there may be more to see: soon where we are at work, later where somebody else has to go on, never
/// where it has ended.
fn refresh(details: &OrderDetails, now: Timestamp) -> Option<u32> {
    let OrderDetails { order, authorizations, .. } = details;
    let looking = authorizations.iter().any(|each| each.tried().is_some());
    match &order.state {
        OrderState::Processing { .. } => Some(SOON),
        OrderState::Pending | OrderState::Ready if !order.is_open(now) => None,
        OrderState::Pending if looking => Some(SOON),
        OrderState::Pending | OrderState::Ready => Some(LATER),
        OrderState::Valid { .. } | OrderState::Invalid { .. } | OrderState::Cancelled { .. } => None,
    }
}
