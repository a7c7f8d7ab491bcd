//! `/v1/eab-credential` and `/v1/account/{lookup}/eab-credential`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chancery_domain::{EabTerms, Kid, Label, Problems, ProfileName, Scope, Timestamp};
use chancery_http::{
    ApiError, Authenticated, Door, OptionalJsonBody, PublicUrls, RequestKey, StrictPath, StrictQuery, list_request,
    list_response,
};
use chancery_service::{AccountLookup, Caller, CreatedCredential, CredentialDetails, Noun, ONE_BINDING, ServiceError};
use chancery_wire as wire;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::account::{self, time};
use crate::openapi::{BadBody, KeyReused, NoAccount, NoCredential, PageQuery, Refused};

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(list_of_account, create)).routes(routes!(list)).routes(routes!(show, revoke))
}

/// Lists the EAB credentials of an account
#[utoipa::path(get, path = "/v1/account/{lookup}/eab-credential", tag = "EAB Credential",
    operation_id = "listAccountEabCredentials",
    params(("lookup" = String, Path, description = "The root account"), PageQuery),
    security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::EabCredentialList), Refused, NoAccount))]
async fn list_of_account(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    query: Result<StrictQuery<PageQuery>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadAccount)?;
    let lookup = AccountLookup::parse(&lookup);
    door.services.accounts.find(&caller, lookup.clone()).await?;
    let StrictQuery(PageQuery { limit, cursor }) = query?;
    let request = list_request(limit, cursor)?;
    let page = door.services.credentials.list_of_account(&caller, lookup, &request).await?;
    Ok(list_response(page, |details| view(details, &caller, &door.urls)))
}

/// Creates an EAB credential under an account
#[utoipa::path(post, path = "/v1/account/{lookup}/eab-credential", tag = "EAB Credential",
    operation_id = "createEabCredential", request_body = Option<wire::EabCredentialRequest>,
    params(("lookup" = String, Path, description = "The root account"), crate::openapi::IdempotencyKey),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 201, body = wire::EabAuthorization), Refused, BadBody, KeyReused, NoAccount))]
async fn create(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    key: Result<RequestKey, ApiError>,
    body: Result<OptionalJsonBody<wire::EabCredentialRequest>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::WriteAccount)?;
    let find = || door.services.accounts.find_live(&caller, AccountLookup::parse(&lookup));
    let (key, body) = match (key, body) {
        (Ok(key), Ok(body)) => (key, body),
        (Err(error), _) | (_, Err(error)) => {
            find().await?;
            return Err(error);
        }
    };
    let (by, at) = (caller.clone(), door.clone());
    let view = move |made: &CreatedCredential| authorization(made, &by, &at);
    let bytes = body.bytes.clone();
    // What was made under the key is told again even where the account has been terminated since.
    key.answer(&door, &caller, &bytes, StatusCode::CREATED, view, async |once| {
        let account = find().await?;
        let once = once?;
        let single_use = door.services.settings.acme.single_use;
        let terms = body.read(|request| read_terms(request, single_use, door.services.now()))?;
        Ok(door.services.credentials.create(&caller, account.id, terms, once).await?)
    })
    .await
}

/// Lists all EAB credentials
#[utoipa::path(get, path = "/v1/eab-credential", tag = "EAB Credential", operation_id = "listEabCredentials",
    params(PageQuery), security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::EabCredentialList), Refused))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    query: Result<StrictQuery<PageQuery>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadAccount)?;
    let StrictQuery(PageQuery { limit, cursor }) = query?;
    let page = door.services.credentials.list(&caller, &list_request(limit, cursor)?).await?;
    Ok(list_response(page, |details| view(details, &caller, &door.urls)))
}

/// Shows an EAB credential
#[utoipa::path(get, path = "/v1/eab-credential/{kid}", tag = "EAB Credential", operation_id = "getEabCredential",
    params(("kid" = String, Path, description = "The key id")),
    security(("OAuth2Reseller" = ["reseller", "read:account"])),
    responses((status = 200, body = wire::Account), Refused, NoCredential))]
async fn show(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(kid): StrictPath<String>,
) -> Result<Json<wire::Account>, ApiError> {
    caller.require(Scope::ReadAccount)?;
    let details = door.services.credentials.show(&caller, read_kid(&kid)?).await?;
    Ok(Json(view(&details, &caller, &door.urls)))
}

/// Revokes an EAB credential
///
/// It binds nothing more, and the ACME accounts it bound stop working at once.
#[utoipa::path(delete, path = "/v1/eab-credential/{kid}", tag = "EAB Credential", operation_id = "deleteEabCredential",
    params(("kid" = String, Path, description = "The key id")),
    security(("OAuth2Reseller" = ["reseller", "write:account"])),
    responses((status = 200, body = wire::SuccessResponse), Refused, NoCredential))]
async fn revoke(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(kid): StrictPath<String>,
) -> Result<Json<wire::SuccessResponse>, ApiError> {
    caller.require(Scope::WriteAccount)?;
    door.services.credentials.revoke(&caller, read_kid(&kid)?).await?;
    Ok(Json(wire::SuccessResponse::new(format!("The EAB credential {kid} is revoked."))))
}

fn read_kid(text: &str) -> Result<Kid, ServiceError> {
    text.parse().map_err(|_| ServiceError::not_found(Noun::Credential))
}

fn read_terms(request: wire::EabCredentialRequest, single_use: bool, now: Timestamp) -> Result<EabTerms, ServiceError> {
    let mut problems = Problems::default();
    let label = request.label.and_then(|text| problems.take("label", Label::parse(&text)));
    let mut bounded = |field: &str, value: Option<u32>, most: u32| {
        if value.is_some_and(|value| !(1..=most).contains(&value)) {
            problems.add(field, "out_of_range", format!("must be from 1 to {most}"));
        }
        value
    };
    let days = bounded("expires_in_days", request.expires_in_days, EabTerms::MAX_DAYS);
    let max_bindings = bounded("max_bindings", request.max_bindings, EabTerms::MAX_BINDINGS);
    if single_use && max_bindings.is_some_and(|most| (2..=EabTerms::MAX_BINDINGS).contains(&most)) {
        problems.add("max_bindings", "out_of_range", ONE_BINDING);
    }
    let expires_at = days.map(|days| now.plus_days(days));
    problems.into_result().map_err(ServiceError::Invalid).map(|()| EabTerms { label, expires_at, max_bindings })
}

fn authorization(made: &CreatedCredential, caller: &Caller, door: &Door) -> wire::EabAuthorization {
    let key = made.hmac_key.reveal().to_owned();
    let (credential, account) = (made.credential.clone(), Arc::new(made.account.clone()));
    let details = CredentialDetails { credential, account, bound: Vec::new() };
    let (urls, default) = (&door.urls, &door.services.settings.default_profile);
    let directory = |name: &ProfileName| urls.acme_directory(name.as_str());
    wire::EabAuthorization {
        account: wire::Account { hmac_key: Some(key.clone()), ..view(&details, caller, urls) },
        hmac_key_url: key,
        acme_directory: made.profiles.contains(default).then(|| directory(default)),
        acme_directories: made.profiles.iter().map(|name| (name.to_string(), directory(name))).collect(),
    }
}

/// A credential in the shape of an account. The first one of an account is the account itself.
pub(crate) fn view(details: &CredentialDetails, caller: &Caller, urls: &PublicUrls) -> wire::Account {
    let CredentialDetails { credential, account, bound } = details;
    let root = account::view(account, caller);
    let of_credential = wire::Account {
        id: credential.number.0,
        kid: credential.kid.to_string(),
        revoked: credential.revoked_at.is_some(),
        label: credential.terms.label.as_ref().map(ToString::to_string),
        expires_at: time(credential.terms.expires_at),
        max_bindings: credential.terms.max_bindings,
        bound_accounts: Some(bound.iter().map(|id| urls.acme_account(*id)).collect()),
        last_used_at: time(credential.last_used_at),
        ..root
    };
    if credential.is_root {
        return wire::Account {
            updated_at: account.updated_at.max(credential.updated_at).to_string(),
            ..of_credential
        };
    }
    wire::Account {
        lookup: credential.id.to_string(),
        status: credential.status().as_str().to_owned(),
        parent: Some(account.id.to_string()),
        external_id: None,
        metadata: Default::default(),
        created_at: credential.created_at.to_string(),
        updated_at: credential.updated_at.to_string(),
        ..of_credential
    }
}
