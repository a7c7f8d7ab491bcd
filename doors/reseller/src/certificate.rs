//! `/v1/certificates`, `/v1/certificate/{lookup}` and `/v1/validate-csr`.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chancery_domain::{CertificateId, CertificateStatus, Problems, ProfileName, RevocationReason, Scope, Timestamp};
use chancery_http::{ApiError, Authenticated, Door, JsonBody, StrictPath, StrictQuery, list_request};
use chancery_service::{AccountLookup, CertificateDetails, CertificateFilter, Download, Noun, Revoked, ServiceError};
use chancery_wire::{self as wire, ErrorCode};
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::openapi::{BadBody, CertificateGone, NoAccount, NoCertificate, NotAcceptable, Refused};
use crate::order::read_order_id;
use crate::order_view;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(revoke))
        .routes(routes!(validate_csr))
        .routes(routes!(download))
        .route("/certificate/{certificate_lookup}", axum::routing::get(download))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only certificates of the customer with this e-mail address.
    customer_email: Option<String>,
    /// Only certificates of this root account.
    account_lookup: Option<String>,
    /// Only certificates of this EAB credential.
    eab_kid: Option<String>,
    /// One status or several with commas between: pending, issued, cancelled, revoked, expired.
    certificate_status: Option<String>,
    /// Only certificates for this name.
    name: Option<String>,
    profile: Option<String>,
    /// Only the certificate with this serial number, in hexadecimal.
    serial: Option<String>,
    expires_before: Option<String>,
    expires_after: Option<String>,
    /// Only certificates of the order with this reference of yours.
    external_id: Option<String>,
    /// Most results: 1 to 1000, 100 where it is left out.
    #[param(example = "100")]
    limit: Option<String>,
    /// The `nextCursor` of the page before.
    cursor: Option<String>,
}

/// Lists certificates
#[utoipa::path(get, path = "/v1/certificates", tag = "Certificates", operation_id = "listCertificates",
    params(ListQuery), security(("OAuth2Reseller" = ["reseller", "read:certificate"])),
    responses((status = 200, body = wire::CertificateSummaryList), Refused))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    query: Result<StrictQuery<ListQuery>, ApiError>,
) -> Result<Json<wire::CertificateSummaryList>, ApiError> {
    caller.require(Scope::ReadCertificate)?;
    let StrictQuery(query) = query?;
    let request = list_request(query.limit.clone(), query.cursor.clone())?;
    let now = door.services.now();
    let Some((account, filter)) = read_filter(query, now)? else {
        return Ok(Json(wire::CertificateSummaryList { items: Vec::new(), next_cursor: None }));
    };
    let page = door.services.certificates.list(&caller, account, filter, &request).await?;
    let items = page.items.iter().map(|details| metadata(details, now)).collect();
    Ok(Json(wire::CertificateSummaryList { items, next_cursor: page.next_cursor }))
}

/// The filter; none where two ways to an account contradict each other by form alone.
fn read_filter(
    query: ListQuery,
    now: Timestamp,
) -> Result<Option<(Option<AccountLookup>, CertificateFilter)>, ServiceError> {
    let mut problems = Problems::default();
    let statuses = query.certificate_status.as_deref().map(|text| text.split(',').map(str::trim).collect::<Vec<_>>());
    let statuses = statuses
        .into_iter()
        .flatten()
        .filter_map(|text| problems.take("certificate_status", text.parse::<CertificateStatus>()));
    let statuses: Vec<_> = statuses.collect();
    let mut date = |field: &str, text: Option<String>| {
        let parsed = text.map(|text| Timestamp::parse(&text));
        if parsed == Some(None) {
            problems.add(field, "invalid", "must be a time such as 2026-11-15T00:00:00Z");
        }
        parsed.flatten()
    };
    let expires_before = date("expires_before", query.expires_before);
    let expires_after = date("expires_after", query.expires_after);
    if query.customer_email.is_some() && query.account_lookup.is_some() {
        problems.add("account_lookup", "one_only", "give either customer_email or account_lookup");
    }
    problems.into_result().map_err(ServiceError::Invalid)?;
    let kid = match query.eab_kid.map(|text| text.parse()) {
        Some(Err(_)) => return Ok(None),
        Some(Ok(kid)) => Some(kid),
        None => None,
    };
    let account = match (query.customer_email, query.account_lookup) {
        (Some(email), _) => Some(AccountLookup::by_email(&email)),
        (None, Some(lookup)) => Some(AccountLookup::parse(&lookup)),
        (None, None) => None,
    };
    let filter = CertificateFilter {
        account: None,
        kid,
        statuses,
        name: query.name.map(|name| name.to_lowercase()),
        profile: query.profile,
        serial: query.serial.map(|serial| serial.to_lowercase().replace(':', "")),
        expires_before,
        expires_after,
        external_id: query.external_id,
        now,
    };
    Ok(Some((account, filter)))
}

/// Downloads a certificate
///
/// By `Accept`: `application/pem-certificate-chain` (where nothing is said), `application/pkix-cert`, or
/// `application/json` with the metadata. Not issued yet: 202 with `Retry-After` and the order.
#[utoipa::path(get, path = "/v1/certificate/{certificate_lookup}", tag = "Certificates",
    operation_id = "getCertificate", params(("certificate_lookup" = String, Path, description = "The certificate")),
    security(("OAuth2Reseller" = ["reseller", "read:certificate"])),
    responses(
        (status = 200, content(
            (String = "application/pem-certificate-chain"),
            (Vec<u8> = "application/pkix-cert"),
            (wire::CertificateWithChain = "application/json"))),
        (status = 202, body = wire::Order), NotAcceptable, Refused, NoCertificate, CertificateGone))]
async fn download(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadCertificate)?;
    let id: CertificateId = lookup.parse().map_err(|_| ServiceError::not_found(Noun::Certificate))?;
    let now = door.services.now();
    match door.services.certificates.download(&caller, id).await? {
        Download::Issued { details, certificate, signing } => {
            let form = Form::accepted(&headers)?;
            Ok(match form {
                Form::Pem => {
                    ([(CONTENT_TYPE, form.media_type())], certificate.to_pem() + &signing.chain_pem()).into_response()
                }
                Form::Der => ([(CONTENT_TYPE, form.media_type())], certificate.as_der().to_vec()).into_response(),
                Form::Json => Json(wire::CertificateWithChain {
                    metadata: metadata(&details, now),
                    certificate: certificate.to_pem(),
                    chain: signing.chain_pem(),
                })
                .into_response(),
            })
        }
        Download::NotYet(order) => {
            Ok((StatusCode::ACCEPTED, [(RETRY_AFTER, "1")], Json(order_view::view(&order, now))).into_response())
        }
        Download::Never(_) => Err(ApiError::gone(ErrorCode::CertificateGone, "The order ended without a certificate.")),
    }
}

/// The forms a certificate can be had in.
#[derive(Clone, Copy)]
enum Form {
    Pem,
    Der,
    Json,
}

impl Form {
    const fn media_type(self) -> &'static str {
        match self {
            Self::Pem => "application/pem-certificate-chain",
            Self::Der => "application/pkix-cert",
            Self::Json => "application/json",
        }
    }

    /// The first of the caller's media types that we have.
    fn accepted(headers: &HeaderMap) -> Result<Self, ApiError> {
        let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
        let types = accept.split(',').filter_map(|one| one.split(';').next()).map(str::trim);
        let known = types.filter_map(|one| match one {
            "*/*" | "application/*" | "application/pem-certificate-chain" => Some(Self::Pem),
            "application/pkix-cert" => Some(Self::Der),
            "application/json" => Some(Self::Json),
            _ => None,
        });
        known.into_iter().next().ok_or_else(|| {
            ApiError::not_acceptable("A certificate can be had as application/pem-certificate-chain, application/pkix-cert or application/json.")
        })
    }
}

/// Revokes the certificate of an order
#[utoipa::path(post, path = "/v1/certificates/{order_lookup}/revocation", tag = "Certificates",
    operation_id = "revokeCertificate", request_body = wire::ResellerRevokeCertificateRequest,
    params(("order_lookup" = String, Path, description = "The order the certificate came from")),
    security(("OAuth2Reseller" = ["reseller", "write:certificate"])),
    responses((status = 202, body = wire::CertificateMetadata), (status = 208, body = wire::Order), Refused, BadBody, NoCertificate))]
async fn revoke(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    body: Result<JsonBody<wire::ResellerRevokeCertificateRequest>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::WriteCertificate)?;
    let missing = |_| ServiceError::not_found(Noun::Certificate);
    let order = read_order_id(&lookup).map_err(missing)?;
    door.services.certificates.require_order(&caller, order).await?;
    let (reason, comment) = body?.read(read_revocation)?;
    let now = door.services.now();
    Ok(match door.services.certificates.revoke(&caller, order, reason, comment).await? {
        Revoked::Accepted(details) => (StatusCode::ACCEPTED, Json(metadata(&details, now))).into_response(),
        Revoked::AlreadyAccepted(order) => {
            (StatusCode::ALREADY_REPORTED, Json(order_view::view(&order, now))).into_response()
        }
    })
}

fn read_revocation(
    request: wire::ResellerRevokeCertificateRequest,
) -> Result<(RevocationReason, Option<String>), ServiceError> {
    let mut problems = Problems::default();
    let reason = match request.reason {
        None => Some(RevocationReason::Unspecified),
        Some(wire::ReasonInput::Name(name)) => problems.take("reason", name.parse()),
        Some(wire::ReasonInput::Code(code)) => problems.take("reason", code.to_string().parse()),
    };
    if request.comment.as_ref().is_some_and(|comment| comment.chars().count() > 1000) {
        problems.add("comment", "too_long", "must be at most 1000 characters");
    }
    match reason {
        Some(reason) if problems.is_empty() => Ok((reason, request.comment)),
        _ => Err(ServiceError::Invalid(problems)),
    }
}

/// Says whether a CSR would be accepted
#[utoipa::path(post, path = "/v1/validate-csr", tag = "Certificates", operation_id = "validateCsr",
    request_body = wire::ResellerValidateCsrRequest,
    security(("OAuth2Reseller" = ["reseller", "read:certificate"])),
    responses((status = 200, body = String, content_type = "text/plain"), Refused, BadBody, NoAccount,
        (status = 400, body = String, content_type = "text/plain", description = "Every problem, one a line")))]
async fn validate_csr(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    body: Result<JsonBody<wire::ResellerValidateCsrRequest>, ApiError>,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadCertificate)?;
    let request = match body.and_then(|body| body.read(Ok)) {
        Ok(request) => request,
        // Both answers of this operation are plain strings.
        Err(error) if error.status() == StatusCode::BAD_REQUEST => {
            return Ok(plain(StatusCode::BAD_REQUEST, error.message()));
        }
        Err(error) => return Err(error),
    };
    let profile = match request.profile.as_deref().map(ProfileName::parse) {
        Some(Err(error)) => return Ok(plain(StatusCode::BAD_REQUEST, error.to_string())),
        Some(Ok(name)) => Some(name),
        None => None,
    };
    let account = request.account_lookup.as_deref().map(AccountLookup::parse);
    let problems = door.services.certificates.judge_csr(&caller, request.csr, profile, account).await?;
    if problems.is_empty() {
        return Ok(plain(StatusCode::OK, "The CSR is valid.".to_owned()));
    }
    let lines: Vec<_> = problems.iter().map(|problem| format!("{}: {}", problem.code, problem.message)).collect();
    Ok(plain(StatusCode::BAD_REQUEST, lines.join("\n")))
}

fn plain(status: StatusCode, text: String) -> Response {
    (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

pub(crate) fn metadata(details: &CertificateDetails, now: Timestamp) -> wire::CertificateMetadata {
    let CertificateDetails { certificate, issuer } = details;
    let issued = certificate.issued();
    let revocation = certificate.revocation();
    wire::CertificateMetadata {
        lookup: certificate.id.to_string(),
        order_lookup: certificate.order.to_string(),
        account_lookup: certificate.account.to_string(),
        eab_kid: certificate.kid.to_string(),
        customer_email: certificate.email.to_string(),
        profile: certificate.profile.to_string(),
        status: certificate.status(now).as_str().to_owned(),
        names: certificate.identifiers.iter().map(ToString::to_string).collect(),
        serial_number: issued.map(|issued| issued.serial.clone()),
        subject: issued.map(|issued| issued.subject.clone()),
        issuer: issuer.clone(),
        key_type: issued.map(|issued| issued.key_type.as_str().to_owned()),
        not_before: issued.map(|issued| issued.not_before.to_string()),
        not_after: issued.map(|issued| issued.not_after.to_string()),
        sha256_fingerprint: issued.map(|issued| issued.fingerprint.clone()),
        revoked_at: revocation.map(|revocation| revocation.at.to_string()),
        revocation_reason: revocation.map(|revocation| revocation.reason.as_str().to_owned()),
        requested_via: certificate.via.as_str().to_owned(),
        created_at: certificate.created_at.to_string(),
        updated_at: certificate.updated_at.to_string(),
    }
}
