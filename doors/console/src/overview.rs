//! What a reseller sees first.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{CertificateRecord, Scope, Timestamp};
use chancery_http::Door;
use chancery_service::OrderDetails;
use chancery_service::console::Summary;
use maud::{Markup, html};

use crate::charts::{self, Share};
use crate::parts::{empty, heading, names};
use crate::refused::Refused;
use crate::session::SignedIn;
use crate::text::{ago, counted, moment};

pub(crate) async fn page(State(door): State<Door>, who: SignedIn) -> Result<Response, Refused> {
    let may = who.caller.scopes.contains(Scope::WriteAccount);
    let new = html! { @if may { a.button.primary href="/console/customers/new" { "New customer" } } };
    let about = html! { "How your customers' certificates are doing." };
    if !who.caller.scopes.contains(Scope::ReadCertificate) {
        let body = html! {
            (heading("Overview", about, html! {}))
            (empty("Nothing to show here.", html! { "You are signed in with a client that does not have the scope " code { "read:certificate" } "." }))
        };
        return Ok(who.context.page("Overview", body));
    }
    let summary = door.services.console.summary(&who.caller).await?;
    let now = door.services.now();
    let body = html! {
        (heading("Overview", about, new))
        (numbers(&summary))
        div.grid.wide-first {
            section.card { div.head { h2 { "Issued per day" } p.muted { "The last two weeks, in UTC" } } (charts::days("Issued per day", &summary.days)) }
            section.card { h2 { "Certificates by status" } (charts::ring("Certificates by status", &shares(&summary))) }
        }
        div.grid {
            section.card {
                div.head { h2 { "Ending in 30 days" } a href="/console/calendar" { "Calendar" } }
                (charts::endings("Certificates that end", &summary.endings))
                (ending(&summary.next_to_end, now))
            }
            section.card {
                div.head { h2 { "Failed lately" } a href="/console/orders?status=invalid" { "All of them" } }
                (failed(&summary.failed, now))
            }
        }
    };
    Ok(who.context.page("Overview", body))
}

fn numbers(summary: &Summary) -> Markup {
    html! {
        div.numbers {
            a.number href="/console/certificates?status=issued" { b { (counted(summary.valid)) } span { "valid" } }
            a class={ "number" @if summary.ending_soon.count > 0 { " alert" } } href="/console/calendar" { b { (counted(summary.ending_soon)) } span { "end within 30 days" } }
            a.number href="/console/certificates?status=pending" { b { (counted(summary.pending)) } span { "pending" } }
            a.number href="/console/certificates?status=revoked" { b { (counted(summary.revoked)) } span { "revoked" } }
        }
    }
}

fn shares(summary: &Summary) -> [Share; 5] {
    let share = |class, words, number, status: &str| Share {
        class,
        words,
        number,
        href: format!("/console/certificates?status={status}"),
    };
    [
        share("s-issued", "valid", summary.valid, "issued"),
        share("s-pending", "pending", summary.pending, "pending"),
        share("s-expired", "expired", summary.expired, "expired"),
        share("s-revoked", "revoked", summary.revoked, "revoked"),
        share("s-cancelled", "cancelled", summary.cancelled, "cancelled"),
    ]
}

fn ending(certificates: &[CertificateRecord], now: Timestamp) -> Markup {
    if certificates.is_empty() {
        return html! { p.muted { "Nothing is valid, so nothing ends." } };
    }
    html! {
        table.cards {
            caption.hidden { "Those that end first" }
            thead.hidden { tr { th scope="col" { "Names" } th scope="col" { "Ends" } } }
            tbody {
                @for certificate in certificates {
                    tr {
                        th scope="row" data-label="Names" { a href={ "/console/certificates/" (certificate.id) } { (names(&certificate.identifiers)) } }
                        td.end data-label="Ends" { @if let Some(issued) = certificate.issued() { (ago(issued.not_after, now)) } }
                    }
                }
            }
        }
    }
}

fn failed(orders: &[OrderDetails], now: Timestamp) -> Markup {
    if orders.is_empty() {
        return empty(
            "Nothing has failed.",
            html! { "Orders whose names could not be shown appear here, with what was seen." },
        );
    }
    html! {
        table.cards {
            caption.hidden { "Orders that have failed" }
            thead.hidden { tr { th scope="col" { "Names" } th scope="col" { "When" } } }
            tbody {
                @for OrderDetails { order, .. } in orders {
                    tr {
                        th scope="row" data-label="Names" {
                            a href={ "/console/orders/" (order.id) } { @if let Some(first) = order.identifiers.first() { (first) } }
                            @if let chancery_domain::OrderState::Invalid { problem, .. } = &order.state { span.sub { (problem.kind.as_str()) ": " (problem.detail.chars().take(120).collect::<String>()) } }
                        }
                        td.end data-label="When" { (moment(order.updated_at, now)) }
                    }
                }
            }
        }
    }
}
