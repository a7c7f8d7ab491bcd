//! The list of certificates as CSV (RFC 4180): streamed page by page, however long it is.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use chancery_domain::Timestamp;
use chancery_http::{Door, csv_field};
use chancery_service::{Caller, ListRequest, ServiceError};
use chancery_wire as wire;
use futures_util::stream::try_unfold;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use crate::certificate::{Asked, metadata};

const HEADER: &str = "lookup,orderLookup,accountLookup,eabKid,customerEmail,profile,status,names,serialNumber,subject,\
issuer,keyType,notBefore,notAfter,sha256Fingerprint,revokedAt,revocationReason,requestedVia,createdAt,updatedAt\r\n";
/// Rows that are read at a time.
const PAGE: u32 = 1000;

enum Next {
    Header,
    Page(Option<String>),
    Done,
}

/// Every certificate that was asked for. A list that breaks off in the middle ends the connection, so that nobody takes
/// a part of it for the whole.
pub(crate) fn stream(door: Door, caller: Caller, asked: Option<Asked>, now: Timestamp) -> Response {
    let pages = try_unfold(Next::Header, move |next| {
        let (door, caller, asked) = (door.clone(), caller.clone(), asked.clone());
        async move {
            let cursor = match next {
                Next::Header => return Ok(Some((HEADER.to_owned(), Next::Page(None)))),
                Next::Page(cursor) => cursor,
                Next::Done => return Ok(None),
            };
            let Some((account, filter)) = asked else { return Ok::<_, ServiceError>(None) };
            let request = ListRequest { limit: PAGE, cursor };
            let page = door.services.certificates.list(&caller, account, filter, &request).await?;
            let rows: String = page.items.iter().map(|details| row(&metadata(details, now))).collect();
            let next = page.next_cursor.map_or(Next::Done, |cursor| Next::Page(Some(cursor)));
            Ok(Some((rows, next)))
        }
    });
    let headers =
        [(CONTENT_TYPE, "text/csv; charset=utf-8"), (CONTENT_DISPOSITION, "attachment; filename=certificates.csv")];
    (headers, Body::from_stream(pages)).into_response()
}

fn row(of: &wire::CertificateMetadata) -> String {
    let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
    let fields = [
        of.lookup.clone(),
        of.order_lookup.clone(),
        of.account_lookup.clone(),
        of.eab_kid.clone(),
        of.customer_email.clone(),
        of.profile.clone(),
        of.status.clone(),
        of.names.join(" "),
        or_empty(&of.serial_number),
        or_empty(&of.subject),
        or_empty(&of.issuer),
        or_empty(&of.key_type),
        or_empty(&of.not_before),
        or_empty(&of.not_after),
        or_empty(&of.sha256_fingerprint),
        or_empty(&of.revoked_at),
        or_empty(&of.revocation_reason),
        of.requested_via.clone(),
        of.created_at.clone(),
        of.updated_at.clone(),
    ];
    fields.map(|field| csv_field(&field)).join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_like_a_formula_is_told_to_be_text() {
        let customer_email = "=cmd()@example.com".to_owned();
        let told = row(&wire::CertificateMetadata { customer_email, ..wire::CertificateMetadata::default() });
        assert!(told.contains(",'=cmd()@example.com,"), "{told}");
    }

    #[test]
    fn every_row_has_as_many_fields_as_the_header() {
        let empty = wire::CertificateMetadata::default();
        assert_eq!(row(&empty).matches(',').count(), HEADER.matches(',').count());
    }
}
