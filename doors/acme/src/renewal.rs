//! renewalInfo (RFC 9773 section 4): for everybody, and unsigned.

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use chancery_http::origin;
use chancery_service::acme::{RenewalInfo, RenewalWindow};
use chancery_wire::acme as wire;
use http::HeaderValue;
use http::header::{CONTENT_TYPE, RETRY_AFTER};

use crate::mount::Door;
use crate::problem::Problem;
use crate::rate;

pub(crate) async fn show(
    State(door): State<Door>,
    Path(certificate): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, _) = request.into_parts();
    let (rates, origin) = (&door.services.rates, origin(&parts));
    rates.take_anonymous(&origin)?;
    rate::note(&parts.extensions, rates.anonymous_state(&origin));
    let set = door.mount.renewal_answers.of(&certificate);
    let RenewalInfo { window, ask_again } = door.services.acme.renewal_info(certificate).await?;
    let mut response = match set {
        Some(text) => ([(CONTENT_TYPE, "application/json")], text).into_response(),
        None => Json(view(window)).into_response(),
    };
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(ask_again.as_secs()));
    Ok(response)
}

fn view(RenewalWindow { start, end }: RenewalWindow) -> wire::RenewalInfo {
    wire::RenewalInfo { suggested_window: wire::RenewalWindow { start: start.to_string(), end: end.to_string() } }
}
