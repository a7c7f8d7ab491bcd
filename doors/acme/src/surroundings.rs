//! What stands around every answer of ACME: a fresh nonce, the way to the directory, and leave for browsers to read it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use chancery_domain::ProfileName;
use chancery_http::{Wording, with_readable_path};
use futures_util::FutureExt;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, LINK,
};
use http::{HeaderName, HeaderValue, Method, StatusCode};

use crate::mount::Door;
use crate::problem::Problem;
use crate::urls::Urls;

pub(crate) const REPLAY_NONCE: HeaderName = HeaderName::from_static("replay-nonce");

pub(crate) fn around(routes: Router, door: Door) -> Router {
    routes.layer(middleware::from_fn_with_state(door, surround))
}

/// Says a refusal that comes before the request gets here as a problem document, like any other.
pub(crate) fn wording(door: Door) -> Wording {
    Arc::new(move |method, uri, error| decorate(Problem::from(error).into_response(), method, uri.path(), &door))
}

async fn surround(State(door): State<Door>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = match method {
        // A browser asks whether it may.
        Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        _ => match with_readable_path(request).await {
            // A panic is a problem document like any other refusal.
            Some(request) => AssertUnwindSafe(next.run(request)).catch_unwind().await.unwrap_or_else(|_| {
                tracing::error!(path, "a handler panicked");
                Problem::internal().into_response()
            }),
            None => {
                Problem::not_found("the path is not percent-encoded UTF-8 text, and nothing is there").into_response()
            }
        },
    };
    decorate(response, &method, &path, &door)
}

fn decorate(mut response: Response, method: &Method, path: &str, door: &Door) -> Response {
    let headers = response.headers_mut();
    // RFC 8555 section 6.1.
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    let exposed = HeaderValue::from_static("Link, Location, RateLimit, RateLimit-Policy, Replay-Nonce, Retry-After");
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    if *method == Method::OPTIONS {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST"));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("Content-Type"));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
        return response;
    }
    // RFC 8555 section 7.1: on all but the directory. A refusal is none, whatever its path.
    let is_refusal = response.status().is_client_error() || response.status().is_server_error();
    if is_refusal || !path.ends_with("/directory") {
        let index = index(&response, path, door);
        link(&mut response, &index, "index");
    }
    // RFC 8555 section 6.6.
    if let (StatusCode::TOO_MANY_REQUESTS, Some(help)) = (response.status(), &door.services.limits.settings().help) {
        link(&mut response, help, "help");
    }
    if *method == Method::POST {
        give_nonce(&mut response, door);
    }
    response
}

/// The directory that an answer leads back to: the only one, or that of what the answer is about, or of the path, or the
/// usual one.
fn index(response: &Response, path: &str, door: &Door) -> String {
    let settings = &door.services.settings;
    let about = response.extensions().get::<OfProfile>().map(|OfProfile(name)| name);
    // The operator may have given up a profile that there are still orders of.
    let about = about.filter(|name| settings.profile(name).is_some());
    let first = path.strip_prefix("/acme/").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let of_path = || settings.profiles.iter().map(|profile| &profile.name).find(|name| name.as_str() == first);
    let profile = door.mount.directory.as_ref().or(about).or_else(of_path).unwrap_or(&settings.default_profile);
    Urls::of(door).of_profile(profile.as_str(), "directory")
}

/// The profile of what an answer is about; found in its extensions.
#[derive(Clone)]
struct OfProfile(ProfileName);

/// Has an answer lead back to the directory of this profile.
pub(crate) fn lead_back(response: &mut Response, profile: ProfileName) {
    response.extensions_mut().insert(OfProfile(profile));
}

/// Adds a link (RFC 8288).
pub(crate) fn link(response: &mut Response, url: &str, relation: &str) {
    if let Ok(value) = HeaderValue::from_str(&format!("<{url}>;rel=\"{relation}\"")) {
        response.headers_mut().append(LINK, value);
    }
}

/// Adds a fresh nonce (RFC 8555 section 6.5.1).
pub(crate) fn give_nonce(response: &mut Response, door: &Door) {
    let nonce = door.services.acme.new_nonce();
    let nonce = HeaderValue::from_str(&nonce).expect("base64url is plain ASCII");
    response.headers_mut().insert(REPLAY_NONCE, nonce);
}
