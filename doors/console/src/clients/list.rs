//! All of them.

use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Client, ClientId, Scope, Timestamp};
use chancery_http::Door;
use maud::{Markup, html};

use super::{scopes, status};
use crate::parts::{columns, heading, pill};
use crate::refused::Refused;
use crate::session::SignedIn;
use crate::text::{moment, on_day};

pub(crate) async fn page(State(door): State<Door>, who: SignedIn) -> Result<Response, Refused> {
    let clients = door.services.console.clients(&who.caller).await?;
    let may = who.caller.scopes.contains(Scope::WriteAccount);
    let body = html! {
        (heading(
            "API clients",
            html! { "What your programs, and you here, sign in with." },
            html! { @if may { a.button.primary href="/console/clients/new" { "New client" } } },
        ))
        (table(&clients, who.client, door.services.now()))
    };
    Ok(who.context.page("API clients", body))
}

fn table(clients: &[Client], own: Option<ClientId>, now: Timestamp) -> Markup {
    html! {
        table.cards {
            caption.hidden { "API clients" }
            (columns(&["Client", "Status", "Scopes", "Ends", "Created"]))
            tbody {
                @for client in clients {
                    tr {
                        th scope="row" data-label="Client" {
                            a.strong href={ "/console/clients/" (client.id) } { (client.name) }
                            @if own == Some(client.id) { " " span.tag { "you" } }
                            span.sub.mono { (client.id) }
                        }
                        td data-label="Status" { (pill(status(client, now))) }
                        td data-label="Scopes" { (scopes(client)) }
                        td data-label="Ends" { @match client.expires_at { Some(at) => (on_day(at)), None => span.muted { "never" } } }
                        td data-label="Created" { (moment(client.created_at, now)) }
                    }
                }
            }
        }
    }
}
