//! `/v1/certificates`: listed and revoked.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use chancery_domain::{
    CertificateStatus, Comment, EmailAddress, Identifier, Problems, RevocationReason, Scope, Secret, Timestamp,
};
use chancery_http::{
    ApiError, Authenticated, CsvFilter, CsvReader, Door, FilterQuery, JsonBody, StrictPath, list_response,
};
use chancery_overload::RequestPermit;
use chancery_service::{AccountLookup, CertificateDetails, CertificateFilter, Noun, Revoked, ServiceError};
use chancery_wire as wire;
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::accept::best_liked;
use crate::certificate_csv::{self, Authorization};
use crate::openapi::{BadBody, NoCertificate, Refused};
use crate::order::read_order_id;
use crate::order_view;
use crate::selector::read_time;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(revoke))
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
    /// Only certificates that end before this time.
    expires_before: Option<String>,
    /// Only certificates that end at this time or later.
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
///
/// With `Accept: text/csv` the whole filtered list is streamed, with a header line; every thousand lines, or 4 MiB, count as a request,
/// and the list breaks off where the caller is not let in any more. With filters, or if certificates have many names, a page
/// may have fewer certificates than `limit`, or none, and a `nextCursor`: the list ends where there is none.
#[utoipa::path(get, path = "/v1/certificates", tag = "Certificates", operation_id = "listCertificates",
    params(ListQuery), security(("OAuth2Reseller" = ["reseller", "read:certificate"])),
    responses((status = 200, content(
        (wire::CertificateSummaryList = "application/json"),
        (String = "text/csv"))), Refused))]
async fn list(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    query: FilterQuery<ListQuery>,
    place: Option<Extension<Arc<RequestPermit>>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadCertificate)?;
    let as_csv = wants_csv(&headers);
    let now = door.services.now();
    // CSV is the whole list: that a page is asked for is a mistake, whichever it is.
    let page = |query: &ListQuery| match as_csv {
        true => (None, None),
        false => (query.limit.clone(), query.cursor.clone()),
    };
    let (filter, request) = query.read(page, |query| read_filter(query, as_csv, now))?;
    if as_csv {
        let authorization = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (shown, place) =
            (Authorization(Secret::new(authorization.to_owned())), place.map(|Extension(place)| place));
        return Ok(certificate_csv::answer(CsvReader { door, caller, shown, place }, filter, now)?);
    }
    let Some((account, filter)) = filter else {
        return Ok(Json(wire::CertificateSummaryList { items: Vec::new(), next_cursor: None }).into_response());
    };
    let page = door.services.certificates.list(&caller, account, filter, &request).await?;
    Ok(list_response(page, |details| metadata(details, now)))
}

/// Whether a list is wanted as CSV; whoever wants neither that nor JSON gets JSON.
pub(crate) fn wants_csv(headers: &HeaderMap) -> bool {
    best_liked(headers, &[("application/json", false), ("text/csv", true)]).unwrap_or(false)
}

/// The filter; none where nothing can fit it, by its form alone.
fn read_filter(query: ListQuery, as_csv: bool, now: Timestamp) -> Result<Option<CsvFilter>, ServiceError> {
    let mut problems = Problems::default();
    for (field, given) in [("limit", &query.limit), ("cursor", &query.cursor)] {
        if as_csv && given.is_some() {
            problems.add(field, "not_here", "text/csv is the whole list: leave limit and cursor out");
        }
    }
    let statuses = query.certificate_status.as_deref().map(|text| text.split(',').map(str::trim).collect::<Vec<_>>());
    let statuses = statuses
        .into_iter()
        .flatten()
        .filter_map(|text| problems.take("certificate_status", text.parse::<CertificateStatus>()));
    let statuses: Vec<_> = statuses.collect();
    let expires_before = read_time("expires_before", query.expires_before, &mut problems);
    let expires_after = read_time("expires_after", query.expires_after, &mut problems);
    problems.into_result().map_err(ServiceError::Invalid)?;
    let kid = match query.eab_kid.map(|text| text.parse()) {
        Some(Err(_)) => return Ok(None),
        Some(Ok(kid)) => Some(kid),
        None => None,
    };
    let email_key = match query.customer_email.map(|text| EmailAddress::parse(&text)) {
        Some(Err(_)) => return Ok(None),
        Some(Ok(email)) => Some(email.key().to_owned()),
        None => None,
    };
    let account = query.account_lookup.map(|lookup| AccountLookup::parse(&lookup));
    // Names have one spelling here; what is none is compared as it is, and fits nothing.
    let one_spelling = |name: String| Identifier::parse(&name).map_or(name, |identifier| identifier.to_string());
    let filter = CertificateFilter {
        account: None,
        email_key,
        kid,
        statuses,
        name: query.name.map(one_spelling),
        profile: query.profile,
        serial: query.serial.map(|serial| serial.to_lowercase().replace(':', "")),
        expires_before,
        expires_after,
        external_id: query.external_id,
        now,
    };
    Ok(Some((account, filter)))
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
    door.services.certificates.require_of_order(&caller, order).await?;
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
) -> Result<(RevocationReason, Option<Comment>), ServiceError> {
    let mut problems = Problems::default();
    let reason = match request.reason {
        None => Some(RevocationReason::Unspecified),
        Some(wire::ReasonInput::Name(name)) => problems.take("reason", name.parse()),
        Some(wire::ReasonInput::Code(code)) => problems.take("reason", code.to_string().parse()),
    };
    let comment = request.comment.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let comment = comment.and_then(|text| problems.take("comment", Comment::parse(text)));
    match reason {
        Some(reason) if problems.is_empty() => Ok((reason, comment)),
        _ => Err(ServiceError::Invalid(problems)),
    }
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
