//! Challenges (RFC 8555 section 7.5.1).

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use chancery_domain::{Authorization, AuthorizationState, Challenge, ChallengeId, ChallengeState, ChallengeType};
use chancery_service::SPANS;
use chancery_wire::acme as wire;
use http::header::RETRY_AFTER;
use serde_json::{Map, Value};
use tracing::{Instrument, trace_span};

use crate::authorization::failure;
use crate::jws::by_account;
use crate::mount::Door;
use crate::order::SOON;
use crate::order_profiles;
use crate::payload;
use crate::problem::{Problem, of_end};
use crate::surroundings::{lead_back, link};
use crate::urls::Urls;

/// An empty payload looks; an object, usually `{}`, says that the challenge can be verified.
pub(crate) async fn show_or_answer(
    State(door): State<Door>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let (by, signed) = by_account(&door, request).await?;
    let id: ChallengeId = id.parse().map_err(|_| Problem::not_found("there is no such challenge"))?;
    let details = if signed.payload.is_empty() {
        door.services.acme.challenge(&by, id).await?
    } else {
        let _nothing_of_interest: Map<String, Value> = payload::read(&signed.payload)?;
        door.services.acme.answer_challenge(&by, id).instrument(trace_span!(target: SPANS, "challenge.choose")).await?
    };
    let profile = order_profiles::of_authorization(&details.authorization, &by, &door).await;
    let mut response = Json(view(&details.challenge, &details.authorization, &door)).into_response();
    link(&mut response, &Urls::of(&door).authorization(details.authorization.id), "up");
    if let Some(profile) = profile {
        lead_back(&mut response, profile);
    }
    if is_looked_at(&details.challenge, &details.authorization) {
        response.headers_mut().insert(RETRY_AFTER, SOON);
    }
    Ok(response)
}

/// Whether something will come of a challenge, so that it is worth looking again.
pub(crate) fn is_looked_at(challenge: &Challenge, of: &Authorization) -> bool {
    matches!(challenge.state, ChallengeState::Processing { .. }) && of.state == AuthorizationState::Pending
}

pub(crate) fn view(challenge: &Challenge, of: &Authorization, door: &Door) -> wire::Challenge {
    let validated = match &challenge.state {
        ChallengeState::Valid { at } => Some(at.to_string()),
        ChallengeState::Pending | ChallengeState::Processing { .. } | ChallengeState::Invalid { .. } => None,
    };
    let given_up = given_up(challenge, of);
    let status = if given_up.is_some() { "invalid" } else { challenge.state.as_str() };
    // draft-ietf-acme-dns-persist section 3.1.
    let (persistent, settings) = (challenge.kind == ChallengeType::DnsPersist01, &door.services.settings.acme);
    wire::Challenge {
        kind: challenge.kind.as_str().to_owned(),
        url: Urls::of(door).challenge(challenge.id),
        status: status.to_owned(),
        token: (!persistent).then(|| challenge.token.clone()),
        account_uri: of.acme_account.filter(|_| persistent).map(|id| Urls::of(door).account(id)),
        issuer_domain_names: if persistent { settings.issuer_domain_names().to_vec() } else { Vec::new() },
        validated,
        error: given_up.or_else(|| failure(challenge)),
    }
}

/// Why nothing comes of a challenge that was being looked at: its authorization ended meanwhile. What is stored stays as it
/// was, so it is said here.
fn given_up(challenge: &Challenge, of: &Authorization) -> Option<wire::Problem> {
    let ChallengeState::Processing { .. } = challenge.state else { return None };
    match &of.state {
        AuthorizationState::Deactivated { at } => Some(of_end(format!("the authorization was deactivated at {at}"))),
        AuthorizationState::Revoked { at } => Some(of_end(format!("the authorization was revoked at {at}"))),
        AuthorizationState::Pending | AuthorizationState::Valid(_) | AuthorizationState::Invalid { .. } => None,
    }
}
