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
use crate::surroundings::{lead_back, link};
use crate::urls::Urls;

pub(crate) async fn download(
    State(door): State<Door>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    answer(&door, &id, None, request).await
}

/// With another chain above it than the usual one.
pub(crate) async fn download_alternate(
    State(door): State<Door>,
    Path((id, number)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Problem> {
    answer(&door, &id, Some(&number), request).await
}

async fn answer(door: &Door, id: &str, number: Option<&str>, request: Request) -> Result<Response, Problem> {
    let (by, signed) = by_account(door, request).await?;
    payload::require_empty(&signed.payload)?;
    let missing = || Problem::not_found("there is no such certificate");
    let id: CertificateId = id.parse().map_err(|_| missing())?;
    match door.services.acme.certificate(&by, id).await? {
        Download::Issued { details, certificate, signing } => {
            let no_chain =
                || Problem::not_found("there is no such chain; the links of the certificate lead to those there are");
            let number = number.map(|text| read_number(text).ok_or_else(no_chain)).transpose()?;
            let now = door.services.now();
            let chain = signing.chains.get(number, now).ok_or_else(no_chain)?;
            let text = format!("{}{}", certificate.to_pem(), chain.pem());
            let mut response = ([(CONTENT_TYPE, "application/pem-certificate-chain")], text).into_response();
            lead_back(&mut response, details.certificate.profile);
            for other in signing.chains.others(number, now) {
                link(&mut response, &Urls::of(door).chain(id, other), "alternate");
            }
            Ok(response)
        }
        Download::NotYet(_) => {
            let detail = "the certificate is not issued yet; look at the order";
            Err(Problem::new(ProblemType::OrderNotReady, StatusCode::FORBIDDEN, detail).retry_after(1))
        }
        Download::Never(_) => Err(missing()),
    }
}

/// One spelling a number.
fn read_number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}
