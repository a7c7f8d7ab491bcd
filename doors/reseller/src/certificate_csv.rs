//! The list of certificates as CSV (RFC 4180): streamed page by page, however long it is.

use axum::response::Response;
use chancery_domain::{Secret, Timestamp};
use chancery_http::{CsvFilter, CsvReader, Shown, csv_field};
use chancery_service::identity::AuthError;
use chancery_service::{Caller, Origin, ServiceError, Services};
use chancery_wire as wire;

use crate::certificate::metadata;

const HEADER: &str = "lookup,orderLookup,accountLookup,eabKid,customerEmail,profile,status,names,serialNumber,subject,\
issuer,keyType,notBefore,notAfter,sha256Fingerprint,revokedAt,revocationReason,requestedVia,createdAt,updatedAt\r\n";

/// A token, or an API key, as it was sent.
pub(crate) struct Authorization(pub(crate) Secret);

impl Shown for Authorization {
    async fn caller(&self, services: &Services, origin: Origin) -> Result<Caller, ServiceError> {
        services.identity.authenticate(Some(self.0.reveal()), origin).await.map_err(|error| match error {
            AuthError::Service(error) => error,
            shut_out => ServiceError::Internal(shut_out.to_string()),
        })
    }
}

/// Every certificate that was asked for.
pub(crate) fn answer(
    reader: CsvReader<Authorization>,
    asked: Option<CsvFilter>,
    now: Timestamp,
) -> Result<Response, ServiceError> {
    reader.certificates(asked, HEADER, move |details, _| row(&metadata(details, now)))
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
