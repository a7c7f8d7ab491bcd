//! `/v1/diagnose`: what would happen to names, without ordering.

use axum::Json;
use axum::extract::State;
use chancery_domain::{Attempt, CaaReport, Problems, ProfileName, Scope};
use chancery_http::{ApiError, Authenticated, Door, JsonBody, problem};
use chancery_service::{AccountLookup, Diagnosis, DiagnosisRequest, ServiceError};
use chancery_wire as wire;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::openapi::{BadBody, Gone, NoAccount, Refused};
use crate::selector::read_identifiers;

/// Most names of a request.
const MOST_NAMES: usize = 10;

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(diagnose))
}

/// Tells what would happen to names, without ordering
///
/// Each name is looked at once, as an order would: what CAA records say and where they were found, what DNSSEC says, whether
/// a web server answers on port 80, and what the policies of the account say. Nothing that is seen counts for an order.
/// Private and other special addresses are not spoken to.
#[utoipa::path(post, path = "/v1/diagnose", tag = "Certificates", operation_id = "diagnose",
    request_body = wire::DiagnosisRequest,
    security(("OAuth2Reseller" = ["reseller", "read:certificate"])),
    responses((status = 200, body = wire::DiagnosisReport), Refused, BadBody, NoAccount, Gone))]
async fn diagnose(
    State(door): State<Door>,
    Authenticated(caller): Authenticated,
    body: Result<JsonBody<wire::DiagnosisRequest>, ApiError>,
) -> Result<Json<wire::DiagnosisReport>, ApiError> {
    caller.require(Scope::ReadCertificate)?;
    let request = body?.read(read)?;
    let found = door.services.diagnoses.look(&caller, request).await?;
    Ok(Json(wire::DiagnosisReport { items: found.into_iter().map(view).collect() }))
}

fn read(request: wire::DiagnosisRequest) -> Result<DiagnosisRequest, ServiceError> {
    let mut problems = Problems::default();
    if !(1..=MOST_NAMES).contains(&request.identifiers.len()) {
        problems.add("identifiers", "out_of_range", format!("must have 1 to {MOST_NAMES} entries"));
    }
    let names = read_identifiers(&request.identifiers, &mut problems);
    let profile = request.profile.and_then(|text| problems.take("profile", ProfileName::parse(&text)));
    problems.into_result().map_err(ServiceError::Invalid)?;
    let account = request.account_lookup.map(|text| AccountLookup::parse(&text));
    Ok(DiagnosisRequest { names, profile, account })
}

fn view(found: Diagnosis) -> wire::Diagnosis {
    let Diagnosis { name, objections, caa, web, out_of_time } = found;
    // Nobody looks for the addresses of a wildcard.
    let dnssec = match (&web, &caa) {
        (Some(web), _) => web.dnssec.clone(),
        (None, Some(caa)) => caa.dnssec.clone(),
        (None, None) => None,
    };
    let caa = caa.map(view_caa);
    let http = web.map(view_web);
    let clear = objections.is_empty()
        && !out_of_time
        && caa.as_ref().is_none_or(|caa| caa.allowed)
        && http.as_ref().is_none_or(|http| http.reachable);
    let (violations, omitted_violations) = objections.into_parts();
    let violations = violations.into_iter().map(problem).collect();
    wire::Diagnosis { name: name.to_string(), clear, violations, omitted_violations, caa, http, dnssec, out_of_time }
}

fn view_caa(seen: CaaReport) -> wire::CaaFinding {
    let CaaReport { found_at, records, problem, .. } = seen;
    let problem = problem.map(|problem| problem.detail);
    wire::CaaFinding { allowed: problem.is_none(), found_at, records, problem }
}

fn view_web(seen: Attempt) -> wire::HttpFinding {
    // Any answer will do, but one that a challenge could not be found behind.
    let reachable = seen.http_status.is_some();
    wire::HttpFinding {
        reachable,
        addresses: seen.addresses_resolved,
        address_used: seen.address_used,
        status: seen.http_status,
        redirects: seen.redirects,
        problem: seen.problem.filter(|_| !reachable).map(|problem| problem.detail),
    }
}
