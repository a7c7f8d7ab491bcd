//! `/v1/validate-csr`: the verdict on a CSR before anything is ordered.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chancery_domain::{ProfileName, Scope};
use chancery_http::{ApiError, Authenticated, Door, JsonBody};
use chancery_service::AccountLookup;
use chancery_wire as wire;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::openapi::{BadBody, Gone, NoAccount, Refused};

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(validate))
}

/// Says whether a CSR would be accepted
#[utoipa::path(post, path = "/v1/validate-csr", tag = "Certificates", operation_id = "validateCsr",
    request_body = wire::ResellerValidateCsrRequest,
    security(("OAuth2Reseller" = ["reseller", "read:certificate"])),
    responses((status = 200, body = String, content_type = "text/plain"), Refused, BadBody, NoAccount, Gone,
        (status = 400, body = String, content_type = "text/plain", description = "Every problem, one a line")))]
async fn validate(
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
