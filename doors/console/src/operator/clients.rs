//! The API clients of a reseller, as the operator makes and ends them.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::{ClientId, ScopeSet};
use chancery_http::Door;
use chancery_service::identity::NewClient;
use chancery_service::{Noun, ServiceError};
use maud::html;

use super::resellers::shown as page;
use crate::clients::{new_client, told};
use crate::form::Fields;
use crate::layout::Context;
use crate::once::{Shown, once, shown};
use crate::parts::{Complaints, copyable, heading, trail};
use crate::refused::Refused;
use crate::session::{OperatorChange, see_other};

pub(crate) async fn create(
    State(door): State<Door>,
    Path(code): Path<String>,
    change: OperatorChange,
) -> Result<Response, Refused> {
    let made = match read(&change.form) {
        Ok(new) => change.operator.create_client_once(&code, new, once(&change.form, &code, told)).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(made) => {
            let audience = &door.services.settings.audience;
            Ok(revealed(&change.context, &code, &shown(&made, told), audience))
        }
        Err(error) => {
            let complaints = Complaints::of(error)?;
            page(&door, &change.operator, &change.context, &code, Some((complaints, change.form))).await
        }
    }
}

pub(crate) async fn rotate(
    State(door): State<Door>,
    Path((code, id)): Path<(String, String)>,
    change: OperatorChange,
) -> Result<Response, Refused> {
    let id = of(&change, &code, &id).await?;
    let made = change.operator.begin_rotation_once(id, once(&change.form, &id.to_string(), told)).await?;
    Ok(revealed(&change.context, &code, &shown(&made, told), &door.services.settings.audience))
}

pub(crate) async fn finish(
    Path((code, id)): Path<(String, String)>,
    change: OperatorChange,
) -> Result<Response, Refused> {
    change.operator.finish_rotation(of(&change, &code, &id).await?).await?;
    Ok(done(&code, "rotated"))
}

pub(crate) async fn disable(
    Path((code, id)): Path<(String, String)>,
    change: OperatorChange,
) -> Result<Response, Refused> {
    change.operator.set_client_disabled(of(&change, &code, &id).await?, true).await?;
    Ok(done(&code, "disabled"))
}

pub(crate) async fn enable(
    Path((code, id)): Path<(String, String)>,
    change: OperatorChange,
) -> Result<Response, Refused> {
    change.operator.set_client_disabled(of(&change, &code, &id).await?, false).await?;
    Ok(done(&code, "enabled"))
}

fn read(form: &Fields) -> Result<NewClient, ServiceError> {
    let ticked = form.all("scope");
    new_client(form, &if ticked.is_empty() { ScopeSet::all().to_string() } else { ticked.join(" ") })
}

/// The client of this reseller: the form may be older than the page that it is on claims.
async fn of(change: &OperatorChange, code: &str, id: &str) -> Result<ClientId, ServiceError> {
    let missing = || ServiceError::not_found(Noun::Client);
    let id: ClientId = id.parse().map_err(|_| missing())?;
    let clients = change.operator.clients(code).await?;
    clients.iter().any(|client| client.id == id).then_some(id).ok_or_else(missing)
}

fn revealed(context: &Context, code: &str, made: &Shown, audience: &str) -> Response {
    let body = html! {
        (trail(&format!("/console/operator/resellers/{code}"), code))
        (heading(made.text("name"), html! { "Its secret is shown only now." }, html! {}))
        section.card {
            p.caution { "Hand it over safely: nobody can look it up here later." }
            h2 { "Client id" } (copyable("the client id", made.text("id")))
            h2 { "Client secret" } (copyable("the client secret", made.text("secret")))
            h2 { "Audience" } (copyable("the audience", audience))
        }
    };
    context.page("Client secret", body)
}

fn done(code: &str, what: &str) -> Response {
    // The code is checked by whoever looks for it; here it only has to fit a header.
    let code: String = code.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-_".contains(*letter)).collect();
    see_other(&format!("/console/operator/resellers/{code}?done={what}"))
}
