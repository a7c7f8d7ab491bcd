//! `/v1/authz` and `/v1/challenge`: codes, verification, and giving a permission up.

use axum::Json;
use axum::extract::State;
use chancery_domain::{Authorization, AuthorizationId, AuthorizationState, ChallengeId, Scope};
use chancery_http::{ApiError, Authenticated, Door, StrictPath};
use chancery_service::{AuthorizationDetails, Caller, ChallengeDetails, Noun, SPANS, ServiceError};
use chancery_wire::{self as wire, ErrorCode};
use serde::Serialize;
use tracing::{Instrument, trace_span};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::gone::with_last_state;
use crate::openapi::{AuthorizationGone, NoAuthorization, NoChallenge, Refused};
use crate::order_view;
use crate::unasked::Unasked;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(generate)).routes(routes!(
        show_challenge,
        choose,
        deactivate
    ))
}

/// Shows an authorization
#[utoipa::path(get, path = "/v1/authz/{auth_lookup}", tag = "Authorizations", operation_id = "getAuthorization",
    params(("auth_lookup" = String, Path, description = "The authorization")),
    security(("OAuth2Reseller" = ["reseller", "read:authorization"])),
    responses((status = 200, body = wire::Authorization), Refused, NoAuthorization, AuthorizationGone))]
async fn show(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::Authorization>, ApiError> {
    caller.require(Scope::ReadAuthorization)?;
    let details = door.services.authorizations.show(&caller, read_id(&lookup)?).await?;
    let shown = view(&details, &door);
    refuse_deactivated(&details.authorization, "authorization", &shown)?;
    Ok(Json(shown))
}

/// Generates the challenge codes of an authorization, or gives back those it has
#[utoipa::path(post, path = "/v1/authz/{auth_lookup}/challenges", tag = "Authorizations",
    operation_id = "createChallenges", params(("auth_lookup" = String, Path, description = "The authorization")),
    security(("OAuth2Reseller" = ["reseller", "write:authorization"])),
    responses((status = 200, body = wire::Challenges), Refused, NoAuthorization, AuthorizationGone))]
async fn generate(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    unasked: Unasked,
) -> Result<Json<wire::Challenges>, ApiError> {
    caller.require(Scope::WriteAuthorization)?;
    let id = read_id(&lookup)?;
    let alive = door.services.authorizations.require_alive(&caller, id);
    unasked.refuse(alive, "authorization", shown(&door, &caller, id)).await?;
    match door.services.authorizations.generate_challenges(&caller, id).await {
        Ok(details) => {
            let wire::Authorization { lookup, challenges, .. } = view(&details, &door);
            Ok(Json(wire::Challenges { authorization: lookup, challenges }))
        }
        Err(refused) => Err(with_last_state(refused, "authorization", shown(&door, &caller, id)).await),
    }
}

/// Shows a challenge
#[utoipa::path(get, path = "/v1/challenge/{challenge_lookup}", tag = "Challenges", operation_id = "getChallenge",
    params(("challenge_lookup" = String, Path, description = "The challenge")),
    security(("OAuth2Reseller" = ["reseller", "read:challenge"])),
    responses((status = 200, body = wire::Challenge), Refused, NoChallenge, AuthorizationGone))]
async fn show_challenge(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::Challenge>, ApiError> {
    caller.require(Scope::ReadChallenge)?;
    let details = door.services.authorizations.show_challenge(&caller, read_challenge_id(&lookup)?).await?;
    let shown = challenge_view(&details);
    refuse_deactivated(&details.authorization, "challenge", &shown)?;
    Ok(Json(shown))
}

/// Chooses a challenge for verification, which begins at once
#[utoipa::path(post, path = "/v1/challenge/{challenge_lookup}", tag = "Challenges", operation_id = "chooseChallenge",
    params(("challenge_lookup" = String, Path, description = "The challenge")),
    security(("OAuth2Reseller" = ["reseller", "write:challenge"])),
    responses((status = 200, body = wire::Challenge), Refused, NoChallenge, AuthorizationGone))]
async fn choose(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    unasked: Unasked,
) -> Result<Json<wire::Challenge>, ApiError> {
    caller.require(Scope::WriteChallenge)?;
    let (id, span) = (read_challenge_id(&lookup)?, trace_span!(target: SPANS, "challenge.choose"));
    unasked.refuse(living_challenge(&door, &caller, id), "challenge", shown_challenge(&door, &caller, id)).await?;
    match door.services.authorizations.choose(&caller, id).instrument(span).await {
        Ok(details) => Ok(Json(challenge_view(&details))),
        Err(ServiceError::AlreadyTried(details)) => {
            let state = serde_json::to_value(challenge_view(&details)).map_err(|_| ApiError::internal())?;
            let message = ServiceError::AlreadyTried(details).to_string();
            Err(ApiError::gone(ErrorCode::AuthorizationGone, message).with_extra("challenge", state))
        }
        Err(other) => Err(with_last_state(other, "challenge", shown_challenge(&door, &caller, id)).await),
    }
}

/// Deactivates the authorization of a challenge and cancels the order it belongs to
#[utoipa::path(delete, path = "/v1/challenge/{challenge_lookup}", tag = "Challenges",
    operation_id = "deactivateChallenge", params(("challenge_lookup" = String, Path, description = "The challenge")),
    security(("OAuth2Reseller" = ["reseller", "write:challenge"])),
    responses((status = 200, body = wire::Authorization), Refused, NoChallenge, AuthorizationGone))]
async fn deactivate(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    unasked: Unasked,
) -> Result<Json<wire::Authorization>, ApiError> {
    caller.require(Scope::WriteChallenge)?;
    let id = read_challenge_id(&lookup)?;
    unasked.refuse(living_challenge(&door, &caller, id), "challenge", shown_challenge(&door, &caller, id)).await?;
    match door.services.authorizations.deactivate(&caller, id).await {
        Ok(details) => Ok(Json(view(&details, &door))),
        Err(refused) => Err(with_last_state(refused, "challenge", shown_challenge(&door, &caller, id)).await),
    }
}

async fn shown(door: &Door, caller: &Caller, id: AuthorizationId) -> Result<wire::Authorization, ServiceError> {
    door.services.authorizations.show(caller, id).await.map(|details| view(&details, door))
}

/// That there is such a challenge, of an authorization that still stands.
async fn living_challenge(door: &Door, caller: &Caller, id: ChallengeId) -> Result<(), ServiceError> {
    door.services.authorizations.show_challenge(caller, id).await?;
    door.services.authorizations.require_alive(caller, id.authorization()).await
}

async fn shown_challenge(door: &Door, caller: &Caller, id: ChallengeId) -> Result<wire::Challenge, ServiceError> {
    door.services.authorizations.show_challenge(caller, id).await.map(|details| challenge_view(&details))
}

/// What was given up, or cancelled with its order, is gone; its last state is told with that.
fn refuse_deactivated(of: &Authorization, what: &'static str, shown: &impl Serialize) -> Result<(), ApiError> {
    match of.state {
        AuthorizationState::Deactivated { at } => {
            let message = format!("The authorization was deactivated at {at}.");
            let state = serde_json::to_value(shown).map_err(|_| ApiError::internal())?;
            Err(ApiError::gone(ErrorCode::AuthorizationGone, message).with_extra(what, state))
        }
        AuthorizationState::Pending
        | AuthorizationState::Valid(_)
        | AuthorizationState::Invalid { .. }
        | AuthorizationState::Revoked { .. } => Ok(()),
    }
}

fn read_id(text: &str) -> Result<AuthorizationId, ServiceError> {
    text.parse().map_err(|_| ServiceError::not_found(Noun::Authorization))
}

fn read_challenge_id(text: &str) -> Result<ChallengeId, ServiceError> {
    text.parse().map_err(|_| ServiceError::not_found(Noun::Challenge))
}

fn view(details: &AuthorizationDetails, door: &Door) -> wire::Authorization {
    order_view::authorization(&details.authorization, details.thumbprint.as_deref(), door.services.now())
}

fn challenge_view(details: &ChallengeDetails) -> wire::Challenge {
    order_view::challenge(&details.challenge, &details.authorization, details.thumbprint.as_deref())
}
