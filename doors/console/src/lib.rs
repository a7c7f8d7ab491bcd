//! The console: pages for people, under `/console`. Rendered here over the same use cases as the reseller API; scripts make
//! them nicer and nothing needs one. No rule lives here.

mod assets;
mod audit;
mod calendar;
mod certificates;
mod charts;
mod choices;
mod clients;
mod customers;
mod form;
mod groups;
mod layout;
mod once;
mod operator;
mod orders;
mod overview;
#[doc(hidden)]
pub mod parsers;
mod parts;
mod policies;
mod query;
mod refused;
mod session;
mod sign_in;
mod text;
mod theme;
mod with_provider;

use axum::Router;
use axum::middleware;
use chancery_http::routing::{get, post};
use chancery_http::{Door, Wording};

use refused::Refused;

/// Where the console is.
pub const PATH: &str = "/console";

/// Every page and form.
pub fn router(door: Door) -> Router {
    let pages: Router<Door> = Router::new()
        .route("/console/", get(async || session::see_other(PATH)))
        .route("/console/sign-in", get(sign_in::form).merge(post(sign_in::enter)))
        .route("/console/sign-in/with/{provider}", get(with_provider::depart))
        .route("/console/sign-in/with/{provider}/return", get(with_provider::come_back))
        .route("/console/sign-out", post(sign_in::leave))
        .route("/console/sign-out-everywhere", post(sign_in::leave_everywhere))
        .route("/console/theme", post(theme::choose))
        .route("/console/static/{*path}", get(assets::file))
        .route("/console/{*path}", get(nothing_here).merge(post(nothing_here)))
        .route("/console", get(overview::page))
        .route("/console/calendar", get(calendar::page))
        .route("/console/audit", get(audit::page))
        .merge(customers::routes())
        .merge(certificates::routes())
        .merge(orders::routes())
        .merge(groups::routes())
        .merge(policies::routes())
        .merge(clients::routes())
        .merge(operator::routes());
    let pages = pages.method_not_allowed_fallback(no_such_method);
    pages.layer(middleware::from_fn(refused::render)).with_state(door)
}

/// Words refusals of requests below [`PATH`] that are decided before or after the console.
pub fn wording() -> Wording {
    refused::wording()
}

/// Where forms are sent to, there is no page.
async fn no_such_method() -> Refused {
    Refused::no_method()
}

async fn nothing_here() -> Refused {
    Refused::no_page()
}
