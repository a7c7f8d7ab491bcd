use chancery_domain::{CertificateId, CertificateRecord, Comment, OrderId, Revocation, RevocationReason};
use chancery_store::Tx;

use super::Operator;
use super::issuer_revocation::require_reason;
use crate::certificates::{Revoking, revoke, why_nothing};
use crate::error::{Noun, ServiceError};
use crate::recovery::{self, NotTaken, Unordered, UnorderedFate};

/// A certificate as the operator names it, whosesoever it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateRef {
    /// Its serial number in lower-case hexadecimal.
    Serial(String),
    Certificate(CertificateId),
    Order(OrderId),
}

/// What is revoked, and whether that is new.
#[derive(Clone, Debug)]
pub struct OperatorRevocation {
    pub what: RevokedWhat,
    pub already: bool,
}

#[derive(Clone, Debug)]
pub enum RevokedWhat {
    Certificate(CertificateRecord),
    /// What only logs were shown. The certificate of its order, if there still is one, has another serial number.
    Precertificate {
        serial: String,
        certificate: Option<CertificateRecord>,
    },
    /// What was brought back, and belongs to nobody.
    Recovered {
        serial: String,
        names: Vec<String>,
        revocation: Option<Revocation>,
    },
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
    /// It is that of a CA, which is revoked in another way.
    Ca,
    /// It was brought, and is none that we answer for.
    NotTaken(NotTaken),
}

impl Operator {
    /// Revokes the certificates with these serial numbers, up to [`MANY`], all in one unit of work; what came of each, in
    /// the same order. One that cannot be revoked keeps no other from it.
    pub async fn revoke_many(
        &self,
        serials: Vec<String>,
        reason: RevocationReason,
        comment: Option<Comment>,
    ) -> Result<Vec<Fate>, ServiceError> {
        debug_assert!(serials.len() <= MANY, "the caller has cut them into pieces");
        let me = self.clone();
        let unit = move |tx: &mut Tx<'_>| {
            serials.iter().map(|serial| me.revoke_one(tx, serial, reason, comment.clone())).collect()
        };
        self.kernel.store.write(unit).await
    }

    pub(super) fn revoke_one(
        &self,
        tx: &mut Tx<'_>,
        serial: &str,
        reason: RevocationReason,
        comment: Option<Comment>,
    ) -> Result<Fate, ServiceError> {
        let (actor, revocation) =
            (self.as_actor(), Revocation { at: self.kernel.now(), reason, comment: comment.map(Into::into) });
        let by = (&actor, &self.origin);
        if let Some(certificate) = tx.certificate_by_serial(serial)?.filter(|known| !known.is_cancelled()) {
            return Ok(match revoke(&self.kernel, tx, by, certificate, revocation)? {
                Revoking::Done(_) => Fate::Revoked,
                Revoking::Already(_) => Fate::Already,
                Revoking::Nothing { .. } => Fate::NothingToRevoke,
            });
        }
        Ok(match recovery::revoke(&self.kernel, tx, by, serial, &revocation)? {
            Some((_, UnorderedFate::Revoked)) => Fate::Revoked,
            Some((_, UnorderedFate::Already)) => Fate::Already,
            Some((_, UnorderedFate::Expired)) => Fate::NothingToRevoke,
            Some((_, UnorderedFate::Unreasoned)) => Fate::Ca,
            None if tx.certificate_by_serial(serial)?.is_some() => Fate::NothingToRevoke,
            None => Fate::Unknown,
        })
    }

    /// Revokes a certificate of any reseller, as its reseller could. That its key is compromised is believed of one that has
    /// expired, too.
    pub async fn revoke(
        &self,
        which: CertificateRef,
        reason: RevocationReason,
        comment: Option<Comment>,
    ) -> Result<OperatorRevocation, ServiceError> {
        let me = self.clone();
        self.kernel
            .store
            .write(move |tx| {
                let revocation = Revocation { at: me.kernel.now(), reason, comment: comment.clone().map(Into::into) };
                let found = find(tx, &which);
                if let CertificateRef::Serial(serial) = &which
                    && found.as_ref().map_or(true, CertificateRecord::is_cancelled)
                    && let Some(done) = me.revoke_without_order(tx, serial, &revocation)?
                {
                    return Ok(done);
                }
                let by = (&me.as_actor(), &me.origin);
                let revoked = |certificate, already| {
                    let what = RevokedWhat::Certificate(certificate);
                    Ok(OperatorRevocation { what, already })
                };
                Ok::<_, ServiceError>(match revoke(&me.kernel, tx, by, found?, revocation)? {
                    Revoking::Done(certificate) => revoked(certificate, false),
                    Revoking::Already(certificate) => revoked(certificate, true),
                    Revoking::Nothing { certificate, key_is_blocked } => {
                        Err(nothing_to_revoke(&why_nothing(&certificate, key_is_blocked, me.kernel.now())))
                    }
                })
            })
            // A refusal does not undo the unit: a key that was blocked stays so.
            .await?
    }

    /// What has a serial number that no certificate of an order has; none where that is nothing.
    fn revoke_without_order(
        &self,
        tx: &mut Tx<'_>,
        serial: &str,
        revocation: &Revocation,
    ) -> Result<Option<Result<OperatorRevocation, ServiceError>>, ServiceError> {
        let by = (&self.as_actor(), &self.origin);
        let Some((what, fate)) = recovery::revoke(&self.kernel, tx, by, serial, revocation)? else { return Ok(None) };
        if fate == UnorderedFate::Unreasoned {
            return Ok(Some(
                require_reason(revocation.reason).and(Err(ServiceError::internal("a CA without a reason"))),
            ));
        }
        let serial = serial.to_owned();
        let what = match what {
            Unordered::Recovered(row) if fate == UnorderedFate::Expired => {
                return Ok(Some(Err(nothing_to_revoke(&format!("it ended at {}", row.not_after)))));
            }
            Unordered::Recovered(row) => {
                let names = row.found.map(|found| recovery::names_of(&found.der)).unwrap_or_default();
                let revoked = tx.recovered(&serial)?.and_then(|row| row.revoked);
                let revocation = revoked.map(|(at, reason)| Revocation { at, reason, comment: None });
                RevokedWhat::Recovered { serial, names, revocation }
            }
            Unordered::Precertificate(shown) => {
                RevokedWhat::Precertificate { serial, certificate: tx.any_certificate(shown.certificate)? }
            }
        };
        Ok(Some(Ok(OperatorRevocation { what, already: fate == UnorderedFate::Already })))
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

fn nothing_to_revoke(why: &str) -> ServiceError {
    ServiceError::invalid("certificate", "not_issued", format!("there is nothing to revoke: {why}"))
}
