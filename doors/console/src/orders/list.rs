//! The list of orders.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Order, OrderState, OrderStatus, Scope, Timestamp};
use chancery_http::Door;
use chancery_service::{AccountLookup, ListRequest, OrderDetails, OrderFilter};
use maud::{Markup, html};

use super::pauses;
use crate::form::Fields;
use crate::parts::{columns, empty, heading, names, pager, pill};
use crate::query::{Query, link};
use crate::refused::{Refused, sentence};
use crate::session::SignedIn;
use crate::text::moment;

const PAGE: u32 = 50;
const PATH: &str = "/console/orders";

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Query(query): Query) -> Result<Response, Refused> {
    let now = door.services.now();
    let status = query.filled("status").map(str::parse).transpose();
    let status = status.map_err(|why: String| Refused::incomplete(sentence(&why)))?;
    let external_id = query.filled("q").map(str::to_owned);
    let account = query.filled("customer").map(AccountLookup::parse);
    let filter = OrderFilter { account: None, status, external_id, now };
    let found = door.services.orders.list(&who.caller, account, filter, &query.page(PAGE)).await?;
    let keep = |cursor: &str| {
        link(
            PATH,
            &[
                ("status", query.text("status")),
                ("q", query.text("q")),
                ("customer", query.text("customer")),
                ("cursor", cursor),
            ],
        )
    };
    let first = ListRequest { limit: 20, cursor: None };
    let paused = door.services.pauses.list(&who.caller, &first).await?.items;
    let body = html! {
        (heading("Orders", html! { "How each certificate came about, or why it did not." }, html! {}))
        (pauses::card(&who.context, &paused, who.caller.scopes.contains(Scope::WriteOrder), now))
        (filters(&query))
        @if found.items.is_empty() {
            (empty("No orders here.", html! { "They come from your customers' ACME clients and from your own calls of the API. " a href=(PATH) { "Show all orders" } "." }))
        } @else { (table(&found.items, now)) }
        (pager(found.next_cursor.as_deref().map(keep), query.filled("cursor").map(|_| PATH)))
    };
    Ok(who.context.page("Orders", body))
}

fn filters(query: &Fields) -> Markup {
    let status = query.text("status");
    html! {
        form.filters method="get" action=(PATH) role="search" {
            div.field {
                label for="f-q" { "Your reference" }
                input id="f-q" name="q" type="search" value=(query.text("q")) placeholder="The external id of an order";
            }
            div.field {
                label for="f-status" { "Status" }
                select id="f-status" name="status" {
                    option value="" { "Every status" }
                    @for known in OrderStatus::ALL.iter().map(|known| known.as_str()) {
                        option value=(known) selected[known == status] { (known) }
                    }
                }
            }
            @if let Some(customer) = query.filled("customer") { input type="hidden" name="customer" value=(customer); }
            button type="submit" { "Show" }
            @if let Some(customer) = query.filled("customer") {
                p.muted { "Of one customer only: " span.mono { (customer) } ". " a href=(PATH) { "Show all" } }
            }
        }
    }
}

pub(crate) fn table(orders: &[OrderDetails], now: Timestamp) -> Markup {
    html! {
        table.cards {
            caption.hidden { "Orders" }
            (columns(&["Names", "Status", "Why", "Ordered", "Profile"]))
            tbody {
                @for OrderDetails { order, .. } in orders {
                    tr {
                        th scope="row" data-label="Names" {
                            a.strong href={ (PATH) "/" (order.id) } { (names(&order.identifiers)) }
                            span.sub { "through " (order.via.as_str()) }
                        }
                        td data-label="Status" { (pill(order.status(now).as_str())) }
                        td data-label="Why" { (reason(order)) }
                        td data-label="Ordered" { (moment(order.created_at, now)) }
                        td data-label="Profile" { (order.profile) }
                    }
                }
            }
        }
    }
}

fn reason(order: &Order) -> Markup {
    match &order.state {
        OrderState::Invalid { problem, .. } => {
            let text: String = problem.detail.chars().take(140).collect();
            html! { (text) @if problem.detail.chars().count() > 140 { "…" } }
        }
        OrderState::Pending => html! { span.muted { "waits for its names to be shown" } },
        OrderState::Ready => html! { span.muted { "can be finalized" } },
        OrderState::Processing { .. } => html! { span.muted { "is being issued" } },
        OrderState::Valid { .. } | OrderState::Cancelled { .. } => html! { span.muted { "–" } },
    }
}
