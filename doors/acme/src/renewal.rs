//! renewalInfo (RFC 9773 section 4): for everybody, and unsigned.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use chancery_service::acme::{RenewalInfo, RenewalWindow};
use chancery_wire::acme as wire;
use http::HeaderValue;
use http::header::RETRY_AFTER;

use crate::mount::Door;
use crate::problem::Problem;

pub(crate) async fn show(State(door): State<Door>, Path(certificate): Path<String>) -> Result<Response, Problem> {
    let RenewalInfo { window, ask_again } = door.services.acme.renewal_info(certificate).await?;
    let RenewalWindow { start, end } = window;
    let suggested_window = wire::RenewalWindow { start: start.to_string(), end: end.to_string() };
    let mut response = Json(wire::RenewalInfo { suggested_window }).into_response();
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(ask_again.as_secs()));
    Ok(response)
}
