//! The list for a spreadsheet (RFC 4180), streamed page by page.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use chancery_domain::{Scope, Secret, Timestamp};
use chancery_http::{CSV_PAGE, CsvAsk, CsvPage, Door, Place, count_rows, csv_field, csv_response};
use chancery_service::{Caller, CertificateDetails, ListRequest, ServiceError};
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
    place: Option<Extension<Arc<Place>>>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let now = door.services.now();
    who.caller.require(Scope::ReadCertificate)?;
    let (account, filter) = asked(&query, &who.caller, now)?;
    let caller = who.caller;
    let token = Secret::new(cookie(&headers, SESSION).unwrap_or_default().to_owned());
    let reader = Arc::new(Reader { door, caller, token, _place: place });
    Ok(csv_response(HEADER, move |CsvAsk { cursor, counts }| {
        let (reader, account, filter) = (reader.clone(), account.clone(), filter.clone());
        async move {
            // The first page is that of the request itself.
            if cursor.is_some() {
                reader.ask_again(counts).await?;
            }
            let request = ListRequest { limit: CSV_PAGE, cursor };
            let page = reader.door.services.certificates.list(&reader.caller, account, filter, &request).await?;
            let rows = page.items.iter().map(|details| row(details, &reader.caller, now)).collect();
            Ok(CsvPage { rows, next: page.next_cursor })
        }
    }))
}

/// Who gets the list, for as long as it takes.
struct Reader {
    door: Door,
    caller: Caller,
    token: Secret,
    /// The place of the request among those of its reseller: it is not over when its answer begins.
    _place: Option<Extension<Arc<Place>>>,
}

impl Reader {
    /// For every page: whoever is signed in must still be, with the same scopes; and so many rows count as a request.
    async fn ask_again(&self, counts: bool) -> Result<(), ServiceError> {
        let session = self.door.services.console.resume(self.token.reveal(), self.caller.origin.clone()).await?;
        let same = |caller: &Caller| caller.scopes == self.caller.scopes && caller.reseller == self.caller.reseller;
        if !session.is_some_and(|session| session.person.caller().is_some_and(same)) {
            return Err(ServiceError::Internal("the session ended while a list was downloaded".to_owned()));
        }
        match counts {
            true => count_rows(&self.door.services.limits, self.caller.reseller).await,
            false => Ok(()),
        }
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
