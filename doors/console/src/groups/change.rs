//! What can be done to a group.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::{Description, Name, PolicyId, Problems};
use chancery_http::Door;
use chancery_service::{GroupInput, Noun, Outcome, ServiceError};

use super::list::form_page;
use super::read_id;
use super::show::{self, Wrong};
use crate::form::Fields;
use crate::parts::Complaints;
use crate::refused::{Refused, sentence};
use crate::session::{Change, see_other};

pub(crate) async fn create(State(door): State<Door>, change: Change) -> Result<Response, Refused> {
    let made = match read(&change.form) {
        Ok(input) => door.services.groups.create(&change.caller, input, None).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(Outcome::Fresh(details)) => Ok(see_other(&format!("/console/groups/{}?done=created", details.group.id))),
        Ok(Outcome::Replayed(_)) => Ok(see_other("/console/groups")),
        Err(error) => Ok(form_page(&change.context, &change.form, &Complaints::of(error)?)),
    }
}

pub(crate) async fn edit(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    let group = read_id(&id)?;
    let changed = match read(&change.form) {
        Ok(input) => door.services.groups.replace(&change.caller, group, input).await,
        Err(error) => Err(error),
    };
    match changed {
        Ok(_) => Ok(done(&id, "saved")),
        Err(error) => {
            let wrong = Wrong { form: "edit", complaints: Complaints::of(error)?, typed: change.form };
            show::shown(&door, &change.caller, &change.context, &id, None, Some(wrong)).await
        }
    }
}

pub(crate) async fn delete(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    door.services.groups.delete(&change.caller, read_id(&id)?).await?;
    Ok(see_other("/console/groups?done=deleted"))
}

pub(crate) async fn assign(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    door.services.groups.assign_policy(&change.caller, read_id(&id)?, policy(&change.form)?).await?;
    Ok(done(&id, "assigned"))
}

pub(crate) async fn unassign(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    door.services.groups.unassign_policy(&change.caller, read_id(&id)?, policy(&change.form)?).await?;
    Ok(done(&id, "unassigned"))
}

pub(crate) async fn add(State(door): State<Door>, Path(id): Path<String>, change: Change) -> Result<Response, Refused> {
    let accounts = change.form.entries("accounts");
    match door.services.groups.add_members(&change.caller, read_id(&id)?, accounts).await {
        Ok(_) => Ok(done(&id, "added")),
        Err(error @ ServiceError::NotFound(Noun::Account, _)) => {
            let complaints = Complaints(vec![("accounts".to_owned(), sentence(&error.to_string()))]);
            let wrong = Wrong { form: "add", complaints, typed: change.form };
            show::shown(&door, &change.caller, &change.context, &id, None, Some(wrong)).await
        }
        Err(other) => Err(other.into()),
    }
}

pub(crate) async fn remove(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    door.services.groups.remove_members(&change.caller, read_id(&id)?, chosen(&change.form)?).await?;
    Ok(done(&id, "removed"))
}

pub(crate) async fn relocate(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    let to = read_id(change.form.text("to"))?;
    door.services.groups.move_members(&change.caller, read_id(&id)?, to, chosen(&change.form)?).await?;
    Ok(done(&id, "moved"))
}

fn read(form: &Fields) -> Result<GroupInput, ServiceError> {
    let mut problems = Problems::default();
    let name = problems.take("name", Name::parse(form.text("name").trim()));
    let description = form.filled("description");
    let description = description.and_then(|text| problems.take("description", Description::parse(text)));
    match name {
        Some(name) if problems.is_empty() => Ok(GroupInput { name, description }),
        _ => Err(ServiceError::Invalid(problems)),
    }
}

fn policy(form: &Fields) -> Result<PolicyId, ServiceError> {
    form.text("policy").parse().map_err(|_| ServiceError::not_found(Noun::Policy))
}

fn chosen(form: &Fields) -> Result<Vec<String>, Refused> {
    let accounts = form.all("account");
    if accounts.is_empty() { Err(Refused::incomplete("Choose the customers first.")) } else { Ok(accounts) }
}

fn done(id: &str, what: &str) -> Response {
    see_other(&format!("/console/groups/{id}?done={what}"))
}
