//! The list for a spreadsheet (RFC 4180), streamed page by page.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Scope, Secret, Timestamp};
use chancery_http::{CsvReader, Door, Shown, csv_field};
use chancery_overload::RequestPermit;
use chancery_service::{Caller, CertificateDetails, Origin, ServiceError, Services};
use http::HeaderMap;

use super::list::asked;
use crate::query::Query;
use crate::refused::Refused;
use crate::session::{SESSION, SignedIn, cookie};

const HEADER: &str =
    "lookup,status,names,customer,profile,serial,issuer,notBefore,notAfter,revokedAt,order,createdAt\r\n";

pub(crate) async fn download(
    State(door): State<Door>,
    who: SignedIn,
    Query(query): Query,
    place: Option<Extension<Arc<RequestPermit>>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let now = door.services.now();
    who.caller.require(Scope::ReadCertificate)?;
    let asked = asked(&query, &who.caller, now)?;
    let shown = Session(Secret::new(cookie(&headers, SESSION).unwrap_or_default().to_owned()));
    let (caller, place) = (who.caller, place.map(|Extension(place)| place));
    let reader = CsvReader { door, caller, shown, place };
    reader.certificates(Some(asked), HEADER, move |details, caller| row(details, caller, now)).map_err(Refused::service)
}

/// The session's token.
struct Session(Secret);

impl Shown for Session {
    async fn caller(&self, services: &Services, origin: Origin) -> Result<Caller, ServiceError> {
        let session = services.console.resume(self.0.reveal(), origin).await?;
        let caller = session.and_then(|session| session.person.caller().cloned());
        caller.ok_or_else(|| ServiceError::Internal("the session has ended".to_owned()))
    }
}

fn row(details: &CertificateDetails, caller: &Caller, now: Timestamp) -> String {
    let CertificateDetails { certificate, issuer } = details;
    let issued = certificate.issued();
    let names: Vec<_> = certificate.identifiers.iter().map(ToString::to_string).collect();
    let fields = [
        certificate.id.to_string(),
        certificate.status(now).as_str().to_owned(),
        names.join(" "),
        match caller.scopes.contains(Scope::ReadAccount) {
            true => certificate.email.to_string(),
            false => certificate.account.to_string(),
        },
        certificate.profile.to_string(),
        issued.map(|issued| issued.serial.clone()).unwrap_or_default(),
        issuer.clone().unwrap_or_default(),
        issued.map(|issued| issued.not_before.to_string()).unwrap_or_default(),
        issued.map(|issued| issued.not_after.to_string()).unwrap_or_default(),
        certificate.revocation().map(|revocation| revocation.at.to_string()).unwrap_or_default(),
        certificate.order.to_string(),
        certificate.created_at.to_string(),
    ];
    fields.map(|field| csv_field(&field)).join(",") + "\r\n"
}
