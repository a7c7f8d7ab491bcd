//! `/v1/policy`: issuance policies.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Name, PolicyId, Problem, Problems, ProfileName, Scope};
use chancery_http::{
    ApiError, Authenticated, Door, JsonBody, RequestKey, StrictPath, StrictQuery, list_request, list_response, problem,
};
use chancery_service::{Caller, Evaluation, EvaluationRequest, Judges, Noun, PolicyDetails, ServiceError};
use chancery_wire as wire;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::openapi::{BadBody, Gone, KeyReused, NoAccount, NoPolicy, PageQuery, Refused};
use crate::policy_rules::{read_policy, view};
use crate::selector::{one_account, read_identifiers};

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(evaluate)).routes(routes!(show, replace, delete))
}

/// Lists policies
#[utoipa::path(get, path = "/v1/policy", tag = "Policy", operation_id = "listPolicies", params(PageQuery),
    security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::PolicyList), Refused))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    query: Result<StrictQuery<PageQuery>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadAccount)?;
    let StrictQuery(PageQuery { limit, cursor }) = query?;
    let page = door.services.policies.list(&caller, &list_request(limit, cursor)?).await?;
    Ok(list_response(page, view))
}

/// Creates a policy
#[utoipa::path(post, path = "/v1/policy", tag = "Policy", operation_id = "createPolicy",
    request_body = wire::IssuancePolicy, params(crate::openapi::IdempotencyKey),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::IssuancePolicyRecord), Refused, BadBody, KeyReused))]
async fn create(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    key: Result<RequestKey, ApiError>,
    body: Result<JsonBody<wire::IssuancePolicy>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let (key, body) = (key?, body?);
    let bytes = body.bytes.clone();
    key.answer(&door, &caller, &bytes, StatusCode::OK, view, async |once| {
        let once = once?;
        let input = body.read(|request| read_policy(request, &door.services.settings))?;
        Ok(door.services.policies.create(&caller, input, once).await?)
    })
    .await
}

/// Shows a policy
#[utoipa::path(get, path = "/v1/policy/{lookup}", tag = "Policy", operation_id = "getPolicy",
    params(("lookup" = String, Path, description = "The policy")),
    security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::IssuancePolicyRecord), Refused, NoPolicy))]
async fn show(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::IssuancePolicyRecord>, ApiError> {
    caller.require(Scope::ReadAccount)?;
    Ok(Json(view(&find(&door, &caller, &lookup).await?)))
}

/// Replaces a policy whole: a rule that is left out is gone
#[utoipa::path(put, path = "/v1/policy/{lookup}", tag = "Policy", operation_id = "updatePolicy",
    request_body = wire::IssuancePolicy, params(("lookup" = String, Path, description = "The policy")),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::IssuancePolicyRecord), Refused, BadBody, NoPolicy))]
async fn replace(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    body: Result<JsonBody<wire::IssuancePolicy>, ApiError>,
) -> Result<Json<wire::IssuancePolicyRecord>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let policy = find(&door, &caller, &lookup).await?.policy;
    let input = body?.read(|request| read_policy(request, &door.services.settings))?;
    Ok(Json(view(&door.services.policies.replace(&caller, policy.id, input, None).await?)))
}

/// Deletes a policy and takes it off its groups
#[utoipa::path(delete, path = "/v1/policy/{lookup}", tag = "Policy", operation_id = "deletePolicy",
    params(("lookup" = String, Path, description = "The policy")),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, NoPolicy))]
async fn delete(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    door.services.policies.delete(&caller, read_policy_id(&lookup)?).await?;
    Ok(Json(wire::SuccessResponse::new(format!("The policy {lookup} is deleted."))))
}

/// Tells what the policies would say to an order, without ordering
#[utoipa::path(post, path = "/v1/policy/evaluate", tag = "Policy", operation_id = "evaluatePolicies",
    request_body = wire::PolicyEvaluationRequest,
    security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::PolicyEvaluation), Refused, BadBody, NoAccount, Gone))]
async fn evaluate(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    body: Result<JsonBody<wire::PolicyEvaluationRequest>, ApiError>,
) -> Result<Json<wire::PolicyEvaluation>, ApiError> {
    caller.require(Scope::ReadAccount)?;
    let request = body?.read(read_evaluation)?;
    let Evaluation { verdict, profile, applied } = door.services.policies.evaluate(&caller, request).await?;
    let applied = applied
        .into_iter()
        .map(|(id, name)| wire::AppliedPolicy { lookup: id.map(|id| id.to_string()), name: name.to_string() });
    let allowed = verdict.violations.is_empty();
    let (violations, omitted_violations) = verdict.violations.into_parts();
    Ok(Json(wire::PolicyEvaluation {
        allowed,
        profile: profile.to_string(),
        validity_days: verdict.validity_days,
        policies: applied.collect(),
        violations: violations.into_iter().map(problem).collect(),
        omitted_violations,
    }))
}

/// A lookup of another kind names no policy.
pub(crate) fn read_policy_id(text: &str) -> Result<PolicyId, ServiceError> {
    text.parse().map_err(|_| ServiceError::not_found(Noun::Policy))
}

pub(crate) fn reference<T: ToString>((id, name): &(T, Name)) -> wire::NamedReference {
    wire::NamedReference { lookup: id.to_string(), name: name.to_string() }
}

async fn find(door: &Door, caller: &Caller, lookup: &str) -> Result<PolicyDetails, ServiceError> {
    door.services.policies.show(caller, read_policy_id(lookup)?).await
}

fn read_evaluation(request: wire::PolicyEvaluationRequest) -> Result<EvaluationRequest, ServiceError> {
    let mut problems = Problems::default();
    let account = one_account(request.account_lookup, request.customer_email, request.eab_kid, &mut problems);
    let profile = request.profile.and_then(|text| problems.take("profile", ProfileName::parse(&text)));
    let key_type = request.key_type.and_then(|text| problems.take("key_type", text.parse()));
    let challenge_type = request.challenge_type.and_then(|text| problems.take("challenge_type", text.parse()));
    if !(1..=1000).contains(&request.identifiers.len()) {
        problems.add("identifiers", "out_of_range", "must have 1 to 1000 entries");
    }
    let identifiers = read_identifiers(&request.identifiers, &mut problems);
    // The places of names are those in the request where all of them could be read.
    if identifiers.len() == request.identifiers.len() {
        let mut seen = BTreeSet::new();
        let repeated = identifiers.iter().enumerate().filter(|(_, name)| !seen.insert(*name));
        problems.0.extend(repeated.map(|(place, _)| Problem::of_name(place, "duplicate_name", "is named before")));
    }
    if request.validity_days == Some(0) {
        problems.add("validity_days", "out_of_range", "must be at least 1");
    }
    let validity_days = request.validity_days;
    problems.into_result().map_err(ServiceError::Invalid)?;
    let judges = Judges::AllOf(account);
    Ok(EvaluationRequest { judges, profile, identifiers, key_type, challenge_type, validity_days })
}
