//! The list for a spreadsheet (RFC 4180), streamed page by page.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chancery_domain::{Scope, Secret, Timestamp};
use chancery_http::{Door, Place, csv_field};
use chancery_service::{Caller, CertificateDetails, Limit, ListRequest, ServiceError};
use futures_util::stream::try_unfold;
use http::HeaderMap;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use super::list::asked;
use crate::query::Query;
use crate::refused::Refused;
use crate::session::{SESSION, SignedIn, cookie};

const HEADER: &str =
    "lookup,status,names,customer,profile,serial,issuer,notBefore,notAfter,revokedAt,order,createdAt\r\n";
const PAGE: u32 = 1000;
/// How often a page waits for the request rate before the list is given up.
const MOST_WAITS: u32 = 60;

enum Next {
    Header,
    Page(Option<String>),
    Done,
}

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
    let writer = Arc::new(Writer { door, caller, token, _place: place });
    let pages = try_unfold(Next::Header, move |next| {
        let (writer, account, filter) = (writer.clone(), account.clone(), filter.clone());
        async move {
            let cursor = match next {
                Next::Header => return Ok(Some((HEADER.to_owned(), Next::Page(None)))),
                Next::Page(cursor) => cursor,
                Next::Done => return Ok::<_, ServiceError>(None),
            };
            // The first page is that of the request itself.
            if cursor.is_some() {
                writer.ask_again().await?;
            }
            let request = ListRequest { limit: PAGE, cursor };
            let page = writer.door.services.certificates.list(&writer.caller, account, filter, &request).await?;
            let rows: String = page.items.iter().map(|details| row(details, &writer.caller, now)).collect();
            Ok(Some((rows, page.next_cursor.map_or(Next::Done, |cursor| Next::Page(Some(cursor))))))
        }
    });
    let headers =
        [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, "attachment; filename=certificates.csv")];
    Ok((headers, Body::from_stream(pages)).into_response())
}

/// Who gets the list, for as long as it takes.
struct Writer {
    door: Door,
    caller: Caller,
    token: Secret,
    /// The place of the request among those of its reseller: it is not over when its answer begins.
    _place: Option<Extension<Arc<Place>>>,
}

impl Writer {
    /// Every page is as good as a request of its own: whoever is signed in must still be, with the same scopes, and it
    /// counts. Where there were too many it waits, since a list that breaks off is of no use to anybody.
    async fn ask_again(&self) -> Result<(), ServiceError> {
        let session = self.door.services.console.resume(self.token.reveal(), self.caller.origin.clone()).await?;
        let same = |caller: &Caller| caller.scopes == self.caller.scopes && caller.reseller == self.caller.reseller;
        if !session.is_some_and(|session| session.person.caller().is_some_and(same)) {
            return Err(ServiceError::Internal("the session ended while a list was downloaded".to_owned()));
        }
        for _ in 0..MOST_WAITS {
            let decision = self.door.services.limits.take(Limit::Requests, &self.caller.reseller.to_string()).await;
            match decision.filter(|decision| !decision.allowed()) {
                None => return Ok(()),
                Some(refused) => {
                    let seconds = refused.retry_seconds().unwrap_or(1).clamp(1, 5);
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                }
            }
        }
        Err(ServiceError::Internal("a list was downloaded faster than the request rate allows".to_owned()))
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
