//! What can be done to a policy.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_http::Door;
use chancery_service::Outcome;

use super::form::{SEEN, read};
use super::list::form_page;
use super::{read_id, show};
use crate::parts::Complaints;
use crate::refused::Refused;
use crate::session::{Change, see_other};

pub(crate) async fn create(State(door): State<Door>, change: Change) -> Result<Response, Refused> {
    let made = match read(&change.form).and_then(|draft| draft.read(&door.services.settings)) {
        Ok(input) => door.services.policies.create(&change.caller, input, None).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(Outcome::Fresh(details)) => Ok(see_other(&format!("/console/policies/{}?done=created", details.policy.id))),
        Ok(Outcome::Replayed(_)) => Ok(see_other("/console/policies")),
        Err(error) => Ok(form_page(&door, &change.context, &change.form, &Complaints::of(error)?)),
    }
}

pub(crate) async fn edit(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    let policy = read_id(&id)?;
    let before = door.services.policies.show(&change.caller, policy).await?.policy;
    let changed = match read(&change.form).and_then(|draft| draft.read_over(&door.services.settings, Some(&before))) {
        Ok(input) => {
            // A form that says nothing is older than this release, and may lack rules.
            let seen = change.form.text(SEEN).parse().unwrap_or_default();
            door.services.policies.replace(&change.caller, policy, input, Some(seen)).await
        }
        Err(error) => Err(error),
    };
    match changed {
        Ok(_) => Ok(see_other(&format!("/console/policies/{policy}?done=saved"))),
        Err(error) => {
            let complaints = Complaints::of(error)?;
            show::shown(&door, &change.caller, &change.context, &id, Some(change.form), &complaints).await
        }
    }
}

pub(crate) async fn delete(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    door.services.policies.delete(&change.caller, read_id(&id)?).await?;
    Ok(see_other("/console/policies?done=deleted"))
}
