//! Signing in through an external provider: there, and back again.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use chancery_domain::Secret;
use chancery_http::{Door, origin};
use chancery_service::console::{ProviderAnswer, ProviderChoice, SignInRefusal};
use maud::{Markup, html};

use crate::form::Fields;
use crate::parts::Complaints;
use crate::query::{Query, link};
use crate::refused::Refused;
use crate::session::{cookie, local, see_other};
use crate::sign_in::{FLAGS, entered, refused, set_cookie};
use crate::theme::Theme;

/// What the browser has while somebody is at the provider. Lax, since coming back is a navigation from another site.
const TICKET: &str = "__Host-chancery-sign-in";
/// Beside which complaints about a provider are shown.
const FIELD: &str = "provider";

/// Sends somebody to the provider. A link and no form: the policy of our pages lets no form lead elsewhere.
pub(crate) async fn depart(
    State(door): State<Door>,
    Path(slug): Path<String>,
    Query(query): Query,
) -> Result<Response, Refused> {
    let next = local(query.text("next")).unwrap_or("/console");
    let departure = door.services.console.depart(&slug, next);
    let departure = departure.ok_or_else(|| Refused::not_found("There is no such provider."))?;
    let mut response = see_other(&departure.url);
    let (ticket, age) = (departure.cookie.reveal(), departure.lasts.as_secs());
    set_cookie(&mut response, &format!("{TICKET}={ticket}; Path=/; Max-Age={age}{FLAGS}"));
    Ok(response)
}

/// Where the provider sends people back to.
pub(crate) async fn come_back(
    State(door): State<Door>,
    Path(slug): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let (parts, _) = request.into_parts();
    let said = Fields::parse(parts.uri.query().unwrap_or_default());
    let answer = ProviderAnswer {
        state: said.text("state").to_owned(),
        code: said.has("code").then(|| Secret::new(said.text("code").to_owned())),
        issuer: said.has("iss").then(|| said.text("iss").to_owned()),
        error: said.has("error").then(|| said.text("error").to_owned()),
    };
    let ticket = cookie(&parts.headers, TICKET).unwrap_or_default();
    let arrived = door.services.console.arrive(&slug, ticket, answer, origin(&parts)).await;
    let mut response = match arrived {
        Ok((session, next)) => entered(&door, &parts, &session, local(&next).unwrap_or("/console")).await,
        Err(SignInRefusal::Service(error)) => return Err(error.into()),
        Err(refusal) => refused(&door, &refusal, Theme::of(&parts.headers), "/console", "", FIELD),
    };
    // A ticket is for one journey, however it ended.
    set_cookie(&mut response, &format!("{TICKET}=; Path=/; Max-Age=0{FLAGS}"));
    Ok(response)
}

/// The providers to choose from, and what came of the last journey.
pub(crate) fn choices(providers: &[ProviderChoice], next: &str, complaints: &Complaints) -> Markup {
    let said = complaints.0.iter().find(|(field, _)| field == FIELD).map(|(_, message)| message);
    html! {
        @if let Some(said) = said { div.complaint role="alert" { p { (said) } } }
        @if !providers.is_empty() {
            div.providers {
                @for provider in providers {
                    @let path = format!("/console/sign-in/with/{}", provider.slug);
                    a.button.primary href=(link(&path, &[("next", next)])) { "Sign in with " (provider.label) }
                }
            }
            p.or { span { "or" } }
        }
    }
}
