//! Certificates: found, shown, downloaded, revoked.

mod csv;
mod list;
mod show;

use axum::Router;
use axum::routing::{get, post};
use chancery_http::Door;

pub(crate) use list::{nothing_asked, table};

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route("/console/certificates", get(list::page))
        .route("/console/certificates.csv", get(csv::download))
        .route("/console/certificates/{id}", get(show::page))
        .route("/console/certificates/{id}/{file}", get(show::download))
        .route("/console/certificates/{id}/revoke", post(show::revoke))
}
