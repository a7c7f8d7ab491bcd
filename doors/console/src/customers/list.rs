//! The list, and the search.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Account, AccountStatus, Scope, Timestamp};
use chancery_http::Door;
use chancery_service::{AccountFilter, Listed};
use maud::{Markup, html};

use crate::form::Fields;
use crate::parts::{columns, empty, heading, pager, pill};
use crate::query::{Query, link};
use crate::refused::Refused;
use crate::session::SignedIn;
use crate::text::moment;

const PAGE: u32 = 50;
/// As many that a search finds are looked through for those of a status.
const LOOKED_THROUGH: u32 = 1000;
const PATH: &str = "/console/customers";

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Query(query): Query) -> Result<Response, Refused> {
    let now = door.services.now();
    let mut cut = false;
    let found = match query.filled("q") {
        Some(text) => {
            let (mut items, more) = door.services.accounts.search(&who.caller, text, LOOKED_THROUGH).await?;
            cut = more;
            match query.text("status") {
                "active" => items.retain(|account| account.status() == AccountStatus::Active),
                "suspended" => items.retain(|account| account.status() == AccountStatus::Suspended),
                _ => {}
            }
            cut = cut || items.len() > PAGE as usize;
            items.truncate(PAGE as usize);
            Listed::whole(items)
        }
        None => {
            let (suspended, include_deleted) = match query.text("status") {
                "active" => (Some(false), false),
                "suspended" => (Some(true), false),
                "all" => (None, true),
                _ => (None, false),
            };
            let filter = AccountFilter { email_key: None, suspended, include_deleted };
            door.services.accounts.list(&who.caller, filter, &query.page(PAGE)).await?
        }
    };
    let may = who.caller.scopes.contains(Scope::WriteAccount);
    let new = html! { @if may { a.button.primary href="/console/customers/new" { "New customer" } } };
    let body = html! {
        (heading("Customers", html! { "Everybody you order certificates for." }, new))
        (search(&query))
        (table(&found.items, &query, may, now))
        @if cut { p.muted { "There may be more than the " (PAGE) " that are shown at most: search for more of the address." } }
        (pager(
            found.next_cursor.map(|next| link(PATH, &[("status", query.text("status")), ("cursor", &next)])),
            query.filled("cursor").map(|_| PATH),
        ))
    };
    Ok(who.context.page("Customers", body))
}

fn search(query: &Fields) -> Markup {
    let status = query.text("status");
    html! {
        form.filters method="get" action=(PATH) role="search" {
            div.field {
                label for="f-q" { "Search" }
                input id="f-q" name="q" type="search" value=(query.text("q"))
                    placeholder="E-mail, lookup, key id or your reference";
            }
            div.field {
                label for="f-status" { "Status" }
                select id="f-status" name="status" {
                    @for (value, words) in
                        [("", "All that live"), ("active", "Active"), ("suspended", "Suspended"), ("all", "With terminated")] {
                        option value=(value) selected[value == status] { (words) }
                    }
                }
            }
            button type="submit" { "Show" }
        }
    }
}

fn table(accounts: &[Account], query: &Fields, may_create: bool, now: Timestamp) -> Markup {
    if accounts.is_empty() && query.filled("q").is_some() {
        return empty(
            "Nobody goes by that name.",
            html! {
                "The search looks for the beginning of an e-mail address, or for a whole lookup, key id, number or reference. "
                a href=(PATH) { "Show all customers" } "."
            },
        );
    }
    if accounts.is_empty() {
        return empty(
            "No customers yet.",
            html! {
                "A customer gets an ACME key to paste into certbot, lego, Caddy and others. "
                @if may_create { a href="/console/customers/new" { "Create the first one" } "." }
            },
        );
    }
    html! {
        table.cards {
            caption.hidden { "Customers" }
            (columns(&["Customer", "Status", "Your reference", "Created"]))
            tbody {
                @for account in accounts {
                    tr {
                        th scope="row" data-label="Customer" {
                            a.strong href={ (PATH) "/" (account.id) } { (account.email) }
                            span.sub.mono { (account.id) }
                        }
                        td data-label="Status" { (pill(account.status().as_str())) }
                        td data-label="Your reference" {
                            @match &account.external_id { Some(id) => (id), None => span.muted { "–" } }
                        }
                        td data-label="Created" { (moment(account.created_at, now)) }
                    }
                }
            }
        }
    }
}
