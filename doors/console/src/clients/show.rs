//! One of them: its secrets renewed, or all of it ended.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::{Client, ClientId, Scope, Timestamp};
use chancery_http::Door;
use chancery_service::{Caller, Noun, ServiceError};
use maud::{Markup, html};

use super::{current, proof, revealed, scopes, status, told};
use crate::layout::Context;
use crate::once::{self, once};
use crate::parts::{Complaints, confirmed, fact, heading, opened, pill, trail};
use crate::refused::Refused;
use crate::session::{Signed, SignedIn, see_other};
use crate::text::{moment, on_day};

pub(crate) async fn page(State(door): State<Door>, Path(id): Path<String>, who: SignedIn) -> Result<Response, Refused> {
    let client = door.services.console.client_of(&who.caller, read(&id)?).await?;
    let shown = Shown { client, own: who.client, now: door.services.now(), complaints: Complaints::default() };
    Ok(who.context.page(shown.client.name.as_str(), shown.body(&who.context, &who.caller)))
}

pub(crate) async fn rotate(
    State(door): State<Door>,
    Path(id): Path<String>,
    signed: Signed,
) -> Result<Response, Refused> {
    let id = read(&id)?;
    let once = once(&signed.form, &id.to_string(), told);
    match door.services.console.begin_rotation(&signed.session, &current(&signed.form), id, once).await {
        Ok(made) => {
            let about = "Both secrets work now. Put this one everywhere, then drop the old one.";
            let made = once::shown(&made, told);
            Ok(revealed(&signed.context, "New secret", about, made.text("id"), made.text("secret")))
        }
        Err(error) => again(&door, &signed, id, error).await,
    }
}

pub(crate) async fn finish(
    State(door): State<Door>,
    Path(id): Path<String>,
    signed: Signed,
) -> Result<Response, Refused> {
    let id = read(&id)?;
    match door.services.console.finish_rotation(&signed.session, &current(&signed.form), id).await {
        Ok(()) => Ok(see_other(&format!("/console/clients/{id}?done=rotated"))),
        Err(error) => again(&door, &signed, id, error).await,
    }
}

pub(crate) async fn revoke(
    State(door): State<Door>,
    Path(id): Path<String>,
    signed: Signed,
) -> Result<Response, Refused> {
    let id = read(&id)?;
    match door.services.console.revoke_client(&signed.session, &current(&signed.form), id).await {
        Ok(()) => Ok(see_other(&format!("/console/clients/{id}?done=disabled"))),
        Err(error) => again(&door, &signed, id, error).await,
    }
}

async fn again(door: &Door, signed: &Signed, id: ClientId, error: ServiceError) -> Result<Response, Refused> {
    let complaints = Complaints::of(error)?;
    let person = &signed.session.person;
    let caller = person.caller().ok_or_else(Refused::no_page)?;
    let client = door.services.console.client_of(caller, id).await?;
    let shown = Shown { client, own: person.client(), now: door.services.now(), complaints };
    let body = shown.body(&signed.context, caller);
    Ok(signed.context.page_with(Some(&shown.complaints), shown.client.name.as_str(), body))
}

fn read(id: &str) -> Result<ClientId, ServiceError> {
    id.parse().map_err(|_| ServiceError::not_found(Noun::Client))
}

struct Shown {
    client: Client,
    /// The one that is signed in with.
    own: Option<ClientId>,
    now: Timestamp,
    complaints: Complaints,
}

impl Shown {
    fn body(&self, context: &Context, caller: &Caller) -> Markup {
        let Self { client, now, complaints, .. } = self;
        let may = caller.scopes.contains(Scope::WriteAccount) && !client.disabled;
        let within = client.scopes.is_subset(&caller.scopes);
        html! {
            (trail("/console/clients", "API clients"))
            (heading(client.name.as_str(), html! { span.mono { (client.id) } }, html! {}))
            @if !complaints.is_empty() {
                div.complaint role="alert" { ul { @for (_, message) in &complaints.0 { li { (message) } } } }
            }
            section.card {
                dl.facts {
                    (fact("Status", pill(status(client, *now))))
                    (fact("Scopes", scopes(client)))
                    (fact("Secrets", html! { (client.secrets.len()) @if client.secrets.len() > 1 { span.muted { " – both work until the old one is dropped" } } }))
                    (fact("Ends", html! { @match client.expires_at { Some(at) => (on_day(at)), None => span.muted { "never" } } }))
                    (fact("Created", moment(client.created_at, *now)))
                }
            }
            @if may && within { (self.changes(context)) }
            @else if may { p.muted { "It may do more than you: its secrets are not yours to renew or to end." } }
        }
    }

    fn changes(&self, context: &Context) -> Markup {
        let (asks, mine) = (self.own.is_some(), self.own == Some(self.client.id));
        let form = |verb: &str, label: &str, button: Markup| {
            html! {
                form.form method="post" action={ "/console/clients/" (self.client.id) "/" (verb) } {
                    (context.token())
                    (context.once())
                    (proof(asks, verb, label))
                    div { (button) }
                }
            }
        };
        let stays = if mine { "The new secret" } else { "Your secret" };
        html! {
            section.card {
                div.head { h2 { "Change it" } }
                p.muted { "First get a second secret, which works beside the first. When it is in use everywhere, drop the old one; whoever is signed in with that is signed out." }
                div.actions {
                    @if self.client.secrets.len() < 2 {
                        (opened("Get a second secret…", false, form("rotate", "Your secret", html! {
                            button.primary type="submit" { "Get a second secret" }
                        })))
                    } @else {
                        (confirmed("Drop the old secret…", form("finish-rotation", stays, html! {
                            button.bad type="submit" { "Drop the old secret" }
                        })))
                    }
                    (confirmed("Revoke…", html! {
                        p { "Its tokens and sessions end at once, and only the operator of this service can bring it back." }
                        (form("revoke", "Your secret", html! { button.bad type="submit" { "Revoke the client" } }))
                    }))
                }
            }
        }
    }
}
