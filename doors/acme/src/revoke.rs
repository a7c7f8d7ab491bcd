//! revokeCert (RFC 8555 section 7.6).

use axum::extract::{Path, Request, State};
use chancery_domain::RevocationReason;
use chancery_jose::base64url;
use chancery_service::acme::{RevocationRequest, Revoker};
use chancery_wire::acme as wire;
use http::StatusCode;

use crate::directory::find;
use crate::jws::{SignedBy, by_either};
use crate::mount::Door;
use crate::payload;
use crate::problem::{Problem, ProblemType};

pub(crate) async fn revoke(
    State(door): State<Door>,
    Path(profile): Path<String>,
    request: Request,
) -> Result<StatusCode, Problem> {
    find(&door, &profile)?;
    let (by, signed) = by_either(&door, request).await?;
    let asked: wire::Revocation = payload::read(&signed.payload)?;
    let certificate = base64url::decode(&asked.certificate).ok_or_else(|| {
        Problem::malformed("`certificate` must be the DER of a certificate in base64url, without padding or PEM lines")
    })?;
    let reason = reason(asked.reason)?;
    let who = match by {
        SignedBy::Account(by) => Revoker::Account(by),
        SignedBy::Key(key) => Revoker::Key(key, signed.origin),
    };
    door.services.acme.revoke(who, RevocationRequest { certificate, reason }).await?;
    Ok(StatusCode::OK)
}

fn reason(code: Option<i64>) -> Result<RevocationReason, Problem> {
    let Some(code) = code else { return Ok(RevocationReason::Unspecified) };
    RevocationReason::from_code(code).ok_or_else(|| {
        let known: Vec<_> =
            RevocationReason::ALL.iter().map(|reason| format!("{} ({reason})", reason.code())).collect();
        let detail = format!("{code} is not a reason that can be given; known are {}", known.join(", "));
        Problem::new(ProblemType::BadRevocationReason, StatusCode::BAD_REQUEST, detail)
    })
}
