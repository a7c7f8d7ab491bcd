//! What the operator brings back: certificates that the database knows nothing of, and revocations that it has forgotten.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{Comment, Revocation, RevocationReason, Timestamp};
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
    /// Entries with serial numbers that were never drawn here, or that others have, which are left out.
    pub strange: u64,
    /// Whether it had a greater number than the last that was known, which the next one goes beyond.
    pub is_newer: bool,
    /// CAs that could not be revoked, and why.
    pub failed: Vec<String>,
}

/// Numbers of lists are milliseconds, and ahead of the time where a clock once was. One that is further ahead is nobody's list, and
/// would leave no numbers for those to come.
const MOST_AHEAD: Duration = Duration::from_secs(10 * 366 * 86_400);

impl Operator {
    /// Keeps the certificates that a CA of ours has signed and the database knows nothing of, up to [`MANY`], all in one unit
    /// of work; what came of each, in the same order.
    pub async fn recover(&self, certificates: Vec<Certificate>) -> Result<Vec<Brought>, ServiceError> {
        let me = self.clone();
        self.of_each(certificates, Brought::NotTaken, move |tx, cas, row| me.recover_one(tx, cas, row)).await
    }

    /// Revokes the certificates, up to [`MANY`], whether the database knows them or not, in one unit of work; what came of
    /// each, in the same order.
    pub async fn revoke_brought(
        &self,
        certificates: Vec<Certificate>,
        reason: RevocationReason,
        comment: Option<Comment>,
    ) -> Result<Vec<Fate>, ServiceError> {
        let me = self.clone();
        let revoke = move |tx: &mut Tx<'_>, cas: &OurCas, row: &RecoveredRow| {
            me.revoke_one_brought(tx, cas, row, reason, comment.clone())
        };
        self.of_each(certificates, Fate::NotTaken, revoke).await
    }

    /// Does something to each certificate that is to be answered for, all in one unit of work; the others are told as such.
    async fn of_each<T: Send + 'static>(
        &self,
        certificates: Vec<Certificate>,
        not_taken: fn(NotTaken) -> T,
        take: impl Fn(&mut Tx<'_>, &OurCas, &RecoveredRow) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<Vec<T>, ServiceError> {
        debug_assert!(certificates.len() <= MANY, "the caller has cut them into pieces");
        let cas = self.our_cas().await?;
        // Signatures take their time, for which nobody else is to wait.
        let rows: Vec<_> = certificates.iter().map(|certificate| cas.recognise(&self.kernel, certificate)).collect();
        let unit = move |tx: &mut Tx<'_>| {
            let each = |row: &Result<RecoveredRow, NotTaken>| match row {
                Ok(row) => take(tx, &cas, row),
                Err(why) => Ok(not_taken(*why)),
            };
            rows.iter().map(each).collect()
        };
        self.kernel.store.write(unit).await
    }

    /// Repeats what a list tells, if a CA of ours has signed it. Revocations keep their times.
    pub async fn recover_list(&self, list: KeptCrl) -> Result<Option<BroughtList>, ServiceError> {
        let cas = Arc::new(self.our_cas().await?);
        let Some(signer) = cas.signer_of_list(&list) else { return Ok(None) };
        let strange = u64::try_from(list.strange).unwrap_or(u64::MAX);
        let mut brought = BroughtList { issuer: signer.name.clone(), strange, ..BroughtList::default() };
        let mut cas_listed = Vec::new();
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
                    Repeated::Forged => brought.strange += 1,
                    Repeated::Ca(ca) => cas_listed.push(ca),
                }
            }
        }
        // Last, for one that cannot be revoked keeps nothing else from it.
        for ca in cas_listed {
            self.repeat_for_ca(ca, &mut brought).await;
        }
        let number = list.number.filter(|number| *number < self.kernel.now().plus(MOST_AHEAD).as_millis());
        if let (Some(number), Some(name)) = (number, recovery::named_list(signer, &list.addresses)) {
            let (issuer, shard) = (signer.id, name.column());
            let pass = move |tx: &mut Tx<'_>| tx.pass_crl_number(issuer, shard, number);
            brought.is_newer = self.kernel.store.write(pass).await?;
        }
        Ok(Some(brought))
    }

    async fn our_cas(&self) -> Result<OurCas, ServiceError> {
        OurCas::read(self.kernel.store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await?)
    }

    fn recover_one(&self, tx: &mut Tx<'_>, cas: &OurCas, row: &RecoveredRow) -> Result<Brought, ServiceError> {
        let is_over = recovery::is_over(&self.kernel, row);
        match cas.known(tx, row)? {
            Some(Known::Forged) => Ok(Brought::NotTaken(NotTaken::StrangeSerial)),
            // What only a list told of is completed, also to learn that it need not be on the list any more.
            Some(Known::Recovered(before)) if before.found.is_none() => {
                recovery::keep(&self.kernel, tx, (&self.as_actor(), &self.origin), row)?;
                Ok(if is_over { Brought::Expired } else { Brought::Recovered })
            }
            Some(_) => Ok(Brought::Known),
            None if is_over => Ok(Brought::Expired),
            None => match recovery::keep(&self.kernel, tx, (&self.as_actor(), &self.origin), row)? {
                true => Ok(Brought::Recovered),
                false => Ok(Brought::Known),
            },
        }
    }

    fn revoke_one_brought(
        &self,
        tx: &mut Tx<'_>,
        cas: &OurCas,
        row: &RecoveredRow,
        reason: RevocationReason,
        comment: Option<Comment>,
    ) -> Result<Fate, ServiceError> {
        // A chain has CAs in it, which are not to be revoked along with a certificate.
        if recovery::is_of_ca(row) {
            return Ok(Fate::Ca);
        }
        let (actor, known) = (self.as_actor(), cas.known(tx, row)?);
        let by = (&actor, &self.origin);
        match known {
            Some(Known::Forged) => return Ok(Fate::NotTaken(NotTaken::StrangeSerial)),
            Some(Known::Ca(_)) => return Ok(Fate::Ca),
            None if recovery::is_over(&self.kernel, row) => {
                let revocation = Revocation { at: self.kernel.now(), reason, comment: comment.map(Into::into) };
                recovery::blame_expired(&self.kernel, tx, by, row, &revocation)?;
                return Ok(Fate::NothingToRevoke);
            }
            None | Some(Known::Recovered(_)) => drop(recovery::keep(&self.kernel, tx, by, row)?),
            Some(Known::Certificate(_) | Known::Precertificate) => {}
        }
        self.revoke_one(tx, &row.serial, reason, comment)
    }

    /// Repeats the revocation of one certificate.
    fn repeat(&self, tx: &mut Tx<'_>, cas: &OurCas, row: &RecoveredRow) -> Result<Repeated, ServiceError> {
        let Some((at, reason)) = row.revoked else {
            return Err(ServiceError::internal("an entry that is not revoked"));
        };
        let (actor, revocation) = (self.as_actor(), Revocation { at, reason, comment: None });
        let by = (&actor, &self.origin);
        match cas.known(tx, row)? {
            Some(Known::Forged) => return Ok(Repeated::Forged),
            Some(Known::Ca(ca)) if ca.revocation.is_some() => return Ok(Repeated::Already),
            Some(Known::Ca(ca)) => {
                return Ok(Repeated::Ca(CaEntry { id: ca.id.to_string(), name: ca.name, at, reason }));
            }
            Some(Known::Certificate(known)) => {
                return Ok(match certificates::revoke(&self.kernel, tx, by, *known, revocation)? {
                    Revoking::Done(_) => Repeated::Revoked,
                    Revoking::Already(_) => Repeated::Already,
                    Revoking::Nothing { .. } => Repeated::Expired,
                });
            }
            // Another may have brought it in this very moment, and then it is there and not revoked.
            None if recovery::keep(&self.kernel, tx, by, row)? => return Ok(Repeated::Recovered),
            Some(Known::Precertificate | Known::Recovered(_)) | None => {}
        }
        Ok(match recovery::revoke(&self.kernel, tx, by, &row.serial, &revocation)? {
            Some((_, UnorderedFate::Revoked)) => Repeated::Revoked,
            Some((_, UnorderedFate::Expired)) => Repeated::Expired,
            // A list has said so before.
            Some((_, UnorderedFate::Already | UnorderedFate::Unreasoned)) | None => Repeated::Already,
        })
    }

    /// Repeats the revocation of a CA, which is a unit of work by itself.
    async fn repeat_for_ca(&self, entry: CaEntry, brought: &mut BroughtList) {
        match self.revoke_issuer_at(&entry.id, entry.reason, entry.at).await {
            Ok(done) if done.already => brought.already += 1,
            Ok(_) => brought.revoked += 1,
            Err(error) => brought.failed.push(format!("{}: {error}", entry.name)),
        }
    }
}

/// What came of an entry.
enum Repeated {
    Revoked,
    Recovered,
    Already,
    Expired,
    /// Another certificate has its serial number.
    Forged,
    /// It is about a CA, and is still to be repeated.
    Ca(CaEntry),
}

struct CaEntry {
    id: String,
    name: String,
    at: Timestamp,
    reason: RevocationReason,
}
