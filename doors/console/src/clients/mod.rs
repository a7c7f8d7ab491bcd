//! The API clients of a reseller: what programs, and people here, sign in with.

mod create;
mod list;
mod show;

use axum::Router;
use chancery_domain::{Client, Secret, Timestamp};
use chancery_http::Door;
use chancery_http::routing::{get, post};
use chancery_service::identity::NewSecret;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::form::Fields;
use crate::layout::Context;
use crate::parts::{copyable, heading, trail};

pub(crate) use create::new_client;

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route("/console/clients", get(list::page).merge(post(create::create)))
        .route("/console/clients/new", get(create::form))
        .route("/console/clients/{client}", get(show::page))
        .route("/console/clients/{client}/rotate", post(show::rotate))
        .route("/console/clients/{client}/finish-rotation", post(show::finish))
        .route("/console/clients/{client}/revoke", post(show::revoke))
}

pub(crate) fn status(client: &Client, now: Timestamp) -> &'static str {
    match (client.disabled, client.is_live(now)) {
        (true, _) => "disabled",
        (false, true) => "active",
        (false, false) => "expired",
    }
}

/// The scopes of a client.
fn scopes(client: &Client) -> Markup {
    html! { ul.tags { @for scope in client.scopes.to_string().split(' ') { li.tag { (scope) } } } }
}

/// What was typed as the secret that one is signed in with.
fn current(form: &Fields) -> Secret {
    Secret::new(form.text("current").trim().to_owned())
}

/// Asks again for the secret that one is signed in with; whoever has none must have signed in lately.
fn proof(asks: bool, verb: &str, label: &str) -> Markup {
    html! {
        @if asks {
            div.field {
                label for={ "f-current-" (verb) } { (label) }
                input id={ "f-current-" (verb) } name="current" type="password" required autocomplete="off";
            }
        } @else { p.hint { "Only within a quarter of an hour after signing in." } }
    }
}

/// What is shown of a new client.
pub(crate) fn told(made: &NewSecret) -> Value {
    let NewSecret { client, secret } = made;
    json!({"name": client.name.as_str(), "id": client.id.to_string(), "secret": secret.reveal()})
}

/// The page that shows a secret, once.
fn revealed(context: &Context, title: &str, about: &str, id: &str, secret: &str) -> axum::response::Response {
    let body = html! {
        (trail("/console/clients", "API clients"))
        (heading(title, html! { (about) }, html! {}))
        section.card {
            p.caution { "Keep it now: nobody can look it up here later." }
            h2 { "Client id" } (copyable("the client id", id))
            h2 { "Client secret" } (copyable("the client secret", secret))
        }
    };
    context.page(title, body)
}
