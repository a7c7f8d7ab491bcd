//! The list of certificates as CSV (RFC 4180): streamed page by page, however long it is.

use std::sync::Arc;

use axum::response::Response;
use chancery_domain::{Secret, Timestamp};
use chancery_http::{CSV_PAGE, CsvAsk, CsvPage, Door, Place, count_rows, csv_field, csv_response};
use chancery_service::identity::AuthError;
use chancery_service::{Caller, ListRequest, ServiceError};
use chancery_wire as wire;

use crate::certificate::{Asked, metadata};

const HEADER: &str = "lookup,orderLookup,accountLookup,eabKid,customerEmail,profile,status,names,serialNumber,subject,\
issuer,keyType,notBefore,notAfter,sha256Fingerprint,revokedAt,revocationReason,requestedVia,createdAt,updatedAt\r\n";

/// Who gets the list, for as long as it takes.
pub(crate) struct Reader {
    pub(crate) door: Door,
    pub(crate) caller: Caller,
    /// What they have shown who they are with.
    pub(crate) authorization: Secret,
    /// The place of the request among those of its reseller: it is not over when its answer begins.
    pub(crate) _place: Option<Arc<Place>>,
}

/// Every certificate that was asked for.
pub(crate) fn stream(reader: Reader, asked: Option<Asked>, now: Timestamp) -> Response {
    let reader = Arc::new(reader);
    csv_response(HEADER, move |CsvAsk { cursor, counts }| {
        let (reader, asked) = (reader.clone(), asked.clone());
        async move {
            let Some((account, filter)) = asked else { return Ok(CsvPage { rows: Vec::new(), next: None }) };
            // The first page is that of the request itself.
            if cursor.is_some() {
                reader.ask_again(counts).await?;
            }
            let request = ListRequest { limit: CSV_PAGE, cursor };
            let page = reader.door.services.certificates.list(&reader.caller, account, filter, &request).await?;
            let rows = page.items.iter().map(|details| row(&metadata(details, now))).collect();
            Ok(CsvPage { rows, next: page.next_cursor })
        }
    })
}

impl Reader {
    /// For every page: who asked must still be let in, as the same, with the same scopes; and so many rows count as a request.
    async fn ask_again(&self, counts: bool) -> Result<(), ServiceError> {
        let (services, origin) = (&self.door.services, self.caller.origin.clone());
        match services.identity.authenticate(Some(self.authorization.reveal()), origin).await {
            Ok(caller) if caller.reseller == self.caller.reseller && caller.scopes == self.caller.scopes => {}
            Err(AuthError::Service(error)) => return Err(error),
            Ok(_) | Err(_) => {
                return Err(ServiceError::Internal("a caller was shut out while a list was downloaded".to_owned()));
            }
        }
        match counts {
            true => count_rows(&services.limits, self.caller.reseller).await,
            false => Ok(()),
        }
    }
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
