//! Pages of the operator of this service. Nobody else is told that they exist.

mod audit;
mod authorities;
mod clients;
mod nodes;
mod overview;
mod resellers;
mod troubles;

use axum::Router;
use chancery_http::Door;
use chancery_http::routing::{get, post};

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route("/console/operator", get(overview::page))
        .route("/console/operator/resellers", get(resellers::list).merge(post(resellers::create)))
        .route("/console/operator/resellers/{code}", get(resellers::show))
        .route("/console/operator/resellers/{code}/suspend", post(resellers::suspend))
        .route("/console/operator/resellers/{code}/resume", post(resellers::resume))
        .route("/console/operator/resellers/{code}/clients", post(clients::create))
        .route("/console/operator/resellers/{code}/clients/{id}/rotate", post(clients::rotate))
        .route("/console/operator/resellers/{code}/clients/{id}/finish-rotation", post(clients::finish))
        .route("/console/operator/resellers/{code}/clients/{id}/disable", post(clients::disable))
        .route("/console/operator/resellers/{code}/clients/{id}/enable", post(clients::enable))
        .route("/console/operator/authorities", get(authorities::page))
        .route("/console/operator/nodes", get(nodes::page))
        .route(troubles::PATH, get(troubles::page))
        .route("/console/operator/audit", get(audit::page))
}
