//! Who is at the page. No page and no form is reached without going through here: [`SignedIn`] and [`Operator`] for pages,
//! [`Change`] and [`OperatorChange`] for forms, which also ask where the form came from.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use chancery_domain::ClientId;
use chancery_http::{BodyLimits, Door, Exchange, origin, read_bounded};
use chancery_service::console::{Person, Session};
use chancery_service::{Caller, Operator as Operating};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::{COOKIE, HOST, LOCATION, ORIGIN};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::form::Fields;
use crate::layout::{Context, Whose};
use crate::query::link;
use crate::refused::Refused;

/// Nobody but the browser sees it, and it goes to this host over TLS alone (RFC 6265bis section 4.1.3).
pub(crate) const SESSION: &str = "__Host-chancery-session";

/// Somebody of a reseller.
pub(crate) struct SignedIn {
    pub(crate) caller: Caller,
    pub(crate) context: Context,
    /// The API client that was signed in with, if it was one.
    pub(crate) client: Option<ClientId>,
}

/// The operator.
pub(crate) struct Operator {
    pub(crate) operator: Operating,
    pub(crate) context: Context,
}

/// A form of a reseller's page.
pub(crate) struct Change {
    pub(crate) caller: Caller,
    pub(crate) context: Context,
    pub(crate) form: Fields,
}

/// A form of an operator's page.
pub(crate) struct OperatorChange {
    pub(crate) operator: Operating,
    pub(crate) context: Context,
    pub(crate) form: Fields,
}

/// A form from a page of ours, by anybody.
pub(crate) struct Posted {
    pub(crate) form: Fields,
    pub(crate) parts: Parts,
}

/// A form from a page of this very session, by anybody who is signed in.
pub(crate) struct Signed {
    pub(crate) session: Session,
    pub(crate) token: String,
    pub(crate) context: Context,
    pub(crate) form: Fields,
}

impl FromRequestParts<Door> for SignedIn {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Refused> {
        let (session, _) = resume(parts, door).await?;
        let context = Context::of(&session, parts);
        match session.person {
            Person::Client { id, caller, .. } => Ok(Self { caller, context, client: Some(id) }),
            Person::External { caller, .. } => Ok(Self { caller, context, client: None }),
            Person::Operator { .. } => Err(Refused::redirect("/console/operator")),
        }
    }
}

impl FromRequestParts<Door> for Operator {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Refused> {
        let (session, _) = resume(parts, door).await?;
        let context = Context::of(&session, parts);
        match session.person {
            // Whoever is no operator is not told that there are such pages.
            Person::Client { .. } | Person::External { .. } => Err(Refused::no_page()),
            Person::Operator { name, origin, .. } => {
                let operator = door.services.operator.clone().acting_as(name.as_str()).acting_from(origin);
                Ok(Self { operator, context })
            }
        }
    }
}

impl FromRequest<Door> for Posted {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &Door) -> Result<Self, Refused> {
        let limits = request.extensions().get::<BodyLimits>().copied().unwrap_or_default();
        let (parts, body) = request.into_parts();
        require_own_page(&parts)?;
        let bytes = read_bounded(body, limits).await.map_err(Refused::api)?;
        Ok(Self { form: Fields::parse(&String::from_utf8_lossy(&bytes)), parts })
    }
}

impl FromRequest<Door> for Change {
    type Rejection = Refused;

    async fn from_request(request: Request, door: &Door) -> Result<Self, Refused> {
        let (session, context, form, _) = changing(request, door).await?;
        match session.person {
            Person::Client { caller, .. } | Person::External { caller, .. } => Ok(Self { caller, context, form }),
            Person::Operator { .. } => Err(Refused::no_page()),
        }
    }
}

impl FromRequest<Door> for OperatorChange {
    type Rejection = Refused;

    async fn from_request(request: Request, door: &Door) -> Result<Self, Refused> {
        let (session, context, form, _) = changing(request, door).await?;
        match session.person {
            Person::Client { .. } | Person::External { .. } => Err(Refused::no_page()),
            Person::Operator { name, origin, .. } => {
                let operator = door.services.operator.clone().acting_as(name.as_str()).acting_from(origin);
                Ok(Self { operator, context, form })
            }
        }
    }
}

impl FromRequest<Door> for Signed {
    type Rejection = Refused;

    async fn from_request(request: Request, door: &Door) -> Result<Self, Refused> {
        let (session, context, form, token) = changing(request, door).await?;
        Ok(Self { session, token, context, form })
    }
}

/// A change by somebody who is signed in, from a page that this session was shown.
fn changing(request: Request, door: &Door) -> BoxFuture<'_, Result<(Session, Context, Fields, String), Refused>> {
    Box::pin(async {
        let Posted { form, mut parts } = Posted::from_request(request, door).await?;
        let (session, token) = resume(&mut parts, door).await?;
        if !session.accepts(form.text("csrf")) {
            return Err(Refused::forged());
        }
        let context = Context::of(&session, &parts);
        Ok((session, context, form, token))
    })
}

/// The session of a request, within the request rate of its reseller. In a box, as [`changing`] is, so that it is compiled
/// once, and not anew with every page.
fn resume<'a>(parts: &'a mut Parts, door: &'a Door) -> BoxFuture<'a, Result<(Session, String), Refused>> {
    resume_session(parts, door).boxed()
}

async fn resume_session(parts: &mut Parts, door: &Door) -> Result<(Session, String), Refused> {
    let token = cookie(&parts.headers, SESSION).unwrap_or_default().to_owned();
    let session = match token.is_empty() {
        true => None,
        false => door.services.console.resume(&token, origin(parts)).await.map_err(Refused::service)?,
    };
    let Some(session) = session else {
        let asked = parts.uri.path_and_query().filter(|_| parts.method == http::Method::GET);
        let back = asked.map(PathAndQuery::as_str).filter(|path| *path != "/console").unwrap_or_default();
        return Err(Refused::redirect(&link("/console/sign-in", &[("next", back)])));
    };
    if let Person::Operator { name, .. } = &session.person
        && let Some(exchange) = parts.extensions.get::<Arc<Exchange>>()
    {
        exchange.note_operator(name.as_str());
    }
    if let Person::Client { caller, .. } | Person::External { caller, .. } = &session.person {
        let exchange = parts.extensions.get::<Arc<Exchange>>();
        if let Some(exchange) = exchange {
            exchange.note_caller(caller);
        }
        if let Some(exchange) = exchange {
            exchange.assign_permit(&parts.extensions, caller.reseller).map_err(Refused::overloaded)?;
        }
        let decision = door.services.rates.request(caller.reseller).await.map_err(Refused::service)?;
        if let (Some(exchange), Some(decision)) = (exchange, decision) {
            exchange.note_rate(decision);
        }
    }
    Ok((session, token))
}

/// Forms are sent from the pages of this host and no other. Browsers say so with every POST; what does not say it is none
/// of them.
fn require_own_page(parts: &Parts) -> Result<(), Refused> {
    let said = parts.headers.get(ORIGIN).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // Over HTTP/2 the host is part of the URI (RFC 9113 section 8.3.1).
    let host = parts.headers.get(HOST).and_then(|value| value.to_str().ok());
    let host = host.or_else(|| parts.uri.authority().map(|authority| authority.as_str())).unwrap_or_default();
    let from = said.strip_prefix("https://").or_else(|| said.strip_prefix("http://"));
    let same = !host.is_empty() && from.is_some_and(|from| from.eq_ignore_ascii_case(host));
    if same { Ok(()) } else { Err(Refused::forged()) }
}

pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// A path of the console, where a text is one and nothing else.
pub(crate) fn local(path: &str) -> Option<&str> {
    let plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let ours = path == "/console" || path.starts_with("/console/") || path.starts_with("/console?");
    // Browsers take these out, however they are written (WHATWG URL section 4.4), and with them what is before.
    let place = path.split('?').next().unwrap_or_default().to_ascii_lowercase().replace("%2e", ".");
    let leaves = place.split('/').any(|part| part == ".." || part == ".");
    (plain && ours && !leaves && !path.contains("//")).then_some(path)
}

pub(crate) fn see_other(path: &str) -> Response {
    let to = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/console"));
    (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
}

impl Context {
    fn of(session: &Session, parts: &Parts) -> Self {
        let whose = match &session.person {
            Person::Client { name, reseller, .. } => {
                Whose::Reseller { reseller: reseller.name.to_string(), client: name.to_string() }
            }
            Person::External { name, reseller, .. } => {
                Whose::Reseller { reseller: reseller.name.to_string(), client: name.clone() }
            }
            Person::Operator { name, .. } => Whose::Operator { name: name.to_string() },
        };
        Self::new(whose, session.csrf.clone(), session.form.clone(), parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_console_are_gone_back_to() {
        for good in ["/console", "/console/customers?q=a%20b", "/console?done=x", "/console/audit?subject=../x"] {
            assert_eq!(local(good), Some(good));
        }
        for bad in ["", "/", "//evil.test", "/consoles", "https://evil.test/console", "/console//evil", "/console\\x"] {
            assert_eq!(local(bad), None, "{bad}");
        }
        for bad in ["/console/../v1", "/console/a/%2E%2e/x", "/console/.", "/console/.%2e"] {
            assert_eq!(local(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_form_from_elsewhere_is_refused() {
        let request = |origin: Option<&str>, host: &str| {
            let mut request = http::Request::builder().uri("/console/sign-in");
            if let Some(origin) = origin {
                request = request.header(ORIGIN, origin);
            }
            if !host.is_empty() {
                request = request.header(HOST, host);
            }
            request.body(()).unwrap().into_parts().0
        };
        let over_http2 = http::Request::builder().uri("https://ca.test/console").header(ORIGIN, "https://ca.test");
        assert!(require_own_page(&over_http2.body(()).unwrap().into_parts().0).is_ok());
        assert!(require_own_page(&request(Some("https://ca.test"), "ca.test")).is_ok());
        assert!(require_own_page(&request(Some("https://ca.test:8443"), "ca.test:8443")).is_ok());
        for (origin, host) in [
            (None, "ca.test"),
            (Some("null"), "ca.test"),
            (Some("https://evil.test"), "ca.test"),
            (Some("https://ca.test.evil.test"), "ca.test"),
            (Some("https://"), ""),
        ] {
            assert!(require_own_page(&request(origin, host)).is_err(), "{origin:?}");
        }
    }
}
