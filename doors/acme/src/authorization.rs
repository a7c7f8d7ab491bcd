//! Authorizations (RFC 8555 sections 7.4.1 and 7.5).

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use chancery_domain::{Authorization, AuthorizationId, AuthorizationState, Challenge, ChallengeState, Identifier};
use chancery_http::Begun;
use chancery_service::acme::AcmeCaller;
use chancery_wire::acme as wire;
use http::StatusCode;
use http::header::{LOCATION, RETRY_AFTER};

use crate::directory::find;
use crate::jws::by_account;
use crate::mount::Door;
use crate::order::{SOON, name};
use crate::problem::{Problem, of_validation, view as view_identifier};
use crate::surroundings::lead_back;
use crate::urls::Urls;
use crate::{challenge, order_profiles, payload};

pub(crate) async fn create(
    State(door): State<Door>,
    Path(profile): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let profile = find(&door, &profile)?.name.clone();
    let (by, signed) = by_account(&door, request).await?;

    let asked: wire::NewAuthorization = payload::read(&signed.payload)?;
    let made = door.services.acme.new_authorization(&by, profile, name(asked.identifier));
    let (details, begun) = Begun::by(made).await?;
    let location = [(LOCATION, Urls::of(&door).authorization(details.authorization.id))];
    let answer = answer(&details.authorization, &by, &door).await;
    Ok((StatusCode::CREATED, location, begun, answer).into_response())
}

pub(crate) async fn show_or_deactivate(
    State(door): State<Door>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let (by, signed) = by_account(&door, request).await?;
    let id: AuthorizationId = id.parse().map_err(|_| Problem::not_found("there is no such authorization"))?;
    let details = if signed.payload.is_empty() {
        door.services.acme.authorization(&by, id).await?
    } else {
        let asked: wire::AuthorizationUpdate = payload::read(&signed.payload)?;
        if asked.status != "deactivated" {
            return Err(Problem::malformed("`status` can only become \"deactivated\""));
        }
        door.services.acme.deactivate_authorization(&by, id).await?
    };
    Ok(answer(&details.authorization, &by, &door).await)
}

async fn answer(authorization: &Authorization, by: &AcmeCaller, door: &Door) -> Response {
    let profile = order_profiles::of_authorization(authorization, by, door).await;
    let mut response = Json(view(authorization, door)).into_response();
    if let Some(profile) = profile {
        lead_back(&mut response, profile);
    }
    if authorization.challenges.iter().any(|each| challenge::is_looked_at(each, authorization)) {
        response.headers_mut().insert(RETRY_AFTER, SOON);
    }
    response
}

fn view(authorization: &Authorization, door: &Door) -> wire::Authorization {
    let (identifier, wildcard) = match &authorization.shown_at() {
        Identifier::Dns(name) => {
            (wire::Identifier { kind: "dns".to_owned(), value: name.base().to_owned() }, name.is_wildcard())
        }
        address @ Identifier::Ip(_) => (view_identifier(address), false),
    };
    wire::Authorization {
        identifier,
        status: authorization.status(door.services.now()).to_string(),
        expires: authorization.expires_at.to_string(),
        challenges: shown(authorization).into_iter().map(|each| challenge::view(each, authorization, door)).collect(),
        wildcard,
        subdomain_auth_allowed: authorization.namespace.is_some(),
    }
}

/// While it is open, every way to show control; afterwards the one that was tried (RFC 8555 section 7.1.4).
fn shown(authorization: &Authorization) -> Vec<&Challenge> {
    match (authorization.tried(), &authorization.state) {
        (Some(tried), AuthorizationState::Valid(_) | AuthorizationState::Invalid { .. }) => vec![tried],
        _ => authorization.challenges.iter().collect(),
    }
}

/// Why a challenge failed, where it did.
pub(crate) fn failure(challenge: &Challenge) -> Option<wire::Problem> {
    match &challenge.state {
        ChallengeState::Invalid { problem, .. } => Some(of_validation(problem)),
        ChallengeState::Pending | ChallengeState::Processing { .. } | ChallengeState::Valid { .. } => None,
    }
}
