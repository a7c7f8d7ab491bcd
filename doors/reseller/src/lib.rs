//! The reseller API: `/v1/**`, one file a noun. A handler translates; no rule lives here.

mod accept;
mod account;
mod authorization;
mod certificate;
mod certificate_csv;
mod csr;
mod delivery;
mod diagnose;
mod docs;
mod download;
mod eab;
mod event;
mod gone;
mod group;
mod limits;
mod member;
mod missing;
mod openapi;
mod openapi_finish;
mod order;
mod order_view;
#[doc(hidden)]
pub mod parsers;
mod pause;
mod policy;
mod policy_rules;
mod progress;
mod selector;
mod unasked;
mod usage;
mod version;
mod webhook;

use axum::Router;
use chancery_http::Door;
use utoipa_axum::router::OpenApiRouter;

/// Every operation of the reseller API, the document that describes it, and the page that shows it.
pub fn router(door: Door) -> Router {
    let (router, _) = operations().with_state(door).split_for_parts();
    router.merge(docs::router())
}

/// The document, made from the code of the operations.
pub fn openapi() -> utoipa::openapi::OpenApi {
    openapi::complete(operations().into_openapi())
}

fn operations() -> OpenApiRouter<Door> {
    OpenApiRouter::with_openapi(openapi::base())
        .merge(policy::routes())
        .merge(group::routes())
        .merge(member::routes())
        .merge(account::routes())
        .merge(eab::routes())
        .merge(order::routes())
        .merge(authorization::routes())
        .merge(certificate::routes())
        .merge(download::routes())
        .merge(csr::routes())
        .merge(event::routes())
        .merge(webhook::routes())
        .merge(delivery::routes())
        .merge(usage::routes())
        .merge(diagnose::routes())
        .merge(pause::routes())
        .merge(limits::routes())
        .merge(version::routes())
}
