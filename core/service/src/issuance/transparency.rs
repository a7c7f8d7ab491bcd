//! Between the draft and the certificate, where logs are shown what is going to be issued.
//!
//! The draft is that of a precertificate then. It is signed and kept, and only then shown to anybody: from that moment on
//! its serial number is answered for. With what the logs promise the draft becomes that of the certificate, under the same
//! serial number, and is stored before it is signed like any other. A precertificate that no certificate comes of is
//! revoked.

use std::sync::Arc;

use chancery_domain::{Action, OrderId, Timestamp};
use chancery_pki::{CurrentLogs, Draft, LogEntry, LogList, Precertificate, Sct, Validity};
use chancery_store::{DraftRow, OpenPrecertificate, PrecertificateFate, PrecertificateRow, Tx};
use serde_json::json;

use super::draft::AllowedDays;
use super::{Issuance, Next, Work, hex, profiles};
use crate::ca_key::unsigned;
use crate::error::ServiceError;
use crate::fault::{self, Step};
use crate::kernel::Kernel;
use crate::orders::describe_with;
use crate::policies::Decision;
use crate::timed::Timed;

/// Precertificates that are read at a time.
const PAGE: u32 = 200;
/// Those that are ended with one commit: each takes up to three rows.
const ENDED_AT_ONCE: usize = 33;

/// What is to be shown to logs, and what they have to promise.
#[derive(Clone, Debug)]
pub struct LogAssignment {
    pub order: OrderId,
    pub serial: String,
    pub logs: Arc<LogList>,
    pub validity: Validity,
    pub entry: LogEntry,
    /// The precertificate and the CAs above it, in DER, in each of the ways up that there are: a log takes what leads to a
    /// root that it knows.
    pub chains: Vec<Vec<Vec<u8>>>,
    pub signed_at: Timestamp,
}

impl Issuance {
    /// Signs the precertificate and keeps it, or takes up the one that there is.
    pub(super) async fn show(&self, work: Work) -> Result<Next, ServiceError> {
        let (id, serial) = (work.order.id, work.draft.serial().to_string());
        let Some(logs) = profiles(&self.kernel, &work.order)?.1.logs.as_ref().map(CurrentLogs::now) else {
            return Err(ServiceError::internal("a draft for logs, of a profile that has none"));
        };
        let asked = serial.clone();
        let known = self.store().read(move |tx| tx.precertificate(&asked)).await?;
        let (validity, signing) = (work.draft.validity(), work.signing.clone());
        let entry = work.draft.log_entry(&signing.issuer).map_err(ServiceError::internal)?;
        let kept = match known {
            Some(known) => Some(known),
            None => self.sign_and_keep_precertificate(work, serial.clone()).await?,
        };
        let Some(PrecertificateRow { der, signed_at, .. }) = kept else { return Ok(Next::Done) };
        let above = signing.chains.all(self.kernel.now());
        let chains = above.map(|above| std::iter::once(der.clone()).chain(above.ders()).collect()).collect();
        Ok(Next::ShowLogs(Box::new(LogAssignment { order: id, serial, logs, validity, entry, chains, signed_at })))
    }

    /// None where the order has come to another end.
    async fn sign_and_keep_precertificate(
        &self,
        work: Work,
        serial: String,
    ) -> Result<Option<PrecertificateRow>, ServiceError> {
        let id = work.order.id;
        let (work, signed) = self.sign_where_it_is(work, Self::sign_precertificate).await?;
        let signed = match signed {
            Ok(signed) => signed,
            Err(away @ ServiceError::Signer(_)) => return Err(away),
            Err(reason) => return self.unsignable(id, &reason).await.map(|()| None),
        };
        fault::reached(Step::PrecertificateSigned);
        let evaluation = self.evaluation(&work.order, &Ok(work.request.clone()));
        let me = self.clone();
        let keep = move |tx: &mut Tx<'_>, decision: &Decision<AllowedDays>| {
            me.keep_precertificate(tx, &work, &serial, &signed, decision)
        };
        match self.kernel.write_decided(self.reseller, &evaluation, keep).await {
            Ok(kept) => {
                fault::reached(Step::PrecertificateKept);
                Ok(kept)
            }
            Err(error) => self.settle(id, error).await.map(|()| None),
        }
    }

    fn sign_precertificate(&self, work: &Work) -> Result<Precertificate, ServiceError> {
        let _timed = Timed::start("sign");
        self.with_terms(work, |terms| {
            let linted = work.draft.lint_precertificate(terms);
            let linted = linted.map_err(|findings| ServiceError::internal(format!("lint: {findings:?}")))?;
            work.signing.issuer.sign_precertificate(linted).map_err(unsigned)
        })
    }

    /// Whoever signs it has promised to issue, so everything is asked once more. Gives what is kept: where another was faster,
    /// that is what it has signed.
    fn keep_precertificate(
        &self,
        tx: &mut Tx<'_>,
        work: &Work,
        serial: &str,
        signed: &Precertificate,
        decision: &Decision<AllowedDays>,
    ) -> Result<Option<PrecertificateRow>, ServiceError> {
        let (id, now) = (work.order.id, self.kernel.now());
        let Some(order) = self.claim(tx, id)? else { return Ok(None) };
        // The order may have been put back and finalized again meanwhile.
        if tx.draft(order.certificate)?.is_none_or(|draft| draft.serial != serial) {
            return Ok(None);
        }
        self.require_issuable(tx, work, &order, decision, now)?;
        let row = PrecertificateRow {
            serial: serial.to_owned(),
            issuer: work.signing.id,
            certificate: order.certificate,
            reseller: order.reseller,
            order: id,
            shard: i64::from(work.signing.shards.shard_of(&work.draft.serial())),
            key_hash: work.request.key().map_err(ServiceError::internal)?.sha256().to_vec(),
            der: signed.as_der().to_vec(),
            not_after: Timestamp::from_secs(work.draft.validity().not_after()),
            signed_at: now,
        };
        let kept = tx.store_precertificate(row)?;
        if kept.der == signed.as_der() {
            let mut detail = describe_with(&order, "serial", serial);
            detail["fingerprint"] = hex(&signed.sha256()).into();
            detail["notAfter"] = kept.not_after.to_string().into();
            self.kernel.audit_own(tx, Some(order.reseller), Action::PrecertificateSign, id, &detail)?;
        }
        Ok(Some(kept))
    }

    /// Puts what logs have promised into the draft, which becomes that of the certificate. Comes too late where the order
    /// has ended, or the job is another node's by now.
    pub async fn note_promises(&self, assignment: &LogAssignment, scts: Vec<Sct>) -> Result<(), ServiceError> {
        fault::reached(Step::Promised);
        let (me, id, serial) = (self.clone(), assignment.order, assignment.serial.clone());
        let logs = assignment.logs.clone();
        let noted = self.store().write(move |tx| me.note_promises_in(tx, id, &serial, &logs, &scts)).await;
        match noted {
            Ok(()) => {
                fault::reached(Step::Logged);
                Ok(())
            }
            Err(error) => self.settle(id, error).await,
        }
    }

    fn note_promises_in(
        &self,
        tx: &mut Tx<'_>,
        id: OrderId,
        serial: &str,
        logs: &LogList,
        scts: &[Sct],
    ) -> Result<(), ServiceError> {
        let Some(order) = self.claim(tx, id)? else { return Ok(()) };
        let Some(stored) = tx.draft(order.certificate)?.filter(|stored| stored.serial == serial) else {
            return Ok(());
        };
        let draft = Draft::from_stored(&stored.tbs).map_err(ServiceError::internal)?;
        if !draft.is_precertificate() {
            return Ok(());
        }
        let draft = draft.with_scts(scts).map_err(ServiceError::internal)?;
        tx.replace_draft(order.certificate, &DraftRow { tbs: draft.tbs_der().to_vec(), ..stored })?;
        let said = |sct: &Sct| {
            let name = logs.find(sct.log).map_or_else(|| sct.log.to_string(), |log| log.name.clone());
            let at = i64::try_from(sct.timestamp).unwrap_or(i64::MAX);
            json!({"log": name, "timestamp": Timestamp::from_millis(at).to_string()})
        };
        let mut detail = describe_with(&order, "serial", serial);
        detail["logs"] = scts.iter().map(said).collect();
        self.kernel.audit_own(tx, Some(order.reseller), Action::PrecertificateLog, id, &detail)
    }

    /// Revokes the precertificates that no certificate will come of, and forgets those whose certificate is there; says how
    /// many. What an order has come to is seen here and nowhere else: so it does not matter how it ended, or which program
    /// ended it.
    pub async fn settle_precertificates(&self) -> Result<u64, ServiceError> {
        let (mut after, mut settled) = (String::new(), 0);
        loop {
            let from = after.clone();
            let page = self.kernel.store.read(move |tx| tx.open_precertificates(&from, PAGE)).await?;
            let Some(last) = page.last() else { return Ok(settled) };
            after.clone_from(&last.serial);
            let ended: Vec<_> = page.into_iter().filter(|open| open.fate != PrecertificateFate::Awaited).collect();
            if ended.is_empty() {
                continue;
            }
            settled += ended.len() as u64;
            for some in ended.chunks(ENDED_AT_ONCE) {
                let (kernel, some) = (self.kernel.clone(), some.to_vec());
                let revoked = self.kernel.store.write(move |tx| end_all(&kernel, tx, &some)).await?;
                for serial in revoked {
                    tracing::warn!(
                        serial,
                        "a precertificate is revoked: no certificate has its serial number, nor will have"
                    );
                }
            }
        }
    }
}

/// Gives the serial numbers of those that are revoked.
fn end_all(kernel: &Kernel, tx: &mut Tx<'_>, ended: &[OpenPrecertificate]) -> Result<Vec<String>, ServiceError> {
    let mut given_up = Vec::new();
    for open in ended {
        match open.fate {
            PrecertificateFate::Awaited => {}
            PrecertificateFate::Issued => tx.forget_precertificate(&open.serial)?,
            PrecertificateFate::GivenUp => given_up.push(open.serial.clone()),
        }
    }
    let revoked = tx.give_up_precertificates(&given_up, kernel.now())?;
    for open in ended.iter().filter(|open| revoked.contains(&open.serial)) {
        let detail = json!({"serial": open.serial, "because": "no certificate has its serial number, nor will have"});
        kernel.audit_own(tx, Some(open.reseller), Action::PrecertificateRevoke, open.order, &detail)?;
    }
    Ok(revoked)
}
