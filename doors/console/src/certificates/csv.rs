//! The list for a spreadsheet (RFC 4180), streamed page by page.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chancery_domain::{Scope, Timestamp};
use chancery_http::Door;
use chancery_service::{CertificateDetails, ListRequest, ServiceError};
use futures_util::stream::try_unfold;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use super::list::asked;
use crate::query::Query;
use crate::refused::Refused;
use crate::session::SignedIn;

const HEADER: &str =
    "lookup,status,names,customer,profile,serial,issuer,notBefore,notAfter,revokedAt,order,createdAt\r\n";
const PAGE: u32 = 1000;

enum Next {
    Header,
    Page(Option<String>),
    Done,
}

pub(crate) async fn download(
    State(door): State<Door>,
    who: SignedIn,
    Query(query): Query,
) -> Result<Response, Refused> {
    let now = door.services.now();
    who.caller.require(Scope::ReadCertificate)?;
    let (account, filter) = asked(&query, now);
    let caller = who.caller;
    let pages = try_unfold(Next::Header, move |next| {
        let (door, caller, account, filter) = (door.clone(), caller.clone(), account.clone(), filter.clone());
        async move {
            let cursor = match next {
                Next::Header => return Ok(Some((HEADER.to_owned(), Next::Page(None)))),
                Next::Page(cursor) => cursor,
                Next::Done => return Ok::<_, ServiceError>(None),
            };
            let request = ListRequest { limit: PAGE, cursor };
            let page = door.services.certificates.list(&caller, account, filter, &request).await?;
            let rows: String = page.items.iter().map(|details| row(details, now)).collect();
            Ok(Some((rows, page.next_cursor.map_or(Next::Done, |cursor| Next::Page(Some(cursor))))))
        }
    });
    let headers =
        [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, "attachment; filename=certificates.csv")];
    Ok((headers, Body::from_stream(pages)).into_response())
}

fn row(details: &CertificateDetails, now: Timestamp) -> String {
    let CertificateDetails { certificate, issuer } = details;
    let issued = certificate.issued();
    let names: Vec<_> = certificate.identifiers.iter().map(ToString::to_string).collect();
    let fields = [
        certificate.id.to_string(),
        certificate.status(now).as_str().to_owned(),
        names.join(" "),
        certificate.email.to_string(),
        certificate.profile.to_string(),
        issued.map(|issued| issued.serial.clone()).unwrap_or_default(),
        issuer.clone().unwrap_or_default(),
        issued.map(|issued| issued.not_before.to_string()).unwrap_or_default(),
        issued.map(|issued| issued.not_after.to_string()).unwrap_or_default(),
        certificate.revocation().map(|revocation| revocation.at.to_string()).unwrap_or_default(),
        certificate.order.to_string(),
        certificate.created_at.to_string(),
    ];
    fields.map(|field| quoted(&field)).join(",") + "\r\n"
}

/// A spreadsheet takes what begins like a formula for one; it is told that this is text.
fn quoted(field: &str) -> String {
    let field = match field.starts_with(['=', '+', '-', '@', '\t']) {
        true => format!("'{field}"),
        false => field.to_owned(),
    };
    if field.contains([',', '"', '\r', '\n']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_text_and_stays_one_field() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=cmd()@example.com"), "'=cmd()@example.com");
    }
}
