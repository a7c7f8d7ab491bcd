//! The API clients of a reseller. They are the operator's to make; the one that is signed in can have its secret renewed.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use chancery_domain::{Client, ClientId, Scope, Secret, Timestamp};
use chancery_http::Door;
use chancery_service::ServiceError;
use chancery_service::console::Person;
use maud::{Markup, html};

use crate::layout::Context;
use crate::parts::{Complaints, Field, confirmed, copyable, heading, pill, trail};
use crate::refused::Refused;
use crate::session::{Signed, SignedIn, see_other};
use crate::text::{moment, on_day};

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route("/console/clients", get(page))
        .route("/console/clients/rotate", post(rotate))
        .route("/console/clients/finish-rotation", post(finish))
}

async fn page(State(door): State<Door>, who: SignedIn) -> Result<Response, Refused> {
    let clients = door.services.console.clients(&who.caller).await?;
    let now = door.services.now();
    let renew = who.caller.scopes.contains(Scope::WriteAccount).then(|| renewal(&who.context, &Complaints::default()));
    Ok(who.context.page("API clients", body(&clients, who.client, now, &Complaints::default(), renew)))
}

async fn rotate(State(door): State<Door>, signed: Signed) -> Result<Response, Refused> {
    let current = Secret::new(signed.form.text("current").trim().to_owned());
    match door.services.console.begin_rotation(&signed.session, &current).await {
        Ok(secret) => {
            let body = html! {
                (trail("/console/clients", "API clients"))
                (heading("New secret", html! { "Both secrets work now. Put this one everywhere, then drop the old one." }, html! {}))
                section.card {
                    p.caution { "Keep it now: only its hash stays here, and nobody can show it again." }
                    (copyable("the client secret", secret.reveal()))
                }
            };
            Ok(signed.context.page("New secret", body))
        }
        Err(error) => again(&door, &signed, error).await,
    }
}

async fn finish(State(door): State<Door>, signed: Signed) -> Result<Response, Refused> {
    let current = Secret::new(signed.form.text("current").trim().to_owned());
    match door.services.console.finish_rotation(&signed.session, &current).await {
        Ok(()) => Ok(see_other("/console/clients?done=rotated")),
        Err(error) => again(&door, &signed, error).await,
    }
}

async fn again(door: &Door, signed: &Signed, error: ServiceError) -> Result<Response, Refused> {
    let complaints = Complaints::of(error)?;
    let Person::Client { id, caller, .. } = &signed.session.person else {
        return Err(Refused::not_found("There is no such page."));
    };
    let clients = door.services.console.clients(caller).await?;
    let renew = renewal(&signed.context, &complaints);
    let body = body(&clients, Some(*id), door.services.now(), &complaints, Some(renew));
    Ok(signed.context.page_as(complaints.status(), "API clients", body))
}

fn body(
    clients: &[Client],
    own: Option<ClientId>,
    now: Timestamp,
    complaints: &Complaints,
    renew: Option<Markup>,
) -> Markup {
    html! {
        (heading("API clients", html! { "What your programs, and you here, sign in with. The operator of this service creates and disables them." }, html! {}))
        (complaints.others(&["current"]))
        (table(clients, own, now))
        @if let Some(renew) = renew { (renew) }
    }
}

fn renewal(context: &Context, complaints: &Complaints) -> Markup {
    let field = |hint| Field { name: "current", label: "Secret", hint, value: "", complaints };
    html! {
        section.card {
            div.head { h2 { "Renew the secret of the client you signed in with" } }
            p.muted { "First get a second secret, which works beside the first. When it is in use everywhere, drop the old one; whoever is signed in with that is signed out." }
            div.grid {
                form.form method="post" action="/console/clients/rotate" {
                    (context.token())
                    (field("The one you have now.").line("password", true))
                    div { button.primary type="submit" { "Get a second secret" } }
                }
                div {
                    (confirmed("Drop the old secret…", html! {
                        form method="post" action="/console/clients/finish-rotation" {
                            (context.token())
                            div.field {
                                label for="f-stays" { "The new secret" }
                                input id="f-stays" name="current" type="password" required autocomplete="off";
                            }
                            button.bad type="submit" { "Drop the old secret" }
                        }
                    }))
                }
            }
        }
    }
}

pub(crate) fn status(client: &Client, now: Timestamp) -> &'static str {
    match (client.disabled, client.is_live(now)) {
        (true, _) => "disabled",
        (false, true) => "active",
        (false, false) => "expired",
    }
}

fn table(clients: &[Client], own: Option<ClientId>, now: Timestamp) -> Markup {
    html! {
        table.cards {
            caption.hidden { "API clients" }
            thead { tr { th scope="col" { "Client" } th scope="col" { "Status" } th scope="col" { "Scopes" } th scope="col" { "Ends" } th scope="col" { "Created" } } }
            tbody {
                @for client in clients {
                    tr {
                        th scope="row" data-label="Client" {
                            span.strong { (client.name) } @if own == Some(client.id) { " " span.tag { "you" } }
                            span.sub.mono { (client.id) }
                        }
                        td data-label="Status" { (pill(status(client, now))) }
                        td data-label="Scopes" { ul.tags { @for scope in client.scopes.to_string().split(' ') { li.tag { (scope) } } } }
                        td data-label="Ends" { @match client.expires_at { Some(at) => (on_day(at)), None => span.muted { "never" } } }
                        td data-label="Created" { (moment(client.created_at, now)) }
                    }
                }
            }
        }
    }
}
