//! `/v1/account-group`: named groups of accounts, and the policies assigned to them.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Description, Group, GroupId, Name, PolicyId, Problems, Scope};
use chancery_http::{
    ApiError, Authenticated, Door, JsonBody, RequestKey, StrictPath, StrictQuery, list_request, list_response,
};
use chancery_service::{Caller, GroupDetails, GroupInput, Noun, ServiceError};
use chancery_wire as wire;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::openapi::{BadBody, KeyReused, NoGroup, NoGroupOrPolicy, PageQuery, Refused};
use crate::policy::{self, read_policy_id};

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, replace, delete))
        .routes(routes!(assign_policy, unassign_policy))
}

/// Lists account groups
#[utoipa::path(get, path = "/v1/account-group", tag = "Account Group", operation_id = "listAccountGroups",
    params(PageQuery), security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::AccountGroupList), Refused))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    query: Result<StrictQuery<PageQuery>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadAccount)?;
    let StrictQuery(PageQuery { limit, cursor }) = query?;
    let page = door.services.groups.list(&caller, &list_request(limit, cursor)?).await?;
    Ok(list_response(page, view))
}

/// Creates an account group
#[utoipa::path(post, path = "/v1/account-group", tag = "Account Group", operation_id = "createAccountGroup",
    request_body = wire::ResellerAccountGroupRequest, params(crate::openapi::IdempotencyKey),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::AccountGroupRecord), Refused, BadBody, KeyReused))]
async fn create(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    key: Result<RequestKey, ApiError>,
    body: Result<JsonBody<wire::ResellerAccountGroupRequest>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let (key, body) = (key?, body?);
    let bytes = body.bytes.clone();
    key.answer(&door, &caller, &bytes, StatusCode::OK, view, async |once| {
        let once = once?;
        Ok(door.services.groups.create(&caller, body.read(read_input)?, once).await?)
    })
    .await
}

/// Shows an account group
#[utoipa::path(get, path = "/v1/account-group/{group_lookup}", tag = "Account Group", operation_id = "getAccountGroup",
    params(("group_lookup" = String, Path, description = "The group")),
    security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::AccountGroupRecord), Refused, NoGroup))]
async fn show(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::AccountGroupRecord>, ApiError> {
    caller.require(Scope::ReadAccount)?;
    Ok(Json(view(&find(&door, &caller, &lookup).await?)))
}

/// Replaces the name and description of an account group
#[utoipa::path(put, path = "/v1/account-group/{group_lookup}", tag = "Account Group",
    operation_id = "updateAccountGroup", request_body = wire::ResellerAccountGroupRequest,
    params(("group_lookup" = String, Path, description = "The group")),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::AccountGroupRecord), Refused, BadBody, NoGroup))]
async fn replace(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    body: Result<JsonBody<wire::ResellerAccountGroupRequest>, ApiError>,
) -> Result<Json<wire::AccountGroupRecord>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let group = find(&door, &caller, &lookup).await?.group;
    let input = body?.read(read_input)?;
    Ok(Json(view(&door.services.groups.replace(&caller, group.id, input).await?)))
}

/// Deletes an account group; its accounts and policies stay
#[utoipa::path(delete, path = "/v1/account-group/{group_lookup}", tag = "Account Group",
    operation_id = "deleteAccountGroup", params(("group_lookup" = String, Path, description = "The group")),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, NoGroup))]
async fn delete(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    door.services.groups.delete(&caller, read_group_id(&lookup)?).await?;
    Ok(Json(wire::SuccessResponse::new(format!("The account group {lookup} is deleted."))))
}

/// Assigns a policy to an account group
#[utoipa::path(post, path = "/v1/account-group/{group_lookup}/policy/{policy_lookup}", tag = "Account Group",
    operation_id = "assignPolicy",
    params(("group_lookup" = String, Path, description = "The group"),
           ("policy_lookup" = String, Path, description = "The policy")),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, NoGroupOrPolicy))]
async fn assign_policy(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath((group, policy)): StrictPath<(String, String)>,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let (group_id, policy_id) = both(&door, &caller, &group, &policy).await?;
    door.services.groups.assign_policy(&caller, group_id, policy_id).await?;
    Ok(Json(wire::SuccessResponse::new(format!("The policy {policy} is assigned to {group}."))))
}

/// Takes a policy off an account group
#[utoipa::path(delete, path = "/v1/account-group/{group_lookup}/policy/{policy_lookup}", tag = "Account Group",
    operation_id = "unassignPolicy",
    params(("group_lookup" = String, Path, description = "The group"),
           ("policy_lookup" = String, Path, description = "The policy")),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, NoGroupOrPolicy))]
async fn unassign_policy(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath((group, policy)): StrictPath<(String, String)>,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let (group_id, policy_id) = both(&door, &caller, &group, &policy).await?;
    door.services.groups.unassign_policy(&caller, group_id, policy_id).await?;
    Ok(Json(wire::SuccessResponse::new(format!("The policy {policy} is taken off {group}."))))
}

/// A lookup of another kind names no group.
pub(crate) fn read_group_id(text: &str) -> Result<GroupId, ServiceError> {
    text.parse().map_err(|_| ServiceError::not_found(Noun::Group))
}

pub(crate) async fn find(door: &Door, caller: &Caller, lookup: &str) -> Result<GroupDetails, ServiceError> {
    door.services.groups.show(caller, read_group_id(lookup)?).await
}

/// The group is looked for first: its absence is told before the policy's.
async fn both(door: &Door, caller: &Caller, group: &str, policy: &str) -> Result<(GroupId, PolicyId), ServiceError> {
    let group = find(door, caller, group).await?.group;
    Ok((group.id, read_policy_id(policy)?))
}

fn read_input(request: wire::ResellerAccountGroupRequest) -> Result<GroupInput, ServiceError> {
    let mut problems = Problems::default();
    let name = problems.take("name", Name::parse(&request.name));
    let description = request.description.as_deref();
    let description = description.and_then(|text| problems.take("description", Description::parse(text)));
    match name {
        Some(name) if problems.is_empty() => Ok(GroupInput { name, description }),
        _ => Err(ServiceError::Invalid(problems)),
    }
}

pub(crate) fn reference(group: &Group) -> wire::NamedReference {
    wire::NamedReference { lookup: group.id.to_string(), name: group.name.to_string() }
}

fn view(details: &GroupDetails) -> wire::AccountGroupRecord {
    let GroupDetails { group, policies } = details;
    wire::AccountGroupRecord {
        lookup: group.id.to_string(),
        name: group.name.to_string(),
        description: group.description.as_ref().map(ToString::to_string),
        member_count: group.member_count,
        policies: policies.iter().map(policy::reference).collect(),
        created_at: group.created_at.to_string(),
        updated_at: group.updated_at.to_string(),
    }
}
