//! `/v1/account-group/…/member`: who is in a group.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chancery_domain::{GroupId, Problems, Scope};
use chancery_http::{ApiError, Authenticated, Door, JsonBody, StrictPath, StrictQuery, list_request, list_response};
use chancery_service::{Caller, ServiceError};
use chancery_wire as wire;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::account;
use crate::group::find;
use crate::missing::not_found_at;
use crate::openapi::{BadBody, NoGroup, NoGroupOrAccount, PageQuery, Refused};

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(list, add, remove)).routes(routes!(relocate))
}

type Body = Result<JsonBody<wire::ResellerAccountGroupMembersRequest>, ApiError>;

/// Lists the accounts in a group
#[utoipa::path(get, path = "/v1/account-group/{group_lookup}/member", tag = "Account Group",
    operation_id = "listAccountGroupMembers",
    params(("group_lookup" = String, Path, description = "The group"), PageQuery),
    security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::AccountGroupMemberList), Refused, NoGroup))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    query: Result<StrictQuery<PageQuery>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadAccount)?;
    let group = group_id(&door, &caller, &lookup).await?;
    let StrictQuery(PageQuery { limit, cursor }) = query?;
    let page = door.services.groups.members(&caller, group, &list_request(limit, cursor)?).await?;
    Ok(list_response(page, |member| account::view(member, &caller)))
}

/// Adds accounts to a group; one that is in it already stays
///
/// Up to 100 accounts are added in one step, or none. More are checked together and then added in steps of 100; an account
/// that is terminated or put into too many groups meanwhile is left out. `message` counts the accounts that are in the group.
#[utoipa::path(post, path = "/v1/account-group/{group_lookup}/member", tag = "Account Group",
    operation_id = "addAccountGroupMembers", request_body = wire::ResellerAccountGroupMembersRequest,
    params(("group_lookup" = String, Path, description = "The group")),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, BadBody, NoGroupOrAccount))]
async fn add(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    body: Body,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let group = group_id(&door, &caller, &lookup).await?;
    let accounts = read_accounts(body)?;
    let done = door.services.groups.add_members(&caller, group, accounts.clone()).await;
    let count = done.map_err(|error| not_found_at(error, "accounts", &accounts))?;
    Ok(Json(wire::SuccessResponse::new(format!("{count} account(s) are in {lookup}."))))
}

/// Removes accounts from a group
///
/// Up to 100 accounts are removed in one step, or none. More are checked together and then removed in steps of 100; an account
/// that is terminated or leaves the group meanwhile is left out. `message` counts the accounts that were removed.
#[utoipa::path(delete, path = "/v1/account-group/{group_lookup}/member", tag = "Account Group",
    operation_id = "removeAccountGroupMembers", request_body = wire::ResellerAccountGroupMembersRequest,
    params(("group_lookup" = String, Path, description = "The group")),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, BadBody, NoGroupOrAccount))]
async fn remove(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    body: Body,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let group = group_id(&door, &caller, &lookup).await?;
    let accounts = read_accounts(body)?;
    let done = door.services.groups.remove_members(&caller, group, accounts.clone()).await;
    let count = done.map_err(|error| not_found_at(error, "accounts", &accounts))?;
    Ok(Json(wire::SuccessResponse::new(format!("{count} account(s) are removed from {lookup}."))))
}

/// Moves accounts from one group to another
///
/// Up to 50 accounts are moved in one step, or none. More are checked together and then moved in steps of 50; an account that
/// is terminated or leaves the first group meanwhile is left out. `message` counts the accounts that were moved.
#[utoipa::path(patch, path = "/v1/account-group/{origin_group_lookup}/{destination_group_lookup}/member",
    tag = "Account Group", operation_id = "moveAccountGroupMembers",
    request_body = wire::ResellerAccountGroupMembersRequest,
    params(("origin_group_lookup" = String, Path, description = "The group they are in"),
           ("destination_group_lookup" = String, Path, description = "The group they go to")),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, BadBody, NoGroupOrAccount))]
async fn relocate(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath((origin, destination)): StrictPath<(String, String)>,
    body: Body,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let from = group_id(&door, &caller, &origin).await?;
    let to = group_id(&door, &caller, &destination).await?;
    let accounts = read_accounts(body)?;
    let done = door.services.groups.move_members(&caller, from, to, accounts.clone()).await;
    let count = done.map_err(|error| not_found_at(error, "accounts", &accounts))?;
    Ok(Json(wire::SuccessResponse::new(format!("{count} account(s) are moved from {origin} to {destination}."))))
}

async fn group_id(door: &Door, caller: &Caller, lookup: &str) -> Result<GroupId, ServiceError> {
    Ok(find(door, caller, lookup).await?.group.id)
}

fn read_accounts(body: Body) -> Result<Vec<String>, ApiError> {
    body?.read(|wire::ResellerAccountGroupMembersRequest { accounts }| {
        let mut problems = Problems::default();
        if !(1..=1000).contains(&accounts.len()) {
            let message = format!("must have 1 to 1000 entries, this one has {}", accounts.len());
            problems.add("accounts", "out_of_range", message);
        }
        problems.into_result().map_err(ServiceError::Invalid).map(|()| accounts)
    })
}
