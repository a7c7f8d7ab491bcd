//! Certificates: found, shown, downloaded, revoked.

mod csv;
mod list;
mod show;

use axum::Router;
use chancery_domain::{CertificateRecord, Scope};
use chancery_http::Door;
use chancery_http::routing::{get, post};
use chancery_service::Caller;
use maud::{Markup, html};

pub(crate) use list::{nothing_asked, table};

pub(crate) fn routes() -> Router<Door> {
    Router::new()
        .route("/console/certificates", get(list::page))
        .route("/console/certificates.csv", get(csv::download))
        .route("/console/certificates/{id}", get(show::page))
        .route("/console/certificates/{id}/{file}", get(show::download))
        .route("/console/certificates/{id}/revoke", post(show::revoke))
}

/// Whose it is: by e-mail address for those who may read accounts, and by lookup for everybody else.
pub(crate) fn customer(certificate: &CertificateRecord, caller: &Caller) -> Markup {
    html! {
        @if caller.scopes.contains(Scope::ReadAccount) {
            a href={ "/console/customers/" (certificate.account) } { (certificate.email) }
        } @else { span.mono { (certificate.account) } }
    }
}
