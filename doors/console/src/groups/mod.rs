//! Groups of customers, and the policies that hold for them.

mod change;
mod list;
mod show;

use axum::Router;
use chancery_domain::GroupId;
use chancery_http::Door;
use chancery_http::routing::{get, post};
use chancery_service::{Noun, ServiceError};

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route("/console/groups", get(list::page).merge(post(change::create)))
        .route("/console/groups/new", get(list::new))
        .route("/console/groups/{id}", get(show::page))
        .route("/console/groups/{id}/edit", post(change::edit))
        .route("/console/groups/{id}/delete", post(change::delete))
        .route("/console/groups/{id}/assign", post(change::assign))
        .route("/console/groups/{id}/unassign", post(change::unassign))
        .route("/console/groups/{id}/add", post(change::add))
        .route("/console/groups/{id}/move", post(change::relocate))
        .route("/console/groups/{id}/remove", post(change::remove))
}

fn read_id(id: &str) -> Result<GroupId, ServiceError> {
    id.parse().map_err(|_| ServiceError::not_found(Noun::Group))
}
