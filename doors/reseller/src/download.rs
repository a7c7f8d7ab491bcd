//! `/v1/certificate/{lookup}`: the certificate itself, in the form that was asked for.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chancery_domain::{CertificateId, Problems, Scope};
use chancery_http::{ApiError, Authenticated, Door, StrictPath, StrictQuery};
use chancery_service::{Download, Noun, ServiceError, Signing};
use chancery_wire::{self as wire, ErrorCode};
use http::header::{CONTENT_TYPE, LINK, RETRY_AFTER, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::accept::best_liked;
use crate::certificate::metadata;
use crate::openapi::{CertificateGone, NoCertificate, NotAcceptable, Refused};
use crate::order_view;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(download)).routes(routes!(poll))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ChainQuery {
    /// The number of another chain above the certificate; `Link: rel="alternate"` leads to those there are,
    /// and 0 is the one of the CA's own certificate.
    #[param(example = "1")]
    chain: Option<String>,
}

/// Downloads a certificate
///
/// By `Accept`: `application/pem-certificate-chain` (where nothing is said), `application/pkix-cert`,
/// `application/pkcs7-mime`, or `application/json` with the metadata. Not issued yet: 202 with `Retry-After` and the order.
/// Where the issuing CA has further chains, each is linked to (`Link: rel="alternate"`) and had by its number.
#[utoipa::path(get, path = "/v1/certificate/{certificate_lookup}", tag = "Certificates",
    operation_id = "getCertificate",
    params(("certificate_lookup" = String, Path, description = "The certificate"), ChainQuery),
    security(("OAuth2Reseller" = ["reseller", "read:certificate"])),
    responses(
        (status = 200, content(
            (String = "application/pem-certificate-chain"),
            (inline(wire::Binary) = "application/pkix-cert"),
            (inline(wire::Binary) = "application/pkcs7-mime"),
            (wire::CertificateWithChain = "application/json"))),
        (status = 202, body = wire::Order), NotAcceptable, Refused, NoCertificate, CertificateGone))]
async fn download(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    StrictPath(lookup): StrictPath<String>,
    query: Result<StrictQuery<ChainQuery>, ApiError>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    caller.require(Scope::ReadCertificate)?;
    let id: CertificateId = lookup.parse().map_err(|_| ServiceError::not_found(Noun::Certificate))?;
    let now = door.services.now();
    match door.services.certificates.download(&caller, id).await? {
        Download::Issued { details, certificate, signing } => {
            let (number, form) = (read_number(query)?, Form::accepted(&headers)?);
            let Some(chain) = signing.chains.get(number, now) else {
                let mut refusal = no_chain().into_response();
                link_alternates(refusal.headers_mut(), &door, id, &signing, number);
                return Ok(refusal);
            };
            let mut response = match form {
                Form::Pem => ([(CONTENT_TYPE, form.media_type())], certificate.to_pem() + &chain.pem()).into_response(),
                Form::Der => ([(CONTENT_TYPE, form.media_type())], certificate.as_der().to_vec()).into_response(),
                Form::Pkcs7 => ([(CONTENT_TYPE, form.media_type())], chain.pkcs7(&certificate)?).into_response(),
                Form::Json => Json(wire::CertificateWithChain {
                    metadata: metadata(&details, now),
                    certificate: certificate.to_pem(),
                    chain: chain.pem(),
                })
                .into_response(),
            };
            response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
            link_alternates(response.headers_mut(), &door, id, &signing, number);
            Ok(response)
        }
        Download::NotYet(order) => {
            // Wrong now as it will be later. Which numbers there are is known only then.
            read_number(query)?;
            Ok((StatusCode::ACCEPTED, [(RETRY_AFTER, "1")], Json(order_view::view(&order, now))).into_response())
        }
        Download::Never(_) => Err(ApiError::gone(ErrorCode::CertificateGone, "the order ended without a certificate")),
    }
}

/// The same, at the address that is polled after finalization
#[utoipa::path(get, path = "/certificate/{certificate_lookup}", tag = "Certificates",
    operation_id = "pollCertificate",
    params(("certificate_lookup" = String, Path, description = "The certificate"), ChainQuery),
    security(("OAuth2Reseller" = ["reseller", "read:certificate"])),
    responses(
        (status = 200, content(
            (String = "application/pem-certificate-chain"),
            (inline(wire::Binary) = "application/pkix-cert"),
            (inline(wire::Binary) = "application/pkcs7-mime"),
            (wire::CertificateWithChain = "application/json"))),
        (status = 202, body = wire::Order), NotAcceptable, Refused, NoCertificate, CertificateGone))]
async fn poll(
    door: State<Door>,
    caller: Authenticated,
    lookup: StrictPath<String>,
    query: Result<StrictQuery<ChainQuery>, ApiError>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    download(door, caller, lookup, query, headers).await
}

/// One spelling a number.
fn read_number(query: Result<StrictQuery<ChainQuery>, ApiError>) -> Result<Option<u32>, ApiError> {
    let Some(text) = query?.0.chain else { return Ok(None) };
    let number = text.parse().ok().filter(|number: &u32| number.to_string() == text);
    let mut problems = Problems::default();
    if number.is_none() {
        problems.add("chain", "invalid_value", "must be the number of a chain, such as 1");
    }
    problems.into_result().map_err(ServiceError::Invalid)?;
    Ok(number)
}

fn no_chain() -> ApiError {
    let message = "The certificate has no such chain; those there are stand in the header `Link`.";
    ApiError::not_found(ErrorCode::CertificateNotFound, message)
}

/// As ACME does it (RFC 8555 section 7.4.2): each chain leads to the others.
fn link_alternates(headers: &mut HeaderMap, door: &Door, id: CertificateId, signing: &Signing, shown: Option<u32>) {
    for other in signing.chains.others(shown, door.services.now()) {
        let query = other.map(|number| format!("?chain={number}")).unwrap_or_default();
        let link = format!("<{}/v1/certificate/{id}{query}>;rel=\"alternate\"", door.urls.base_url);
        if let Ok(link) = HeaderValue::from_str(&link) {
            headers.append(LINK, link);
        }
    }
}

/// The forms a certificate can be had in.
#[derive(Clone, Copy)]
enum Form {
    Pem,
    Der,
    Pkcs7,
    Json,
}

impl Form {
    const fn media_type(self) -> &'static str {
        match self {
            Self::Pem => "application/pem-certificate-chain",
            Self::Der => "application/pkix-cert",
            Self::Pkcs7 => "application/pkcs7-mime; smime-type=certs-only",
            Self::Json => "application/json",
        }
    }

    /// The one that the caller likes best.
    fn accepted(headers: &HeaderMap) -> Result<Self, ApiError> {
        let offered = [
            ("application/pem-certificate-chain", Self::Pem),
            ("application/pkix-cert", Self::Der),
            ("application/pkcs7-mime", Self::Pkcs7),
            ("application/json", Self::Json),
        ];
        let forms =
            "application/pem-certificate-chain, application/pkix-cert, application/pkcs7-mime or application/json";
        best_liked(headers, &offered)
            .ok_or_else(|| ApiError::not_acceptable(format!("a certificate can be had as {forms}")))
    }
}
