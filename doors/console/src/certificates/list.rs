//! The list, and what it can be narrowed by.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{CertificateRecord, CertificateStatus, Identifier, Scope, Timestamp};
use chancery_http::Door;
use chancery_service::{AccountLookup, Caller, CertificateDetails, CertificateFilter};
use maud::{Markup, html};

use super::customer;
use crate::form::Fields;
use crate::parts::{columns, empty, heading, names, pager, pill};
use crate::query::{Query, link};
use crate::refused::{Refused, sentence};
use crate::session::SignedIn;
use crate::text::{ago, moment, on_day};

const PAGE: u32 = 50;
const PATH: &str = "/console/certificates";
/// What the list can be narrowed by.
const CONDITIONS: [&str; 4] = ["q", "status", "profile", "customer"];
/// A certificate that ends within so many days is told so.
const SOON: i64 = 14 * 86_400;

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Query(query): Query) -> Result<Response, Refused> {
    let now = door.services.now();
    let (account, filter) = asked(&query, &who.caller, now)?;
    let found = door.services.certificates.list(&who.caller, account, filter, &query.page(PAGE)).await?;
    let conditions = CONDITIONS.map(|name| (name, query.text(name)));
    let kept = |cursor: &str| link(PATH, &[&conditions[..], &[("cursor", cursor)]].concat());
    let export = link("/console/certificates.csv", &conditions);
    let profiles: Vec<_> = door.services.settings.profiles.iter().map(|profile| profile.name.to_string()).collect();
    let body = html! {
        (heading("Certificates", html! { "Everything that was ordered for your customers, newest first." }, html! {
            a.button href="/console/calendar" { "Calendar" }
            a.button href=(export) download { "Download as CSV" }
        }))
        (filters(&query, &profiles))
        @if found.items.is_empty() { (nothing(&query, found.next_cursor.is_some(), &who.caller)) } @else { (table(&found.items, &who.caller, now)) }
        (pager(found.next_cursor.as_deref().map(kept), query.filled("cursor").map(|_| PATH)))
    };
    Ok(who.context.page("Certificates", body))
}

/// No condition at all.
pub(crate) fn nothing_asked(now: Timestamp) -> CertificateFilter {
    CertificateFilter {
        account: None,
        email_key: None,
        kid: None,
        statuses: Vec::new(),
        name: None,
        profile: None,
        serial: None,
        expires_before: None,
        expires_after: None,
        external_id: None,
        now,
    }
}

/// What the fields ask for. A text is a serial number where it looks like one, and a name else. A condition that cannot be
/// kept is refused: without it, the list would have more in it than was asked for.
pub(super) fn asked(
    query: &Fields,
    caller: &Caller,
    now: Timestamp,
) -> Result<(Option<AccountLookup>, CertificateFilter), Refused> {
    let status = query.filled("status").map(str::parse::<CertificateStatus>).transpose();
    let status = status.map_err(|why| Refused::incomplete(sentence(&why)))?;
    let text = query.filled("q").map(|text| text.replace(':', "").to_lowercase());
    let serial = text.clone().filter(|text| text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let name = query.filled("q").filter(|_| serial.is_none());
    let name = name.map(|name| Identifier::parse(name).map_or_else(|_| name.to_owned(), |name| name.to_string()));
    let filter = CertificateFilter {
        statuses: status.into_iter().collect(),
        name,
        serial,
        profile: query.filled("profile").map(str::to_owned),
        ..nothing_asked(now)
    };
    // Who may not read accounts is not told by which address one is found.
    let customer = query.filled("customer").map(AccountLookup::parse);
    if customer.as_ref().is_some_and(|lookup| !matches!(lookup, AccountLookup::Id(_))) {
        caller.require(Scope::ReadAccount)?;
    }
    Ok((customer, filter))
}

fn filters(query: &Fields, profiles: &[String]) -> Markup {
    let (status, profile) = (query.text("status"), query.text("profile"));
    html! {
        form.filters method="get" action=(PATH) role="search" {
            div.field {
                label for="f-q" { "Search" }
                input id="f-q" name="q" type="search" value=(query.text("q")) placeholder="A whole name, or a serial number";
            }
            div.field {
                label for="f-status" { "Status" }
                select id="f-status" name="status" {
                    option value="" { "Every status" }
                    @for known in CertificateStatus::ALL { option value=(known.as_str()) selected[known.as_str() == status] { (known.as_str()) } }
                }
            }
            div.field {
                label for="f-profile" { "Profile" }
                select id="f-profile" name="profile" {
                    option value="" { "Every profile" }
                    @for known in profiles { option value=(known) selected[known == profile] { (known) } }
                }
            }
            @if let Some(customer) = query.filled("customer") {
                input type="hidden" name="customer" value=(customer);
            }
            button type="submit" { "Show" }
            @if let Some(customer) = query.filled("customer") {
                p.muted { "Of one customer only: " span.mono { (customer) } ". " a href=(PATH) { "Show all" } }
            }
        }
    }
}

fn nothing(query: &Fields, more: bool, caller: &Caller) -> Markup {
    let narrowed = CONDITIONS.iter().any(|name| query.filled(name).is_some());
    match (more, narrowed) {
        (true, _) => {
            empty("Nothing among these.", html! { "There are older certificates to look through: see the next page." })
        }
        (false, true) => empty(
            "No certificate fits.",
            html! {
                "A name is looked for as a whole, such as " code { "www.example.com" } ". " a href=(PATH) { "Show all certificates" } "."
            },
        ),
        (false, false) => empty(
            "No certificates yet.",
            html! {
                @if caller.scopes.contains(Scope::WriteAccount) {
                    "Create a customer, and paste its key into an ACME client. " a href="/console/customers/new" { "New customer" } "."
                } @else {
                    "They appear here as soon as a customer's client has ordered one."
                }
            },
        ),
    }
}

pub(crate) fn table(certificates: &[CertificateDetails], caller: &Caller, now: Timestamp) -> Markup {
    html! {
        table.cards {
            caption.hidden { "Certificates" }
            (columns(&["Names", "Status", "Ends", "Customer", "Profile"]))
            tbody {
                @for CertificateDetails { certificate, .. } in certificates {
                    tr {
                        th scope="row" data-label="Names" {
                            a.strong href={ (PATH) "/" (certificate.id) } { (names(&certificate.identifiers)) }
                            @if let Some(issued) = certificate.issued() { span.sub.mono { (short(&issued.serial)) } }
                        }
                        td data-label="Status" { (status(certificate, now)) }
                        td data-label="Ends" {
                            @match certificate.issued() {
                                Some(issued) => { (on_day(issued.not_after)) span.sub { (ago(issued.not_after, now)) } }
                                None => { span.muted { "ordered " (moment(certificate.created_at, now)) } }
                            }
                        }
                        td data-label="Customer" { (customer(certificate, caller)) }
                        td data-label="Profile" { (certificate.profile) }
                    }
                }
            }
        }
    }
}

/// Its status, and that it ends soon.
pub(crate) fn status(certificate: &CertificateRecord, now: Timestamp) -> Markup {
    let status = certificate.status(now);
    let left = certificate.issued().map(|issued| issued.not_after.as_secs() - now.as_secs());
    let soon = status == CertificateStatus::Issued && left.is_some_and(|left| left < SOON);
    pill(if soon { "expiring" } else { status.as_str() })
}

fn short(serial: &str) -> String {
    if serial.len() > 20 { format!("{}…{}", &serial[..8], &serial[serial.len() - 8..]) } else { serial.to_owned() }
}
