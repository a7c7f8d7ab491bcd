//! ACME (RFC 8555): one directory a profile, over the same orders, authorizations and certificates as everybody's.

mod account;
mod authorization;
mod certificate;
mod challenge;
mod directory;
mod faults;
mod jws;
mod key_change;
mod layout;
mod mount;
mod nonce;
mod order;
mod order_profiles;
#[doc(hidden)]
pub mod parsers;
mod payload;
mod problem;
mod rate;
mod renewal;
mod renewal_answers;
mod revoke;
mod service_error;
mod stand_in;
mod surroundings;
mod urls;
mod verify;

use std::sync::Arc;

use axum::Router;
use axum::extract::MatchedPath;
use chancery_http::Wording;
use chancery_http::routing::{any, get, post};

pub use faults::Faults;
pub use layout::Layout;
use mount::Door;
pub use mount::Mount;
use problem::{Problem, ProblemType};
pub use renewal_answers::RenewalAnswers;
pub use stand_in::{StandIn, StandInCredential};

/// Everything below `/acme/`, as the service has it.
pub fn router(door: chancery_http::Door) -> Router {
    mounted(door, Arc::new(Mount::default()))
}

/// Everything below `/acme/`, mounted otherwise: for test environments. Its routes are the paths inside of its layout.
pub fn mounted(door: chancery_http::Door, mount: Arc<Mount>) -> Router {
    let door = Door::new(door, mount);
    let routes = Router::new()
        .route("/acme/{profile}/directory", get(directory::show).merge(post(directory::show_signed)))
        .route("/acme/{profile}/new-nonce", get(nonce::give).merge(post(nonce::give_signed)))
        .route("/acme/{profile}/new-account", post(account::register))
        .route("/acme/{profile}/new-order", post(order::create))
        .route("/acme/{profile}/new-authz", post(authorization::create))
        .route("/acme/{profile}/revoke-cert", post(revoke::revoke))
        .route("/acme/{profile}/key-change", post(key_change::change))
        .route("/acme/account/{id}", post(account::show_or_update))
        .route("/acme/account/{id}/orders", post(account::orders))
        .route("/acme/order/{id}", post(order::show))
        .route("/acme/order/{id}/finalize", post(order::finalize))
        .route("/acme/authz/{id}", post(authorization::show_or_deactivate))
        .route("/acme/challenge/{id}", post(challenge::show_or_answer))
        .route("/acme/cert/{id}", post(certificate::download))
        .route("/acme/cert/{id}/{chain}", post(certificate::download_alternate))
        .route("/acme/renewal-info/{certificate}", get(renewal::show))
        .route("/acme", any(nothing))
        .route("/acme/", any(nothing))
        .route("/acme/{profile}", any(nothing))
        .route("/acme/{profile}/{what}", any(nothing))
        .route("/acme/{profile}/{what}/{*rest}", any(nothing))
        // What no route can name, such as a path with a slash at its end. A fallback of its own stays this door's when its
        // routes are merged with those of others.
        .nest(ROOT, Router::new().fallback(nothing))
        .method_not_allowed_fallback(wrong_method)
        .with_state(door.clone());
    surroundings::around(faults::before(routes, door.clone()), door)
}

/// How refusals are said that come before a request gets here: as problem documents, too.
pub fn wording(door: chancery_http::Door, mount: Arc<Mount>) -> Wording {
    surroundings::wording(Door::new(door, mount))
}

/// Everything of this door is below it.
pub const ROOT: &str = "/acme";

async fn nothing() -> Problem {
    Problem::not_found("there is nothing at this path; begin at the directory of a profile")
}

/// Routes that do something with what they are sent, and have nothing to read.
const DOING: [&str; 6] = [
    "/acme/{profile}/new-account",
    "/acme/{profile}/new-order",
    "/acme/{profile}/new-authz",
    "/acme/{profile}/revoke-cert",
    "/acme/{profile}/key-change",
    "/acme/order/{id}/finalize",
];

/// RFC 8555 section 6.3: what is not for everybody is read by POST, too.
async fn wrong_method(method: http::Method, route: MatchedPath) -> Problem {
    let detail = match method {
        http::Method::GET | http::Method::HEAD if DOING.contains(&route.as_str()) => {
            "nothing is to be read here: this takes a signed POST with a JSON object (RFC 8555 section 6.2)".to_owned()
        }
        http::Method::GET | http::Method::HEAD => {
            "this is read by POST-as-GET: a signed POST with an empty payload (RFC 8555 section 6.3)".to_owned()
        }
        other => format!("this path does not take {other}; the header Allow lists what it takes"),
    };
    Problem::new(ProblemType::Malformed, http::StatusCode::METHOD_NOT_ALLOWED, detail)
}
