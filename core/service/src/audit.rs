//! The audit trail: every change in the same unit of work as the change itself, every refusal soon after.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{AcmeAccountId, Action, AuditId, PAGE_LIMIT_MAX, Page, PageRequest, ResellerId, Scope};
use chancery_overload::{LocalRateLimiter, Rate, client_network};
use chancery_store::{AuditFilter, AuditRecord, Outcome, Tx};
use serde_json::{Value, json};

use crate::caller::{ACME, Actor, Caller, Origin};
use crate::cursor::{ListName, ListRequest, Listed};
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// Refusals written with one commit.
const BATCH: usize = 100;
/// Refusals of strangers from one network that are written down; more say nothing more.
const OF_STRANGERS: Rate = Rate::new(NonZeroU32::new(60).expect("60 is not zero"), Duration::from_secs(60));

const TOO_MANY: u16 = 429;

/// A request that was turned away.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub reseller: Option<ResellerId>,
    pub actor: Actor,
    pub origin: Origin,
    /// Method and route, such as `POST /v1/account`.
    pub action: String,
    /// The path that was asked for.
    pub subject: String,
    pub status: u16,
    pub code: String,
    pub message: String,
}

impl Kernel {
    /// Writes down a change, within its unit of work. `detail` never holds a secret.
    pub(crate) fn audit(
        &self,
        tx: &mut Tx<'_>,
        caller: &Caller,
        action: Action,
        subject: impl ToString,
        detail: &Value,
    ) -> Result<(), ServiceError> {
        let (reseller, actor, origin) = (Some(caller.reseller), &caller.actor, &caller.origin);
        self.audit_as(tx, reseller, actor, origin, action, subject.to_string(), detail)
    }

    #[allow(clippy::too_many_arguments, reason = "one for each column; a struct would only name them twice")]
    pub(crate) fn audit_as(
        &self,
        tx: &mut Tx<'_>,
        reseller: Option<ResellerId>,
        actor: &Actor,
        origin: &Origin,
        action: Action,
        subject: String,
        detail: &Value,
    ) -> Result<(), ServiceError> {
        Ok(tx.append_audit(&self.audit_line(reseller, actor, origin, action.as_str(), subject, detail))?)
    }

    /// Writes down a change that the service makes by itself, within its unit of work.
    pub(crate) fn audit_own(
        &self,
        tx: &mut Tx<'_>,
        reseller: Option<ResellerId>,
        action: Action,
        subject: impl ToString,
        detail: &Value,
    ) -> Result<(), ServiceError> {
        self.audit_as(tx, reseller, &Actor::Service, &Origin::default(), action, subject.to_string(), detail)
    }

    /// A line of the trail, as of now, about something that was done.
    pub(crate) fn audit_line(
        &self,
        reseller: Option<ResellerId>,
        actor: &Actor,
        origin: &Origin,
        action: &str,
        subject: String,
        detail: &Value,
    ) -> AuditRecord {
        let now = self.now();
        AuditRecord {
            id: AuditId::new(now, self.entropy.as_ref()),
            at: now,
            reseller,
            actor_kind: actor.kind().to_owned(),
            actor: actor.name().to_owned(),
            address: origin.address.clone(),
            request_id: origin.request_id.clone(),
            action: action.to_owned(),
            subject,
            outcome: Outcome::Done,
            detail: detail.to_string(),
        }
    }
}

/// Takes refusals from the doors, and shows the trail to the operator.
#[derive(Clone)]
pub struct Audit {
    kernel: Arc<Kernel>,
    strangers: Arc<LocalRateLimiter>,
}

impl Audit {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel, strangers: Arc::new(LocalRateLimiter::new("audit", OF_STRANGERS)) }
    }

    /// Notes a refusal; never waits. Of strangers, who can have as many as they like, only some are written down, and not
    /// that they came too often.
    pub fn refused(&self, refusal: Refusal) {
        let stranger = refusal.reseller.is_none() && refusal.actor == Actor::Anonymous;
        let network = || client_network(&refusal.origin.address);
        if stranger && (refusal.status == TOO_MANY || !self.strangers.take(&network(), self.kernel.now())) {
            metrics::counter!("chancery_audit_strangers_unwritten_total").increment(1);
            return;
        }
        let Refusal { reseller, actor, origin, status, code, .. } = &refusal;
        let (action, subject) = (storable(&refusal.action), discreet(&refusal.subject));
        let detail = json!({"status": status, "code": code, "message": discreet(&refusal.message)});
        let line = self.kernel.audit_line(*reseller, actor, origin, &action, subject, &detail);
        let (actor, outcome) = (storable(actor.name()), Outcome::Refused);
        self.kernel.write_later(AuditRecord { actor, outcome, ..line });
    }

    /// Writes refusals down until `stop`. One does so at a time; another returns at once.
    pub async fn run(&self, stop: impl Future<Output = ()>) {
        let Some(mut receiver) = self.kernel.take_refusals() else { return };
        tokio::pin!(stop);
        loop {
            let mut batch = Vec::new();
            tokio::select! {
                _ = receiver.recv_many(&mut batch, BATCH) => self.write(batch).await,
                () = &mut stop => break,
            }
        }
        let mut rest = Vec::new();
        while let Ok(record) = receiver.try_recv() {
            rest.push(record);
        }
        self.write(rest).await;
    }

    /// A page of the trail, newest first, for the operator: as full as there are lines for it, however long that takes.
    pub async fn list(&self, filter: AuditFilter, page: PageRequest) -> Result<Vec<AuditRecord>, ServiceError> {
        let (mut lines, limit, mut after) = (Vec::new(), page.limit, page.after);
        loop {
            let left = limit.saturating_sub(u32::try_from(lines.len()).unwrap_or(limit));
            let (filter, page) = (filter.clone(), PageRequest { limit: left.min(PAGE_LIMIT_MAX), after });
            let found = self.kernel.store.read(move |tx| tx.audit(&filter, &page)).await?;
            lines.extend(found.items);
            after = found.next;
            if after.is_none() || lines.len() >= limit as usize {
                return Ok(lines);
            }
        }
    }

    /// A page of a reseller's own part of the trail, newest first. It does not identify ACME accounts of other resellers.
    pub async fn list_own(
        &self,
        caller: &Caller,
        filter: AuditFilter,
        request: &ListRequest,
    ) -> Result<Listed<AuditRecord>, ServiceError> {
        caller.require(Scope::ReadAccount)?;
        let reseller = caller.reseller;
        let filter = AuditFilter { reseller: Some(reseller), ..filter };
        let list = ListName::new("audit", caller.reseller, &filter);
        let page = self.kernel.cursors.open(&list, request)?;
        let read = move |tx: &mut Tx<'_>| {
            let mut page = tx.audit(&filter, &page)?;
            hide_foreign_actors(tx, reseller, &mut page.items)?;
            // A filter must not confirm what was hidden.
            page.items.retain(|record| {
                let is_actor = filter.actor.as_ref().is_none_or(|actor| *actor == record.actor);
                is_actor && filter.request_id.as_ref().is_none_or(|id| *id == record.request_id)
            });
            Ok::<Page<_>, ServiceError>(page)
        };
        self.kernel.read_list(&list, read).await
    }

    async fn write(&self, records: Vec<AuditRecord>) {
        if records.is_empty() {
            return;
        }
        let count = records.len();
        let written = self
            .kernel
            .store
            .write(move |tx| records.iter().try_for_each(|record| tx.append_audit(record)).map_err(ServiceError::from));
        if let Err(error) = written.await {
            tracing::error!(%error, count, "could not write refusals to the audit trail");
            metrics::counter!("chancery_audit_refusals_dropped_total").increment(count as u64);
        }
    }
}

/// The kind of an actor that signed with the key of a certificate, as a reseller sees it.
pub const CERTIFICATE_KEY: &str = "certificate_key";
/// The kind of an actor that is an ACME account of another reseller, as a reseller sees it.
pub const FOREIGN_ACME_ACCOUNT: &str = "foreign_acme_account";

/// Removes from records of a reseller who acted for somebody else. RFC 8555 section 7.6 lets an account of another reseller
/// revoke a certificate if it is authorized for all names, and anyone who has the certificate's key. The reseller learns
/// which of the two it was; ids, addresses and request ids stay in the operator's trail.
fn hide_foreign_actors(tx: &mut Tx<'_>, reseller: ResellerId, records: &mut [AuditRecord]) -> Result<(), ServiceError> {
    let account = |record: &AuditRecord| record.actor.parse::<AcmeAccountId>().ok();
    let is_acme = |record: &AuditRecord| record.actor_kind == ACME;
    let ids: BTreeSet<_> = records.iter().filter(|record| is_acme(record)).filter_map(account).collect();
    let ids = Vec::from_iter(ids);
    let accounts = tx.ask_each(&ids, |tx, id| tx.acme_account(*id))?;
    let accounts = accounts.into_iter().flatten();
    let own: BTreeSet<_> = accounts.filter(|account| account.reseller == reseller).map(|account| account.id).collect();
    for record in records.iter_mut().filter(|record| is_acme(record)) {
        let kind = match account(record) {
            Some(id) if own.contains(&id) => continue,
            Some(_) => FOREIGN_ACME_ACCOUNT,
            None => CERTIFICATE_KEY,
        };
        kind.clone_into(&mut record.actor_kind);
        record.actor.clear();
        record.address.clear();
        record.request_id.clear();
    }
    Ok(())
}

/// What a stranger sent, cut and without the one character that PostgreSQL cannot keep.
fn storable(text: &str) -> String {
    text.chars().filter(|&character| character != '\0').take(500).collect()
}

/// The length from which on a run of letters, digits, `-` and `_` may be a secret; no name of ours is that long.
const SECRET: usize = 40;

/// As `storable`, and with what may be a secret left out: a caller who mixes up its papers has them quoted back in the
/// refusal, and the trail outlives the refusal.
pub(crate) fn discreet(text: &str) -> String {
    let inner = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let run = rest.find(|character| !inner(character)).unwrap_or(rest.len());
        kept.push_str(if run < SECRET { &rest[..run] } else { "…" });
        let next = rest[run..].find(inner).map_or(rest.len(), |between| run + between);
        kept.push_str(&rest[run..next]);
        rest = &rest[next..];
    }
    storable(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_left_out_and_names_stay() {
        let secret = format!("chs_{}", "aB-_5".repeat(9));
        assert_eq!(discreet(&format!("there is no scope {secret:?}")), "there is no scope \"…\"");
        assert_eq!(discreet(&secret), "…");
        assert_eq!(discreet(&format!("eyJ.{secret}.{secret}")), "eyJ.….…");
        for kept in [
            "/v1/account/acc_01mcc5rm00ee3rgq7rf7em3d93/eab-credential",
            "the EAB credential 0d8f1c4e-6a1b-4c3d-9e2f-7a5b3c1d9e8f is revoked",
            "ünïcode … und\nZeilen, a.b",
            "",
        ] {
            assert_eq!(discreet(kept), kept);
        }
    }
}
