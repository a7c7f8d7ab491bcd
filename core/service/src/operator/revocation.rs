use chancery_domain::{CertificateId, CertificateRecord, OrderId, Problems, RevocationReason};
use chancery_store::Tx;
use serde_json::json;

use super::Operator;
use crate::certificates::{Revoking, revoke, why_nothing};
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
    /// The serial number of what only logs were shown, where that is what was revoked: the certificate of its order, if it
    /// has one, has another.
    pub precertificate: Option<String>,
}

/// As many as one unit of work revokes: others wait no longer for it than for a large order.
pub const MANY: usize = 200;

/// What came of one serial number among many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Revoked,
    /// It was revoked before, and stays as it was.
    Already,
    Unknown,
    /// It has expired, or was never issued.
    NothingToRevoke,
}

impl Operator {
    /// Revokes the certificates with these serial numbers, up to [`MANY`], all in one unit of work; what came of each, in
    /// the same order. One that cannot be revoked keeps no other from it.
    pub async fn revoke_many(
        &self,
        serials: Vec<String>,
        reason: RevocationReason,
        comment: Option<String>,
    ) -> Result<Vec<Fate>, ServiceError> {
        debug_assert!(serials.len() <= MANY, "the caller has cut them into pieces");
        let me = self.clone();
        let unit = move |tx: &mut Tx<'_>| {
            serials.iter().map(|serial| me.revoke_one(tx, serial, reason, comment.clone())).collect()
        };
        self.kernel.store.write(unit).await
    }

    fn revoke_one(
        &self,
        tx: &mut Tx<'_>,
        serial: &str,
        reason: RevocationReason,
        comment: Option<String>,
    ) -> Result<Fate, ServiceError> {
        let Some(certificate) = tx.certificate_by_serial(serial)? else {
            return Ok(match self.revoke_precertificate(tx, serial, reason)? {
                Some((_, true)) => Fate::Revoked,
                Some((_, false)) => Fate::Already,
                None => Fate::Unknown,
            });
        };
        Ok(match revoke(&self.kernel, tx, (&self.as_actor(), &self.origin), certificate, reason, comment)? {
            Revoking::Done(_) => Fate::Revoked,
            Revoking::Already(_) => Fate::Already,
            Revoking::Nothing { .. } => Fate::NothingToRevoke,
        })
    }

    /// Revokes a certificate of any reseller, as its reseller could. That its key is compromised is believed of one that has
    /// expired, too.
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
                let certificate = match find(tx, &which) {
                    Err(gone @ ServiceError::NotFound(..)) => {
                        return me.revoke_what_was_shown(tx, &which, reason, gone);
                    }
                    found => found?,
                };
                let by = (&me.as_actor(), &me.origin);
                Ok::<_, ServiceError>(match revoke(&me.kernel, tx, by, certificate, reason, comment.clone())? {
                    Revoking::Done(certificate) => {
                        Ok(OperatorRevocation { certificate, already: false, precertificate: None })
                    }
                    Revoking::Already(certificate) => {
                        Ok(OperatorRevocation { certificate, already: true, precertificate: None })
                    }
                    Revoking::Nothing { certificate, key_is_blocked } => {
                        Err(nothing_to_revoke(&certificate, key_is_blocked))
                    }
                })
            })
            // A refusal does not undo the unit: a key that was blocked stays so.
            .await?
    }
}

impl Operator {
    /// What was signed for logs under a serial number that no certificate has.
    fn revoke_what_was_shown(
        &self,
        tx: &mut Tx<'_>,
        which: &CertificateRef,
        reason: RevocationReason,
        gone: ServiceError,
    ) -> Result<Result<OperatorRevocation, ServiceError>, ServiceError> {
        let CertificateRef::Serial(serial) = which else { return Err(gone) };
        let Some((certificate, new)) = self.revoke_precertificate(tx, serial, reason)? else { return Err(gone) };
        // It is revoked also where nothing is left of what it was to be.
        let certificate = tx.any_certificate(certificate)?;
        let precertificate = Some(serial.clone());
        let revoked = |certificate| OperatorRevocation { certificate, already: !new, precertificate };
        Ok(certificate.map(revoked).ok_or(gone))
    }

    /// The certificate that was to come of it, and whether its revocation is new; none where there is none.
    fn revoke_precertificate(
        &self,
        tx: &mut Tx<'_>,
        serial: &str,
        reason: RevocationReason,
    ) -> Result<Option<(CertificateId, bool)>, ServiceError> {
        let Some(shown) = tx.precertificate(serial)? else { return Ok(None) };
        let now = self.kernel.now();
        let new = tx.revoke_precertificate(serial, reason, now)?;
        let blocked = match reason {
            RevocationReason::KeyCompromise => tx.block_key(&shown.key_hash, reason.as_str(), now)?,
            _ => false,
        };
        if new || blocked {
            let detail = json!({"serial": serial, "reason": reason.as_str()});
            self.record(tx, Some(shown.reseller), "precertificate.revoke", shown.order, &detail)?;
        }
        Ok(Some((shown.certificate, new)))
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

fn nothing_to_revoke(certificate: &CertificateRecord, key_is_blocked: bool) -> ServiceError {
    let mut problems = Problems::default();
    problems.add(
        "certificate",
        "not_issued",
        format!("there is nothing to revoke: {}", why_nothing(certificate, key_is_blocked)),
    );
    ServiceError::Invalid(problems)
}
