//! The audit trail of a reseller: who did, or was refused, what.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::Timestamp;
use chancery_http::Door;
use chancery_service::{AuditFilter, AuditOutcome, AuditRecord, CERTIFICATE_KEY, FOREIGN_ACME_ACCOUNT};
use maud::{Markup, html};
use serde_json::Value;

use crate::form::Fields;
use crate::parts::{columns, empty, heading, pager, pill};
use crate::query::{Query, link};
use crate::refused::Refused;
use crate::session::SignedIn;
use crate::text::moment;

const PAGE: u32 = 50;
const PATH: &str = "/console/audit";

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Query(query): Query) -> Result<Response, Refused> {
    let now = door.services.now();
    let found = door.services.audit.list_own(&who.caller, asked(&query), &query.page(PAGE)).await?;
    let keep = |cursor: &str| {
        let keep = |name: &'static str| (name, query.text(name));
        link(PATH, &[keep("subject"), keep("action"), keep("outcome"), ("cursor", cursor)])
    };
    let body = html! {
        (heading("Audit trail", html! { "Every change and every refusal, by whom and from where. Nothing in it is ever changed." }, html! {}))
        (filters(&query, PATH))
        (table(&found.items, now, subject))
        (pager(found.next_cursor.as_deref().map(keep), query.filled("cursor").map(|_| PATH)))
    };
    Ok(who.context.page("Audit trail", body))
}

pub(crate) fn asked(query: &Fields) -> AuditFilter {
    AuditFilter {
        subject: query.filled("subject").map(str::to_owned),
        action: query.filled("action").map(str::to_owned),
        outcome: (query.text("outcome") == "refused").then_some(AuditOutcome::Refused),
        ..AuditFilter::default()
    }
}

pub(crate) fn filters(query: &Fields, path: &str) -> Markup {
    html! {
        form.filters method="get" action=(path) role="search" {
            div.field {
                label for="f-subject" { "What it was done to" }
                input id="f-subject" name="subject" type="search" value=(query.text("subject")) placeholder="A lookup such as acc_…";
            }
            div.field {
                label for="f-action" { "Action" }
                input id="f-action" name="action" type="search" value=(query.text("action")) placeholder="account.create";
            }
            div.field {
                label for="f-outcome" { "Outcome" }
                select id="f-outcome" name="outcome" {
                    option value="" { "Done and refused" }
                    option value="refused" selected[query.text("outcome") == "refused"] { "Refused" }
                }
            }
            button type="submit" { "Show" }
        }
    }
}

/// `subject` shows what something was done to: whose page this is decides where that leads.
pub(crate) fn table(records: &[AuditRecord], now: Timestamp, subject: fn(&str) -> Markup) -> Markup {
    if records.is_empty() {
        return empty("Nothing here.", html! { "What is done and refused appears here within seconds." });
    }
    html! {
        table.cards {
            caption.hidden { "Audit trail" }
            (columns(&["What", "Outcome", "By", "When"]))
            tbody {
                @for record in records {
                    tr {
                        th scope="row" data-label="What" {
                            span.strong { (record.action) }
                            span.sub { (subject(&record.subject)) }
                            @let detail = pretty(&record.detail);
                            @if !detail.is_empty() { details { summary.sub { "More" } pre tabindex="0" aria-label="Details" { code { (detail) } } } }
                        }
                        td data-label="Outcome" { (pill(record.outcome.as_str())) }
                        td data-label="By" {
                            (words(&record.actor_kind))
                            @if !record.actor.is_empty() { span.sub.mono { (record.actor) } }
                            @if !record.address.is_empty() { span.sub { "from " (record.address) } }
                        }
                        td data-label="When" { (moment(record.at, now)) }
                    }
                }
            }
        }
    }
}

/// Where a thing has a page, its name leads there.
fn subject(text: &str) -> Markup {
    let place = [
        ("acc_", "customers"),
        ("grp_", "groups"),
        ("pol_", "policies"),
        ("ord_", "orders"),
        ("cert_", "certificates"),
    ];
    match place.iter().find(|(prefix, _)| text.starts_with(prefix)) {
        Some((_, page)) if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => {
            html! { a.mono href={ "/console/" (page) "/" (text) } { (text) } }
        }
        _ => html! { span.mono { (text) } },
    }
}

fn pretty(detail: &str) -> String {
    match serde_json::from_str::<Value>(detail) {
        Ok(Value::Object(map)) if map.is_empty() => String::new(),
        Ok(value) => serde_json::to_string_pretty(&value).unwrap_or_default(),
        Err(_) => detail.to_owned(),
    }
}

fn words(kind: &str) -> &str {
    match kind {
        "client" => "API client",
        "api_key" => "API key",
        "external" => "external identity",
        "operator" => "operator",
        "acme" => "ACME account",
        FOREIGN_ACME_ACCOUNT => "another ACME account, authorized for all names",
        CERTIFICATE_KEY => "holder of the certificate key",
        "service" => "this service",
        _ => "a stranger",
    }
}
