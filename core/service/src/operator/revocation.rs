use chancery_domain::{CertificateId, CertificateRecord, OrderId, Problems, RevocationReason};
use chancery_store::Tx;

use super::Operator;
use crate::certificates::{revocation_detail, revoke};
use crate::error::{Noun, ServiceError};

/// A certificate as the operator names it, whosesoever it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateRef {
    /// Its serial number in lower-case hexadecimal.
    Serial(String),
    Certificate(CertificateId),
    Order(OrderId),
}

/// A certificate that is revoked, and whether that is new.
#[derive(Clone, Debug)]
pub struct OperatorRevocation {
    pub certificate: CertificateRecord,
    pub already: bool,
}

impl Operator {
    /// Revokes a certificate of any reseller, as its reseller could.
    pub async fn revoke(
        &self,
        which: CertificateRef,
        reason: RevocationReason,
        comment: Option<String>,
    ) -> Result<OperatorRevocation, ServiceError> {
        let me = self.clone();
        self.kernel
            .store
            .write(move |tx| {
                let certificate = find(tx, &which)?;
                if certificate.revocation().is_some() {
                    return Ok(OperatorRevocation { certificate, already: true });
                }
                let revoked = revoke(&me.kernel, tx, certificate, reason, comment.clone())?;
                let revoked = revoked.ok_or_else(nothing_to_revoke)?;
                me.record(tx, Some(revoked.reseller), "certificate.revoke", revoked.id, &revocation_detail(&revoked))?;
                Ok(OperatorRevocation { certificate: revoked, already: false })
            })
            .await
    }
}

fn find(tx: &mut Tx<'_>, which: &CertificateRef) -> Result<CertificateRecord, ServiceError> {
    let (found, name) = match which {
        CertificateRef::Serial(serial) => (tx.certificate_by_serial(serial)?, serial.clone()),
        CertificateRef::Certificate(id) => (tx.any_certificate(*id)?, id.to_string()),
        CertificateRef::Order(id) => (tx.certificate_of_order(*id)?, format!("of the order {id}")),
    };
    found.ok_or_else(|| ServiceError::NotFound(Noun::Certificate, vec![name]))
}

fn nothing_to_revoke() -> ServiceError {
    let mut problems = Problems::default();
    problems.add("certificate", "not_issued", "the certificate is not issued yet, never will be, or has expired");
    ServiceError::Invalid(problems)
}
