//! What ends when: twelve weeks, and one day of them in full.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{CertificateRecord, Timestamp};
use chancery_http::Door;
use chancery_service::Caller;
use chancery_service::console::Ending;
use maud::{Markup, html};

use crate::certificates;
use crate::parts::{columns, empty, heading, names};
use crate::query::{Query, link};
use crate::refused::Refused;
use crate::session::SignedIn;
use crate::text::{counted, date, day_of_month, month, plural, weekday};

const DAY: i64 = 86_400;
const WEEKS: u32 = 12;
const SHOWN: u32 = 200;
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

pub(crate) async fn page(State(door): State<Door>, who: SignedIn, Query(query): Query) -> Result<Response, Refused> {
    let now = door.services.now();
    let asked = query.filled("day").and_then(|text| Timestamp::parse(&format!("{text}T00:00:00Z")));
    let from = query.filled("from").and_then(|text| Timestamp::parse(&format!("{text}T00:00:00Z"))).unwrap_or(now);
    let monday = Timestamp::from_secs(from.as_secs() - i64::from(weekday(from)) * DAY);
    let days = door.services.console.calendar(&who.caller, monday, WEEKS * 7).await?;
    let listed = match asked {
        Some(day) => Some((day, door.services.console.ending_on(&who.caller, day, SHOWN).await?)),
        None => None,
    };
    let step = |weeks: i64| Timestamp::from_secs(monday.as_secs() + weeks * 7 * DAY).date();
    let (back, on) = (step(-i64::from(WEEKS)), step(i64::from(WEEKS)));
    let body = html! {
        (heading("Calendar", html! { "How many certificates end on which day. Revoked ones are left out." }, html! {
            a.button href=(link("/console/calendar", &[("from", back.as_str())])) { "Earlier" }
            a.button href="/console/calendar" { "Today" }
            a.button href=(link("/console/calendar", &[("from", on.as_str())])) { "Later" }
        }))
        section.card { (grid(&days, now, asked, query.text("from"))) }
        @if let Some((day, certificates)) = listed { (day_list(day, &certificates, &who.caller)) }
    };
    Ok(who.context.page("Calendar", body))
}

fn grid(days: &[Ending], now: Timestamp, chosen: Option<Timestamp>, from: &str) -> Markup {
    let most = days.iter().map(|day| day.certificates.count).max().unwrap_or(0);
    let level = |count: i64| match count {
        0 => "level-0",
        _ if count * 3 > most * 2 && most > 5 => "level-3",
        _ if count * 3 > most && most > 2 => "level-2",
        _ => "level-1",
    };
    html! {
        table.calendar {
            caption.hidden { "Certificates that end, by day" }
            (columns(&WEEKDAYS))
            tbody {
                @for week in days.chunks(7) {
                    tr {
                        @for Ending { day, certificates } in week {
                            @let number = day_of_month(*day);
                            @let label = html! { span { (number) @if number == 1 || weekday(*day) == 0 { " " (month(*day)) } } };
                            td.past[day.as_secs() + DAY <= now.as_secs()] {
                                @if certificates.count > 0 {
                                    a class=(level(certificates.count)) href=(link("/console/calendar", &[("from", from), ("day", day.date().as_str())]))
                                        aria-current=[(chosen == Some(*day)).then_some("date")] {
                                        (label) b { (counted(*certificates)) span.hidden { " end on " (date(*day)) } }
                                    }
                                } @else { span { (label) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn day_list(day: Timestamp, certificates: &[CertificateRecord], caller: &Caller) -> Markup {
    html! {
        section.card #day {
            div.head { h2 { "Ending on " (date(day)) } p.muted { (plural(certificates.len() as i64, "certificate")) @if certificates.len() >= SHOWN as usize { ", the first of more" } } }
            @if certificates.is_empty() {
                (empty("Nothing ends on this day.", html! { "Choose another one above." }))
            } @else {
                table.cards {
                    caption.hidden { "Certificates that end on this day" }
                    (columns(&["Names", "Customer", "Profile"]))
                    tbody {
                        @for certificate in certificates {
                            tr {
                                th scope="row" data-label="Names" { a.strong href={ "/console/certificates/" (certificate.id) } { (names(&certificate.identifiers)) } }
                                td data-label="Customer" { (certificates::customer(certificate, caller)) }
                                td data-label="Profile" { (certificate.profile) }
                            }
                        }
                    }
                }
            }
        }
    }
}
