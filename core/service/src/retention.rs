//! Deleting what has been kept long enough, beside everything else.
//!
//! One node at a time does it, a hundred rows in each unit of work, with a pause between them: whoever writes meanwhile waits
//! for one small unit at most. What is deleted is found by pages that only read.

mod trust;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_domain::{Action, Timestamp};
use chancery_store::{Deleted, EndedAfter, EndedOrder, Kept, StoreError, Tx};
use serde_json::json;

use crate::error::ServiceError;
use crate::kernel::Kernel;
use trust::{STEADY, Trust};

/// Rows that are looked at, with one read.
const PAGE: u32 = 500;
/// Rows that are deleted with one commit: those of an order with all that belongs to it, or a part of them.
const ROWS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(5);
/// How long a node has to itself what it began; it holds on to it while it goes on.
const LEASE: Duration = Duration::from_secs(120);
/// How often it does.
const RENEWAL: Duration = Duration::from_secs(10);
const NAME: &str = "retention";
/// The longest that public certificates could be valid for, in days (Baseline Requirements section 6.3.2).
const LONGEST_DAYS: u32 = 398;
/// How far the clock may go ahead of time itself before it is taken for wrong.
const JUMP: Duration = Duration::from_secs(3600);

/// How long what has ended is kept; none for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Orders from which no certificate came, after their end.
    pub orders: Option<Duration>,
    /// Authorizations without an order, after they have expired.
    pub authorizations: Option<Duration>,
    /// Certificates, with their orders and what was seen when control was shown, after they have expired.
    pub certificates: Option<Duration>,
    /// The audit trail.
    pub audit: Option<Duration>,
    /// Refusals in the audit trail.
    pub refusals: Option<Duration>,
    /// How often this is looked after.
    pub every: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        let days = |days: u64| Some(Duration::from_secs(days * 86_400));
        Self {
            orders: days(90),
            authorizations: days(90),
            // Two years after the end of a certificate (Baseline Requirements sections 5.4.3 and 5.5.2).
            certificates: days(730),
            audit: days(1095),
            refusals: days(90),
            every: Duration::from_secs(3600),
        }
    }
}

/// How much was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    pub orders: u64,
    pub certificates: u64,
    pub precertificates: u64,
    pub authorizations: u64,
    pub audit: u64,
    pub counts: u64,
}

/// Why deleting stopped before all was done.
enum Halt {
    /// Another node has taken over.
    Lost,
    Failed(ServiceError),
}

impl From<ServiceError> for Halt {
    fn from(error: ServiceError) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

#[derive(Clone)]
pub struct Sweeper {
    kernel: Arc<Kernel>,
}

impl Sweeper {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// Looks after it again and again, for ever. Not at once: a machine that has just started may not know the time yet.
    pub async fn watch(&self) {
        let every = self.kernel.settings.retention.every;
        loop {
            let (began, then) = (Instant::now(), self.kernel.now());
            tokio::time::sleep(every).await;
            let ahead = self.kernel.now().since(then).saturating_sub(began.elapsed());
            if ahead > JUMP {
                tracing::warn!(seconds = ahead.as_secs(), "the clock went ahead: nothing old is deleted this time");
                if let Err(error) = self.doubt_anew().await {
                    tracing::warn!(%error, "could not note that the clock went ahead");
                }
                continue;
            }
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "could not delete what has been kept long enough; trying again later");
            }
        }
    }

    /// Deletes all that has been kept long enough, unless another node is at it or the clock is doubted.
    pub async fn sweep(&self) -> Result<Swept, ServiceError> {
        let (now, mut swept) = (self.kernel.now(), Swept::default());
        if self.hold().await? && self.believes(now).await? {
            let ended = self.sweep_all(now, &mut swept).await;
            // What is gone is gone, also where something failed or another has taken over in between.
            if swept != Swept::default() {
                self.tell(swept).await?;
            }
            match ended {
                Ok(()) => {}
                Err(Halt::Lost) => tracing::info!("another node goes on deleting what has been kept long enough"),
                Err(Halt::Failed(error)) => return Err(error),
            }
        }
        Ok(swept)
    }

    /// Whether the clock is to be believed; notes the time where it is, and the doubt where it is not.
    async fn believes(&self, now: Timestamp) -> Result<bool, ServiceError> {
        let every = self.kernel.settings.retention.every;
        let note = move |tx: &mut Tx<'_>| {
            let times = tx.sweep_times()?;
            let trust = trust::judge(times, now, every);
            match trust {
                Trust::Believed => tx.note_sweep(now)?,
                Trust::Doubted => tx.note_doubt(now)?,
                Trust::Waiting(_) => {}
            }
            Ok::<_, ServiceError>((times.swept, trust))
        };
        let (last, trust) = self.kernel.store.write(note).await?;
        let since = match trust {
            Trust::Believed => return Ok(true),
            Trust::Doubted => now,
            Trust::Waiting(since) => since,
        };
        let goes_on = since.plus(STEADY);
        match last {
            Some(last) => tracing::error!(
                %now, %last, %goes_on,
                "nothing old is deleted: the clock is far beyond the last time that was done. If it is wrong, set it \
                 right before it says goes_on; if it is right, nothing need be done, and deleting goes on then"
            ),
            None => {
                tracing::info!(%now, %goes_on, "nothing old is deleted yet: the clock has to be right for a day first")
            }
        }
        Ok(false)
    }

    /// A clock that is doubted and moves again has to be steady anew.
    async fn doubt_anew(&self) -> Result<(), ServiceError> {
        let now = self.kernel.now();
        let note = move |tx: &mut Tx<'_>| match tx.sweep_times()?.doubted {
            Some(_) => tx.note_doubt(now).map_err(ServiceError::from),
            None => Ok(()),
        };
        self.kernel.store.write(note).await
    }

    async fn sweep_all(&self, now: Timestamp, swept: &mut Swept) -> Result<(), Halt> {
        let kept = self.kernel.settings.retention;
        let evidence_from = kept.certificates.map(|kept| now.minus(kept + self.longest_certificate()));
        let classes = [
            (EndedOrder::InVain, kept.orders),
            (EndedOrder::Lapsed, kept.orders),
            (EndedOrder::Expired, kept.certificates),
        ];
        for (ended, span) in classes {
            let Some(span) = span else { continue };
            let kept = Kept { from: now.minus(span), evidence_from };
            let count = match ended {
                EndedOrder::InVain | EndedOrder::Lapsed => &mut swept.orders,
                EndedOrder::Expired => &mut swept.certificates,
            };
            let find = move |tx: &mut Tx<'_>, after: &EndedAfter| tx.ended_orders(ended, kept.from, after, PAGE);
            let delete = move |tx: &mut Tx<'_>, id, most| tx.delete_ended_order(id, ended, kept, most);
            self.delete_pages(find, delete, count).await?;
        }
        if let Some(span) = kept.certificates {
            let delete = move |tx: &mut Tx<'_>| tx.delete_precertificates(now.minus(span), ROWS);
            self.repeat(delete, &mut swept.precertificates).await?;
            let delete = move |tx: &mut Tx<'_>| tx.delete_recovered(now.minus(span), ROWS);
            self.repeat(delete, &mut swept.certificates).await?;
        }
        if let Some(span) = kept.authorizations {
            let kept = Kept { from: now.minus(span), evidence_from };
            let find = move |tx: &mut Tx<'_>, after: &EndedAfter| tx.ended_authorizations(kept.from, after, PAGE);
            let delete = move |tx: &mut Tx<'_>, id, _| tx.delete_ended_authorization(id, kept);
            self.delete_pages(find, delete, &mut swept.authorizations).await?;
        }
        let (audit, refusals) = (kept.audit.map(|span| now.minus(span)), kept.refusals.map(|span| now.minus(span)));
        let cut = move |tx: &mut Tx<'_>| tx.cut_audit(audit, refusals, ROWS);
        self.repeat(cut, &mut swept.audit).await?;
        self.repeat(move |tx: &mut Tx<'_>| tx.forget_counts(now, ROWS), &mut swept.counts).await
    }

    /// For how long after it was last used something that was shown may stand behind a certificate. Profiles may have been
    /// shortened or removed since, so it is never less than what public certificates could have.
    fn longest_certificate(&self) -> Duration {
        let issuing = &self.kernel.settings.issuing;
        let days = issuing.certificates.values().map(|profile| profile.validity_days).fold(LONGEST_DAYS, u32::max);
        Duration::from_secs(u64::from(days) * 86_400) + issuing.order_lifetime
    }

    /// Deletes what is found page after page, as many rows of it with each commit as may be.
    async fn delete_pages<Id: Copy + Send + 'static>(
        &self,
        find: impl Fn(&mut Tx<'_>, &EndedAfter) -> Result<Vec<(Id, EndedAfter)>, StoreError> + Copy + Send + 'static,
        delete: impl Fn(&mut Tx<'_>, Id, u32) -> Result<Deleted, StoreError> + Copy + Send + 'static,
        count: &mut u64,
    ) -> Result<(), Halt> {
        let (mut after, mut renewed) = (EndedAfter::BEGINNING, Instant::now());
        loop {
            let from = after.clone();
            let page = self.kernel.store.read(move |tx| find(tx, &from)).await?;
            let Some((_, last)) = page.last() else { return Ok(()) };
            after = last.clone();
            let mut left: Vec<_> = page.into_iter().map(|(id, _)| id).collect();
            while !left.is_empty() {
                let next: Vec<_> = left.iter().take(ROWS as usize).copied().collect();
                let unit = move |tx: &mut Tx<'_>| delete_some(tx, &next, delete);
                let (looked_at, gone) = self.kernel.store.write(unit).await?;
                left.drain(..looked_at);
                *count += gone;
                self.pause(&mut renewed).await?;
            }
        }
    }

    /// Does a thing until there is nothing left to do.
    async fn repeat(
        &self,
        delete: impl Fn(&mut Tx<'_>) -> Result<u64, StoreError> + Copy + Send + 'static,
        count: &mut u64,
    ) -> Result<(), Halt> {
        let mut renewed = Instant::now();
        loop {
            let gone = self.kernel.store.write(delete).await?;
            *count += gone;
            if gone == 0 {
                return Ok(());
            }
            self.pause(&mut renewed).await?;
        }
    }

    /// Leaves the database to others for a moment, and holds on to what only one node at a time may do.
    async fn pause(&self, renewed: &mut Instant) -> Result<(), Halt> {
        tokio::time::sleep(PAUSE).await;
        if renewed.elapsed() >= RENEWAL {
            if !self.hold().await? {
                return Err(Halt::Lost);
            }
            *renewed = Instant::now();
        }
        Ok(())
    }

    async fn hold(&self) -> Result<bool, ServiceError> {
        let (kernel, now) = (self.kernel.clone(), self.kernel.now());
        let (until, beyond) = (now.plus(LEASE), now.plus(2 * LEASE));
        self.kernel.store.write(move |tx| Ok(tx.take_lease(NAME, &kernel.node, now, until, beyond)?)).await
    }

    /// The trail says what is no longer there.
    async fn tell(&self, swept: Swept) -> Result<(), ServiceError> {
        let Swept { orders, certificates, precertificates, authorizations, audit, counts } = swept;
        tracing::info!(
            orders,
            certificates,
            precertificates,
            authorizations,
            audit,
            counts,
            "deleted what has been kept long enough"
        );
        for (kind, gone) in [
            ("orders", orders),
            ("certificates", certificates),
            ("precertificates", precertificates),
            ("authorizations", authorizations),
            ("audit", audit),
            ("counts", counts),
        ] {
            metrics::counter!("chancery_retention_deleted_total", "kind" => kind).increment(gone);
        }
        let kernel = self.kernel.clone();
        let until = |span: Option<Duration>| span.map(|span| Timestamp::to_string(&kernel.now().minus(span)));
        let kept = self.kernel.settings.retention;
        let detail = json!({
            "orders": orders, "certificates": certificates, "precertificates": precertificates, "authorizations": authorizations, "audit": audit, "counts": counts,
            "auditKeptFrom": until(kept.audit), "refusalsKeptFrom": until(kept.refusals),
        });
        self.kernel
            .store
            .write(move |tx| kernel.audit_own(tx, None, Action::RetentionDelete, "database", &detail))
            .await
    }
}

/// Deletes as many of these as may go with one commit; gives how many need not be looked at again, and how many are gone.
fn delete_some<Id: Copy>(
    tx: &mut Tx<'_>,
    ids: &[Id],
    delete: impl Fn(&mut Tx<'_>, Id, u32) -> Result<Deleted, StoreError>,
) -> Result<(usize, u64), StoreError> {
    let (mut room, mut looked_at, mut gone) = (ROWS, 0, 0);
    for id in ids {
        if room == 0 {
            break;
        }
        match delete(tx, *id, room)? {
            Deleted::Nothing => {}
            Deleted::Whole(rows) => {
                room = room.saturating_sub(rows);
                gone += 1;
            }
            Deleted::Part(_) => break,
        }
        looked_at += 1;
    }
    Ok((looked_at, gone))
}
