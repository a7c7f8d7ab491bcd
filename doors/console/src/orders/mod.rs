//! Orders: where each stands, and what was seen on the way.

mod attempts;
mod list;
mod pauses;
mod show;
mod timeline;

use axum::Router;
use chancery_http::Door;
use chancery_http::routing::{get, post};

pub(crate) use list::table;

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route("/console/orders", get(list::page))
        .route("/console/pauses/{id}/lift", post(pauses::lift))
        .route("/console/orders/{id}", get(show::page))
        .route("/console/orders/{id}/cancel", post(show::cancel))
        .route("/console/orders/{id}/finalize", post(show::finalize))
}
