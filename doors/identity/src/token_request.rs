//! What stands in a request for a token: JSON or a form, with the client in the body or in HTTP Basic.

use axum::body::Body;
use chancery_domain::Secret;
use chancery_http::{BadJson, BodyLimits, is_encoded, read_bounded};
use data_encoding::BASE64;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Request};
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::token::Refusal;

/// The members that may stand in a request.
#[derive(Default, Deserialize)]
pub(crate) struct Asked {
    pub(crate) grant_type: Option<String>,
    pub(crate) client_id: Option<String>,
    client_secret: Option<String>,
    pub(crate) audience: Option<String>,
    pub(crate) scope: Option<String>,
}

impl Asked {
    pub(crate) fn take_secret(&mut self) -> Option<Secret> {
        self.client_secret.take().map(Secret::new)
    }
}

/// A token request is small.
const LIMITS: fn() -> BodyLimits = || BodyLimits { max_bytes: 16 * 1024, ..BodyLimits::default() };

/// Reads the request, whichever of its forms it has.
pub(crate) async fn read(request: Request<Body>) -> Result<Asked, Refusal> {
    let (head, body) = request.into_parts();
    if is_encoded(&head.headers) {
        return Err(Refusal::unsupported("send the body without Content-Encoding"));
    }
    let bytes = read_bounded(body, LIMITS()).await.map_err(|_| invalid("the body is too large or too slow"))?;
    understand(&head.headers, &bytes)
}

/// What the header and the body of a request say.
pub(crate) fn understand(headers: &HeaderMap, body: &[u8]) -> Result<Asked, Refusal> {
    let mut asked = match media_type(headers).as_deref() {
        Some("application/json") => read_json(body)?,
        Some("application/x-www-form-urlencoded") => read_form(body)?,
        _ => return Err(invalid("send application/json or application/x-www-form-urlencoded")),
    };
    if let Some((id, secret)) = basic(headers)? {
        // RFC 6749 section 2.3: not more than one method in a request.
        if asked.client_secret.is_some() || asked.client_id.as_ref().is_some_and(|other| *other != id) {
            return Err(invalid("the client stands both in the Authorization header and in the body"));
        }
        (asked.client_id, asked.client_secret) = (Some(id), Some(secret));
    }
    Ok(asked)
}

fn invalid(message: &str) -> Refusal {
    Refusal::bad("invalid_request", message)
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(|essence| essence.trim().to_ascii_lowercase())
}

fn read_json(bytes: &[u8]) -> Result<Asked, Refusal> {
    // What is told must not quote the body: the secret stands in it.
    chancery_http::read_json(bytes, LIMITS()).map_err(|bad| match bad {
        BadJson::Malformed { line, column } => {
            invalid(&format!("the body is not JSON, or nested too deeply (at line {line}, column {column})"))
        }
        BadJson::Unfit => invalid("the body is not a JSON object with text members, each of them once"),
    })
}

/// RFC 6749 section 3.2: a member without a value counts as left out, and none may stand twice.
fn read_form(bytes: &[u8]) -> Result<Asked, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|_| invalid("the form is not UTF-8"))?;
    let mut asked = Asked::default();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decode(name)?, decode(value)?);
        if value.is_empty() {
            continue;
        }
        let slot = match name.as_str() {
            "grant_type" => &mut asked.grant_type,
            "client_id" => &mut asked.client_id,
            "client_secret" => &mut asked.client_secret,
            "audience" => &mut asked.audience,
            "scope" => &mut asked.scope,
            // RFC 6749 section 3.2: what is not understood is ignored.
            _ => continue,
        };
        if slot.replace(value).is_some() {
            return Err(invalid(&format!("{name} is given twice")));
        }
    }
    Ok(asked)
}

/// RFC 6749 section 2.3.1: both parts are form-encoded before they are put together.
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, Refusal> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let header = match (sent.next(), sent.next()) {
        (None, _) => return Ok(None),
        (Some(only), None) => only,
        (Some(_), Some(_)) => return Err(invalid("there is more than one Authorization header")),
    };
    let bad = || Refusal::client("the Authorization header is not HTTP Basic with a client id and secret");
    let text = header.to_str().map_err(|_| bad())?;
    let (scheme, credentials) = text.split_once(' ').ok_or_else(bad)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(bad());
    }
    let decoded = BASE64.decode(credentials.trim().as_bytes()).map_err(|_| bad())?;
    let decoded = String::from_utf8(decoded).map_err(|_| bad())?;
    let (id, secret) = decoded.split_once(':').ok_or_else(bad)?;
    Ok(Some((decode(id)?, decode(secret)?)))
}

fn decode(text: &str) -> Result<String, Refusal> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().map_err(|_| invalid("the form is not UTF-8"))?;
    Ok(decoded.into_owned())
}
