//! `/v1/account`: root accounts.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Account, AccountChange, EmailAddress, ExternalId, Metadata, Problems, Scope, Timestamp};
use chancery_http::{
    ApiError, Authenticated, Door, FilterQuery, JsonBody, RequestKey, StrictPath, StrictQuery, list_response,
};
use chancery_service::{
    AccountDetails, AccountFilter, AccountLookup, Caller, CreatedAccount, Ending, NewAccount, ServiceError,
};
use chancery_wire as wire;
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::eab;
use crate::missing::not_found_at;
use crate::openapi::{BadBody, Conflict, KeyReused, NoAccount, NoGroup, Refused};
use crate::unasked::UnaskedBody;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, terminate, change))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only the account with this e-mail address.
    customer_email: Option<String>,
    /// Only accounts that are (`true`) or are not (`false`) suspended.
    #[param(example = "false")]
    is_suspended: Option<String>,
    /// `true` lists terminated accounts too.
    include_deleted: Option<String>,
    /// Most results: 1 to 1000, 100 where it is left out.
    #[param(example = "100")]
    limit: Option<String>,
    /// The `nextCursor` of the page before.
    cursor: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TerminationQuery {
    /// `true` revokes the account's certificates too, before anything else of the account ends; of many, some may still be revoked
    /// after the response. They stay valid otherwise.
    #[param(example = "false")]
    revoke_certificates: Option<String>,
}

fn read_filter(query: ListQuery) -> Result<AccountFilter, ServiceError> {
    let mut problems = Problems::default();
    let filter = AccountFilter {
        email_key: query.customer_email.map(|text| email_key(&text)),
        suspended: flag("is_suspended", query.is_suspended, &mut problems),
        include_deleted: flag("include_deleted", query.include_deleted, &mut problems).unwrap_or(false),
    };
    problems.into_result().map_err(ServiceError::Invalid)?;
    Ok(filter)
}

/// Lists root accounts
#[utoipa::path(get, path = "/v1/account", tag = "Account", operation_id = "listAccounts", params(ListQuery),
    security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::AccountList), Refused))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    query: FilterQuery<ListQuery>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadAccount)?;
    let (filter, request) = query.read(|query| (query.limit.clone(), query.cursor.clone()), read_filter)?;
    let page = door.services.accounts.list(&caller, filter, &request).await?;
    Ok(list_response(page, |account| view(account, &caller)))
}

/// Creates a root account
///
/// The answer carries the EAB key id and, this once, the HMAC key for the customer's ACME client.
#[utoipa::path(post, path = "/v1/account", tag = "Account", operation_id = "createAccount",
    request_body = wire::ResellerAccountRequest, params(crate::openapi::IdempotencyKey),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 201, body = wire::Account), Refused, BadBody, KeyReused, NoGroup, Conflict))]
async fn create(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    key: Result<RequestKey, ApiError>,
    body: Result<JsonBody<wire::ResellerAccountRequest>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let (key, body, by) = (key?, body?, caller.clone());
    let (bytes, view) = (body.bytes.clone(), move |made: &CreatedAccount| created(made, &by));
    key.answer(&door, &caller, &bytes, StatusCode::CREATED, view, async |once| {
        let (once, new) = (once?, body.read(new_account)?);
        let groups = new.groups.clone();
        let made = door.services.accounts.create(&caller, new, once).await;
        made.map_err(|error| not_found_at(error, "account_groups", &groups))
    })
    .await
}

/// Shows an account with its EAB credentials and groups
#[utoipa::path(get, path = "/v1/account/{lookup}", tag = "Account", operation_id = "getAccount",
    params(("lookup" = String, Path, description = "The account's lookup, integer id, root kid, or e-mail address")),
    security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::AccountWithGroups), Refused, NoAccount))]
async fn show(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
) -> Result<Json<wire::AccountWithGroups>, ApiError> {
    let details = door.services.accounts.show(&caller, AccountLookup::parse(&lookup)).await?;
    let AccountDetails { account, credentials, groups } = details;
    Ok(Json(wire::AccountWithGroups {
        eab_credentials: credentials
            .items
            .iter()
            .map(|credential| eab::view(credential, &caller, &door.urls))
            .collect(),
        eab_credentials_next_cursor: credentials.next_cursor,
        groups: groups.iter().map(crate::group::reference).collect(),
        account: view(&account, &caller),
    }))
}

/// Terminates an account
///
/// Its EAB credentials are revoked and it leaves its groups. It stays readable; ordering for it is 410. If very much depends on it,
/// the rest ends after the response.
#[utoipa::path(delete, path = "/v1/account/{lookup}", tag = "Account", operation_id = "deleteAccount",
    params(("lookup" = String, Path, description = "The account's lookup, integer id, root kid, or e-mail address"),
           TerminationQuery),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, NoAccount))]
async fn terminate(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    query: Result<StrictQuery<TerminationQuery>, ApiError>,
    unasked: UnaskedBody,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let accounts = &door.services.accounts;
    let account = accounts.find_live(&caller, AccountLookup::parse(&lookup)).await?;
    unasked.refuse()?;
    let mut problems = Problems::default();
    let revoke_certificates = flag("revoke_certificates", query?.0.revoke_certificates, &mut problems);
    problems.into_result().map_err(ServiceError::Invalid)?;
    let ending = Ending { revoke_certificates: revoke_certificates.unwrap_or(false) };
    accounts.terminate(&caller, account.id, ending).await?;
    Ok(Json(wire::SuccessResponse::new(format!("The account {} is terminated.", account.id))))
}

/// Changes an account in part
#[utoipa::path(patch, path = "/v1/account/{lookup}", tag = "Account", operation_id = "updateAccount",
    request_body = wire::ResellerUpdateAccountRequest,
    params(("lookup" = String, Path, description = "The account's lookup, integer id, root kid, or e-mail address")),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, BadBody, NoAccount, Conflict))]
async fn change(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    body: Result<JsonBody<wire::ResellerUpdateAccountRequest>, ApiError>,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let accounts = &door.services.accounts;
    let account = accounts.find_live(&caller, AccountLookup::parse(&lookup)).await?;
    accounts.change(&caller, account.id, body?.read(read_change)?).await?;
    Ok(Json(wire::SuccessResponse::new(format!("The account {} is changed.", account.id))))
}

fn new_account(request: wire::ResellerAccountRequest) -> Result<NewAccount, ServiceError> {
    let mut problems = Problems::default();
    let email = problems.take("customer_email", EmailAddress::parse(&request.customer_email));
    let external_id = request.external_id.map(|text| problems.take("external_id", ExternalId::parse(&text)));
    let metadata = Metadata::parse("metadata", request.metadata.unwrap_or_default(), &mut problems);
    let groups = request.account_groups.unwrap_or_default();
    if groups.len() > 100 {
        problems.add("account_groups", "too_many", "must name at most 100 groups");
    }
    match email {
        Some(email) if problems.is_empty() => {
            Ok(NewAccount { email, groups, external_id: external_id.flatten(), metadata })
        }
        _ => Err(ServiceError::Invalid(problems)),
    }
}

fn read_change(request: wire::ResellerUpdateAccountRequest) -> Result<AccountChange, ServiceError> {
    let mut problems = Problems::default();
    let email = request.customer_email.and_then(|text| problems.take("customer_email", EmailAddress::parse(&text)));
    let external_id = request.external_id.and_then(|text| problems.take("external_id", ExternalId::parse(&text)));
    let metadata = request.metadata.map(|pairs| Metadata::parse("metadata", pairs, &mut problems));
    let change = AccountChange { email, suspended: request.suspended, external_id: external_id.map(Some), metadata };
    if problems.is_empty() && change.is_empty() {
        let fields = "customer_email, suspended, external_id, metadata";
        problems.add("body", "nothing_to_change", format!("must name at least one of {fields}"));
    }
    problems.into_result().map_err(ServiceError::Invalid).map(|()| change)
}

/// What an account with this address would be filed under; a text that is no address is nobody's.
fn email_key(text: &str) -> String {
    EmailAddress::parse(text).map_or_else(|_| text.to_owned(), |email| email.key().to_owned())
}

fn flag(name: &str, text: Option<String>, problems: &mut Problems) -> Option<bool> {
    match text.as_deref() {
        None => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => {
            problems.add(name, "invalid", "must be `true` or `false`");
            None
        }
    }
}

fn created(made: &CreatedAccount, caller: &Caller) -> wire::Account {
    let hmac_key = Some(made.hmac_key.reveal().to_owned());
    wire::Account { hmac_key, bound_accounts: Some(Vec::new()), ..view(&made.account, caller) }
}

pub(crate) fn view(account: &Account, caller: &Caller) -> wire::Account {
    wire::Account {
        lookup: account.id.to_string(),
        id: account.number.0,
        kid: account.kid.to_string(),
        reseller_code: caller.code.to_string(),
        email: account.email.to_string(),
        revoked: account.root_revoked,
        deleted: account.is_terminated(),
        suspended: account.suspended,
        status: account.status().as_str().to_owned(),
        hmac_key: None,
        parent: None,
        external_id: account.external_id.as_ref().map(ToString::to_string),
        metadata: account.metadata.pairs().clone(),
        label: None,
        expires_at: None,
        max_bindings: None,
        bound_accounts: None,
        last_used_at: None,
        created_at: account.created_at.to_string(),
        updated_at: account.updated_at.to_string(),
    }
}

pub(crate) fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}
