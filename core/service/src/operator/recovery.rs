//! What the operator brings back: certificates that the database knows nothing of, and revocations that it has forgotten.

use std::sync::Arc;

use chancery_domain::{Revocation, RevocationReason, Timestamp};
use chancery_pki::{Certificate, KeptCrl};
use chancery_store::{RecoveredRow, Tx};

use super::{Fate, MANY, Operator};
use crate::certificates::{self, Revoking};
use crate::error::ServiceError;
use crate::recovery::{self, Known, NotTaken, OurCas, UnorderedFate};

/// What came of a certificate that was brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    /// It is answered for from now on.
    Recovered,
    /// It was known before.
    Known,
    /// It has expired, and nobody asks about it any more.
    Expired,
    NotTaken(NotTaken),
}

/// What came of a revocation list that was brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BroughtList {
    /// The CA that has signed it.
    pub issuer: String,
    /// Certificates that were known, and good until now; CAs for the list of a root.
    pub revoked: u64,
    /// Certificates that nothing was known of.
    pub recovered: u64,
    pub already: u64,
    pub expired: u64,
    /// Entries with serial numbers that were never drawn here, which are left out.
    pub strange: u64,
    /// Whether it had a greater number than the last that was known, which the next one goes beyond.
    pub is_newer: bool,
}

impl Operator {
    /// Keeps the certificates that a CA of ours has signed and the database knows nothing of, up to [`MANY`], all in one unit
    /// of work; what came of each, in the same order.
    pub async fn recover(&self, certificates: Vec<Certificate>) -> Result<Vec<Brought>, ServiceError> {
        let cas = self.our_cas().await?;
        let rows = self.recognised(&cas, &certificates);
        let me = self.clone();
        let unit = move |tx: &mut Tx<'_>| {
            rows.iter()
                .map(|row| match row {
                    Ok(row) => me.recover_one(tx, &cas, row),
                    Err(why) => Ok(Brought::NotTaken(*why)),
                })
                .collect()
        };
        self.kernel.store.write(unit).await
    }

    /// Revokes the certificates, up to [`MANY`], whether the database knows them or not, in one unit of work; what came of
    /// each, in the same order.
    pub async fn revoke_brought(
        &self,
        certificates: Vec<Certificate>,
        reason: RevocationReason,
        comment: Option<String>,
    ) -> Result<Vec<Fate>, ServiceError> {
        let cas = self.our_cas().await?;
        let rows = self.recognised(&cas, &certificates);
        let me = self.clone();
        let unit = move |tx: &mut Tx<'_>| {
            rows.iter()
                .map(|row| match row {
                    Ok(row) => me.revoke_one_brought(tx, &cas, row, reason, comment.clone()),
                    Err(why) => Ok(Fate::NotTaken(*why)),
                })
                .collect()
        };
        self.kernel.store.write(unit).await
    }

    /// Repeats what a list tells, if a CA of ours has signed it. Revocations keep their times.
    pub async fn recover_list(&self, list: KeptCrl) -> Result<Option<BroughtList>, ServiceError> {
        let cas = Arc::new(self.our_cas().await?);
        let Some(signer) = cas.signer_of_list(&list) else { return Ok(None) };
        let strange = u64::try_from(list.strange).unwrap_or(u64::MAX);
        let mut brought = BroughtList { issuer: signer.name.clone(), strange, ..BroughtList::default() };
        for rows in cas.told_by(&self.kernel, signer, &list).chunks(MANY) {
            let (me, ours, rows) = (self.clone(), cas.clone(), rows.to_vec());
            let unit = move |tx: &mut Tx<'_>| {
                let repeat = |row| me.repeat(tx, &ours, row);
                rows.iter().map(repeat).collect::<Result<Vec<_>, ServiceError>>()
            };
            for repeated in self.kernel.store.write(unit).await? {
                match repeated {
                    Repeated::Revoked => brought.revoked += 1,
                    Repeated::Recovered => brought.recovered += 1,
                    Repeated::Already => brought.already += 1,
                    Repeated::Expired => brought.expired += 1,
                    Repeated::Ca(ca) => self.repeat_for_ca(&ca, &mut brought).await?,
                }
            }
        }
        if let (Some(number), Some(name)) = (list.number, recovery::named_list(signer, &list.addresses)) {
            let (issuer, shard) = (signer.id, name.column());
            let pass = move |tx: &mut Tx<'_>| tx.pass_crl_number(issuer, shard, number);
            brought.is_newer = self.kernel.store.write(pass).await?;
        }
        Ok(Some(brought))
    }

    async fn our_cas(&self) -> Result<OurCas, ServiceError> {
        OurCas::read(self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await?)
    }

    fn recognised(&self, cas: &OurCas, certificates: &[Certificate]) -> Vec<Result<RecoveredRow, NotTaken>> {
        debug_assert!(certificates.len() <= MANY, "the caller has cut them into pieces");
        certificates.iter().map(|certificate| cas.recognise(&self.kernel, certificate)).collect()
    }

    fn recover_one(&self, tx: &mut Tx<'_>, cas: &OurCas, row: &RecoveredRow) -> Result<Brought, ServiceError> {
        if cas.known(tx, &row.serial)?.is_some() {
            return Ok(Brought::Known);
        }
        if row.not_after < self.kernel.now() {
            return Ok(Brought::Expired);
        }
        Ok(match recovery::keep(&self.kernel, tx, (&self.as_actor(), &self.origin), row)? {
            true => Brought::Recovered,
            false => Brought::Known,
        })
    }

    fn revoke_one_brought(
        &self,
        tx: &mut Tx<'_>,
        cas: &OurCas,
        row: &RecoveredRow,
        reason: RevocationReason,
        comment: Option<String>,
    ) -> Result<Fate, ServiceError> {
        match cas.known(tx, &row.serial)? {
            Some(Known::Ca(_)) => return Ok(Fate::Ca),
            Some(Known::Certificate(_) | Known::Precertificate) => {}
            None => {
                recovery::keep(&self.kernel, tx, (&self.as_actor(), &self.origin), row)?;
            }
        }
        self.revoke_one(tx, &row.serial, reason, comment)
    }

    /// Repeats the revocation of one certificate.
    fn repeat(&self, tx: &mut Tx<'_>, cas: &OurCas, row: &RecoveredRow) -> Result<Repeated, ServiceError> {
        let Some((at, reason)) = row.revoked else {
            return Err(ServiceError::internal("an entry that is not revoked"));
        };
        let (actor, serial) = (self.as_actor(), row.serial.as_str());
        let by = (&actor, &self.origin);
        let revocation = Revocation { at, reason, comment: None };
        Ok(match cas.known(tx, serial)? {
            Some(Known::Ca(ca)) if ca.revocation.is_some() => Repeated::Already,
            Some(Known::Ca(ca)) => Repeated::Ca(CaEntry { id: ca.id.to_string(), at, reason }),
            Some(Known::Certificate(known)) => match certificates::revoke(&self.kernel, tx, by, *known, revocation)? {
                Revoking::Done(_) => Repeated::Revoked,
                Revoking::Already(_) => Repeated::Already,
                Revoking::Nothing { .. } => Repeated::Expired,
            },
            Some(Known::Precertificate) | None => match recovery::revoke(&self.kernel, tx, by, serial, &revocation)? {
                Some((_, UnorderedFate::Revoked)) => Repeated::Revoked,
                Some((_, UnorderedFate::Already)) => Repeated::Already,
                Some((_, UnorderedFate::Expired)) => Repeated::Expired,
                None => {
                    recovery::keep(&self.kernel, tx, by, row)?;
                    Repeated::Recovered
                }
            },
        })
    }

    /// Repeats the revocation of a CA, which is a unit of work by itself.
    async fn repeat_for_ca(&self, entry: &CaEntry, brought: &mut BroughtList) -> Result<(), ServiceError> {
        let done = self.revoke_issuer_at(&entry.id, entry.reason, entry.at).await?;
        match done.already {
            true => brought.already += 1,
            false => brought.revoked += 1,
        }
        Ok(())
    }
}

/// What came of an entry.
enum Repeated {
    Revoked,
    Recovered,
    Already,
    Expired,
    /// It is about a CA, and is still to be repeated.
    Ca(CaEntry),
}

struct CaEntry {
    id: String,
    at: Timestamp,
    reason: RevocationReason,
}
