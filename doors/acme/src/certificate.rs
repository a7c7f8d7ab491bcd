//! Certificates (RFC 8555 section 7.4.2).

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use chancery_domain::CertificateId;
use chancery_service::Download;
use http::StatusCode;
use http::header::CONTENT_TYPE;

use crate::jws::by_account;
use crate::mount::Door;
use crate::payload;
use crate::problem::{Problem, ProblemType};

pub(crate) async fn download(
    State(door): State<Door>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let (by, signed) = by_account(&door, request).await?;
    payload::require_empty(&signed.payload)?;
    let missing = || Problem::not_found("there is no such certificate");
    let id: CertificateId = id.parse().map_err(|_| missing())?;
    match door.services.acme.certificate(&by, id).await? {
        Download::Issued { certificate, signing, .. } => {
            let chain = format!("{}{}", certificate.to_pem(), signing.chain_pem());
            Ok(([(CONTENT_TYPE, "application/pem-certificate-chain")], chain).into_response())
        }
        Download::NotYet(_) => {
            let detail = "the certificate is not issued yet; look at the order";
            Err(Problem::new(ProblemType::OrderNotReady, StatusCode::FORBIDDEN, detail).retry_after(1))
        }
        Download::Never(_) => Err(missing()),
    }
}
