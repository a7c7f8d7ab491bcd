//! Customers: the root accounts of a reseller.

mod change;
mod create;
mod credentials;
mod list;
mod show;

use axum::Router;
use chancery_http::Door;
use chancery_http::routing::{get, post};

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route("/console/customers", get(list::page).merge(post(create::create)))
        .route("/console/customers/new", get(create::form))
        .route("/console/customers/{id}", get(show::page))
        .route("/console/customers/{id}/edit", post(change::edit))
        .route("/console/customers/{id}/suspend", post(change::suspend))
        .route("/console/customers/{id}/resume", post(change::resume))
        .route("/console/customers/{id}/terminate", post(change::terminate))
        .route("/console/customers/{id}/credentials", post(credentials::create))
        .route("/console/customers/{id}/credentials/{kid}/revoke", post(credentials::revoke))
}
