//! The API clients of a reseller, as the operator makes and ends them.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::{ClientId, Name, Problems, ScopeSet};
use chancery_http::Door;
use chancery_service::operator::{NewClient, NewSecret};
use chancery_service::{Noun, ServiceError};
use maud::html;

use super::resellers::shown;
use crate::form::Fields;
use crate::layout::Context;
use crate::parts::{Complaints, copyable, heading, trail};
use crate::refused::Refused;
use crate::session::{OperatorChange, see_other};

pub(crate) async fn create(
    State(door): State<Door>,
    Path(code): Path<String>,
    change: OperatorChange,
) -> Result<Response, Refused> {
    let made = match read(&code, &change.form) {
        Ok(new) => change.operator.create_client(new).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(made) => Ok(revealed(&change.context, &code, &made, &door.services.settings.audience)),
        Err(error) => {
            let complaints = Complaints::of(error)?;
            shown(&door, &change.operator, &change.context, &code, Some((complaints, change.form))).await
        }
    }
}

pub(crate) async fn rotate(
    State(door): State<Door>,
    Path((code, id)): Path<(String, String)>,
    change: OperatorChange,
) -> Result<Response, Refused> {
    let made = change.operator.begin_rotation(read_id(&id)?).await?;
    Ok(revealed(&change.context, &code, &made, &door.services.settings.audience))
}

pub(crate) async fn finish(
    Path((code, id)): Path<(String, String)>,
    change: OperatorChange,
) -> Result<Response, Refused> {
    change.operator.finish_rotation(read_id(&id)?).await?;
    Ok(done(&code, "rotated"))
}

pub(crate) async fn disable(
    Path((code, id)): Path<(String, String)>,
    change: OperatorChange,
) -> Result<Response, Refused> {
    change.operator.set_client_disabled(read_id(&id)?, true).await?;
    Ok(done(&code, "disabled"))
}

pub(crate) async fn enable(
    Path((code, id)): Path<(String, String)>,
    change: OperatorChange,
) -> Result<Response, Refused> {
    change.operator.set_client_disabled(read_id(&id)?, false).await?;
    Ok(done(&code, "enabled"))
}

fn read(code: &str, form: &Fields) -> Result<NewClient, ServiceError> {
    let mut problems = Problems::default();
    let name = problems.take("name", Name::parse(form.text("name").trim()));
    let days = form.filled("days").and_then(|text| {
        let days = text.parse::<u32>().ok().filter(|days| (1..=3650).contains(days));
        problems.take("days", days.ok_or("must be a whole number from 1 to 3650"))
    });
    let ticked = form.all("scope");
    let scopes = match ticked.is_empty() {
        true => Some(ScopeSet::all()),
        false => problems.take("scope", ticked.join(" ").parse::<ScopeSet>()),
    };
    match (name, scopes) {
        (Some(name), Some(scopes)) if problems.is_empty() => {
            Ok(NewClient { reseller: code.to_owned(), name, scopes, expires_in_days: days })
        }
        _ => Err(ServiceError::Invalid(problems)),
    }
}

fn read_id(id: &str) -> Result<ClientId, ServiceError> {
    id.parse().map_err(|_| ServiceError::not_found(Noun::Client))
}

fn revealed(context: &Context, code: &str, made: &NewSecret, audience: &str) -> Response {
    let body = html! {
        (trail(&format!("/console/operator/resellers/{code}"), code))
        (heading(made.client.name.as_str(), html! { "Its secret is shown only now." }, html! {}))
        section.card {
            p.caution { "Hand it over safely: only its hash stays here, and nobody can show it again." }
            h2 { "Client id" } (copyable("the client id", &made.client.id.to_string()))
            h2 { "Client secret" } (copyable("the client secret", made.secret.reveal()))
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
