//! Policies: what customers may have.

mod change;
mod form;
mod list;
mod show;
mod trial;

use axum::Router;
use chancery_domain::PolicyId;
use chancery_http::Door;
use chancery_http::routing::{get, post};
use chancery_service::{Noun, ServiceError};

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route("/console/policies", get(list::page).merge(post(change::create)))
        .route("/console/policies/new", get(list::new))
        .route("/console/policies/try", get(trial::page))
        .route("/console/policies/{id}", get(show::page))
        .route("/console/policies/{id}/edit", post(change::edit))
        .route("/console/policies/{id}/delete", post(change::delete))
}

fn read_id(id: &str) -> Result<PolicyId, ServiceError> {
    id.parse().map_err(|_| ServiceError::not_found(Noun::Policy))
}
