//! `/v1/validate-csr`: the verdict on a CSR before anything is ordered.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chancery_domain::{Problems, ProfileName, Scope};
use chancery_http::{ApiError, Authenticated, Door, JsonBody};
use chancery_service::{AccountLookup, ServiceError, Services};
use chancery_wire::{self as wire, FieldProblem};
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
    let read = body.and_then(|body| {
        let fits = body.fits();
        body.read(|request| read_request(request, fits, &door.services))
    });
    let Asked { csr, profile, account } = match read {
        Ok(asked) => asked,
        // Both answers of this operation are plain strings.
        Err(error) if error.status() == StatusCode::BAD_REQUEST => {
            let line = |problem: &FieldProblem| format!("{}: {}: {}", problem.code, problem.field, problem.message);
            let lines: Vec<_> = error.errors().iter().map(line).collect();
            let text = if lines.is_empty() { error.message() } else { lines.join("\n") };
            return Ok(plain(StatusCode::BAD_REQUEST, text));
        }
        Err(error) => return Err(error),
    };
    let problems = door.services.certificates.judge_csr(&caller, csr, profile, account).await?;
    if problems.is_empty() {
        return Ok(plain(StatusCode::OK, "The CSR is valid.".to_owned()));
    }
    let (described, omitted) = problems.into_parts();
    let mut lines: Vec<_> = described.iter().map(|problem| format!("{}: {}", problem.code, problem.message)).collect();
    if omitted > 0 {
        lines.push(format!("and {omitted} more"));
    }
    Ok(plain(StatusCode::BAD_REQUEST, lines.join("\n")))
}

struct Asked {
    csr: String,
    profile: Option<ProfileName>,
    account: Option<AccountLookup>,
}

/// As with an order: where anything is wrong, all of it is told.
fn read_request(
    request: wire::ResellerValidateCsrRequest,
    fits: bool,
    services: &Services,
) -> Result<Asked, ServiceError> {
    let mut problems = Problems::default();
    let profile = request.profile.and_then(|text| problems.take("profile", ProfileName::parse(&text)));
    if !fits || !problems.is_empty() {
        problems.0.extend(services.certificates.unjudgeable(&request.csr, profile.as_ref()).0);
    }
    problems.into_result().map_err(ServiceError::Invalid)?;
    let account = request.account_lookup.as_deref().map(AccountLookup::parse);
    Ok(Asked { csr: request.csr, profile, account })
}

fn plain(status: StatusCode, text: String) -> Response {
    (status, [(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}
