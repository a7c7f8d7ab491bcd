//! Challenges (RFC 8555 section 7.5.1).

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use chancery_domain::{Authorization, Challenge, ChallengeId, ChallengeState, ChallengeType};
use chancery_http::SPANS;
use chancery_wire::acme as wire;
use http::header::RETRY_AFTER;
use serde_json::{Map, Value};
use tracing::{Instrument, trace_span};

use crate::authorization::failure;
use crate::jws::by_account;
use crate::mount::Door;
use crate::order::SOON;
use crate::payload;
use crate::problem::Problem;
use crate::surroundings::link;
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
    let mut response = Json(view(&details.challenge, &details.authorization, &door)).into_response();
    link(&mut response, &Urls::of(&door).authorization(details.authorization.id), "up");
    if let ChallengeState::Processing { .. } = details.challenge.state {
        response.headers_mut().insert(RETRY_AFTER, SOON);
    }
    Ok(response)
}

pub(crate) fn view(challenge: &Challenge, of: &Authorization, door: &Door) -> wire::Challenge {
    let validated = match &challenge.state {
        ChallengeState::Valid { at } => Some(at.to_string()),
        ChallengeState::Pending | ChallengeState::Processing { .. } | ChallengeState::Invalid { .. } => None,
    };
    // draft-ietf-acme-dns-persist section 3.1.
    let (persistent, settings) = (challenge.kind == ChallengeType::DnsPersist01, &door.services.settings.acme);
    wire::Challenge {
        kind: challenge.kind.as_str().to_owned(),
        url: Urls::of(door).challenge(challenge.id),
        status: challenge.state.as_str().to_owned(),
        token: (!persistent).then(|| challenge.token.clone()),
        account_uri: of.acme_account.filter(|_| persistent).map(|id| Urls::of(door).account(id)),
        issuer_domain_names: if persistent { settings.issuer_domain_names().to_vec() } else { Vec::new() },
        validated,
        error: failure(challenge),
    }
}
