//! What can be done to a customer.

use axum::extract::{Path, State};
use axum::response::Response;
use chancery_domain::{AccountChange, AccountId, EmailAddress, ExternalId, Problems};
use chancery_http::Door;
use chancery_service::{Ending, Noun, ServiceError};

use super::show::{self, Part, Wrong};
use crate::parts::Complaints;
use crate::refused::Refused;
use crate::session::{Change, see_other};

pub(crate) async fn edit(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    let account = read_id(&id)?;
    let mut problems = Problems::default();
    let email = problems.take("email", EmailAddress::parse(change.form.text("email").trim()));
    let external_id = match change.form.filled("external_id") {
        Some(text) => problems.take("external_id", ExternalId::parse(text)).map(Some),
        // A field that is empty takes it away; one that is not there leaves it.
        None => change.form.has("external_id").then_some(None),
    };
    let wanted = AccountChange { email, external_id, ..AccountChange::default() };
    let changed = match problems.into_result().map_err(ServiceError::Invalid) {
        Ok(()) => door.services.accounts.change(&change.caller, account, wanted).await,
        Err(error) => Err(error),
    };
    match changed {
        Ok(_) => Ok(done(account, "saved")),
        Err(error) => {
            let wrong = Wrong { what: Part::Change, complaints: Complaints::of(error)?, form: change.form };
            show::shown(&door, &change.caller, &change.context, account, Some(wrong)).await
        }
    }
}

pub(crate) async fn suspend(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    set_suspended(&door, &id, &change, true).await
}

pub(crate) async fn resume(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    set_suspended(&door, &id, &change, false).await
}

pub(crate) async fn terminate(
    State(door): State<Door>,
    Path(id): Path<String>,
    change: Change,
) -> Result<Response, Refused> {
    let account = read_id(&id)?;
    if change.form.text("sure") != "yes" {
        return Err(Refused::incomplete("Tick the box to terminate the customer."));
    }
    let ending = Ending { revoke_certificates: change.form.text("revoke") == "yes" };
    door.services.accounts.terminate(&change.caller, account, ending).await?;
    Ok(done(account, "terminated"))
}

async fn set_suspended(door: &Door, id: &str, change: &Change, suspended: bool) -> Result<Response, Refused> {
    let account = read_id(id)?;
    let wanted = AccountChange { suspended: Some(suspended), ..AccountChange::default() };
    door.services.accounts.change(&change.caller, account, wanted).await?;
    Ok(done(account, if suspended { "suspended" } else { "resumed" }))
}

pub(crate) fn read_id(id: &str) -> Result<AccountId, ServiceError> {
    id.parse().map_err(|_| ServiceError::not_found(Noun::Account))
}

fn done(account: AccountId, what: &str) -> Response {
    see_other(&format!("/console/customers/{account}?done={what}"))
}
