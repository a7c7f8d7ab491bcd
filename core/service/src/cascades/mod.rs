//! Cascades: changes whose consequences reach more rows than one transaction may.
//!
//! The change itself is one transaction, and holds from then on. Whatever asks about a row that it concerns sees the row as
//! changed, before any batch has reached it: a terminated account gets nothing, a deleted group has no policies, and an
//! authorization that was given up reads as deactivated. The same transaction adds a job, and batches do the rest: the first
//! ones while the caller waits, the others by a worker. A crash between two batches loses nothing, since the lease of the job
//! ends and a node goes on.
//!
//! A batch locks groups, then orders, then the job, and changes [`BATCH_ROWS`] rows at most, or one order with its names.

mod deactivation;
mod ending;
mod members;
mod task;

use std::sync::Arc;

use chancery_domain::{
    AccountId, AcmeAccountId, GroupId, Order, OrderId, PolicyId, ResellerId, Timestamp, ValidationProblem,
};
use chancery_store::{CascadeRow, GivenUp, Job, JobKind, Store, Tx};

pub(crate) use self::deactivation::deactivated;
pub(crate) use self::members::MemberChange;
use self::task::Task;
pub(crate) use self::task::reseller;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::fault::{self, Step};
use crate::kernel::Kernel;
use crate::telling;
use crate::to_the_end::to_the_end;

/// The rows that one batch changes at most.
pub(crate) const BATCH_ROWS: u32 = 100;
/// Batches that are done while the caller waits; a worker does the rest.
const AWAITED: u32 = 20;

/// A change, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cascade {
    /// An ACME account gave up what it had earned for a name: those permissions are deactivated, and open orders fail.
    GiveUp { account: AccountId, acme_account: AcmeAccountId, given_up: GivenUp },
    /// An account was terminated: it leaves its groups, open orders are cancelled, credentials and ACME accounts revoked.
    TerminateAccount { account: AccountId, revoke_certificates: bool },
    /// An ACME account was deactivated: open orders are cancelled.
    DeactivateAcmeAccount { account: AccountId, acme_account: AcmeAccountId },
    /// A group was deleted: memberships are deleted.
    DeleteGroup(GroupId),
    /// A policy was deleted: assignments are deleted.
    DeletePolicy(PolicyId),
    /// Many accounts are put into a group, taken out of one, or moved.
    ChangeMembers(MemberChange),
}

/// What one batch has done.
#[derive(Default)]
struct Batch {
    /// Nothing is left, and the job is gone.
    done: bool,
    /// Where the next batch goes on.
    progress: Progress,
    cancelled: Vec<Order>,
    failed: Vec<(OrderId, ValidationProblem)>,
    because: &'static str,
}

/// How far a cascade has come in lists that it goes through page by page. It is kept in memory: after a crash, they are gone
/// through again.
#[derive(Clone, Default)]
struct Progress {
    acme_accounts: Page,
    credentials: Page,
}

#[derive(Clone, Default)]
enum Page {
    #[default]
    First,
    After(String),
    Done,
}

/// The rows that a batch may still change.
struct Room(u32);

impl Room {
    fn new() -> Self {
        Self(BATCH_ROWS)
    }

    /// How many things fit that take so many rows each.
    fn fits(&self, rows: u32) -> u32 {
        self.0 / rows
    }

    fn take(&mut self, rows: u32) {
        self.0 = self.0.saturating_sub(rows);
    }

    /// Takes the rows of a thing if it fits, or if it is the first and would never fit.
    fn take_whole(&mut self, rows: u32) -> bool {
        let fits = rows <= self.0 || self.0 == BATCH_ROWS;
        if fits {
            self.take(rows);
        }
        fits
    }
}

impl Kernel {
    /// Adds the job of a cascade to the unit of work that makes the change, and gives its subject.
    pub(crate) fn enqueue_cascade(
        &self,
        tx: &mut Tx<'_>,
        by: &Caller,
        cascade: &Cascade,
        since: Timestamp,
    ) -> Result<String, ServiceError> {
        let (subject, detail) = (task::subject(cascade, self.entropy.as_ref()), task::write(cascade, by).to_string());
        let row = CascadeRow { detail, since };
        tx.enqueue_cascade(&subject, &row, &self.node, self.now(), self.settings.issuing.job_lease)?;
        Ok(subject)
    }
}

/// Applies changes in batches.
#[derive(Clone)]
pub struct Cascades {
    kernel: Arc<Kernel>,
}

impl Cascades {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// Applies what is left of a cascade, in database time of the reseller that caused it.
    pub async fn run(&self, subject: &str, reseller: Option<ResellerId>) -> Result<(), ServiceError> {
        self.batches(subject, reseller, u32::MAX).await.map(drop)
    }

    /// Applies at most this many batches; `true` if nothing is left.
    async fn batches(&self, subject: &str, reseller: Option<ResellerId>, most: u32) -> Result<bool, ServiceError> {
        let store = self.kernel.store_of(reseller);
        let mut progress = Progress::default();
        for _ in 0..most {
            let batch = self.batch(&store, subject, progress).await?;
            if batch.done {
                return Ok(true);
            }
            progress = batch.progress;
        }
        Ok(false)
    }

    async fn batch(&self, store: &Store, subject: &str, progress: Progress) -> Result<Batch, ServiceError> {
        let (kernel, subject) = (self.kernel.clone(), subject.to_owned());
        let unit = move |tx: &mut Tx<'_>| {
            let Some(task) = Task::read(tx, &subject)? else {
                return Ok((Batch { done: true, ..Batch::default() }, None));
            };
            let batch = apply(&kernel, tx, &task, &progress)?;
            if batch.done {
                tx.finish_job(JobKind::Cascade, &subject)?;
            }
            Ok::<_, ServiceError>((batch, Some(task.by)))
        };
        let (batch, by) = store.write(unit).await?;
        fault::reached(Step::Batched);
        if let Some(by) = by {
            telling::cancelled(&by, &batch.cancelled, batch.because);
        }
        for (order, problem) in &batch.failed {
            self.kernel.tell_failed(*order, "authorization", problem).await;
        }
        Ok(batch)
    }
}

fn apply(kernel: &Kernel, tx: &mut Tx<'_>, task: &Task, progress: &Progress) -> Result<Batch, ServiceError> {
    match &task.cascade {
        Cascade::GiveUp { account, acme_account, given_up } => {
            deactivation::batch(kernel, tx, task, *account, *acme_account, given_up)
        }
        Cascade::TerminateAccount { account, revoke_certificates } => {
            ending::account(kernel, tx, task, *account, *revoke_certificates, progress)
        }
        Cascade::DeactivateAcmeAccount { account, acme_account } => {
            ending::acme_account(kernel, tx, task, *account, *acme_account)
        }
        Cascade::DeleteGroup(group) => delete(tx, task, |tx| Ok(tx.delete_members(*group, BATCH_ROWS)?)),
        Cascade::DeletePolicy(policy) => delete(tx, task, |tx| Ok(tx.delete_assignments(*policy, BATCH_ROWS)?)),
        Cascade::ChangeMembers(change) => members::batch(kernel, tx, task, change),
    }
}

/// Deletes some rows, until there are no more.
fn delete(
    tx: &mut Tx<'_>,
    task: &Task,
    delete: impl FnOnce(&mut Tx<'_>) -> Result<u64, ServiceError>,
) -> Result<Batch, ServiceError> {
    let done = task.lock(tx)? && delete(tx)? < u64::from(BATCH_ROWS);
    Ok(Batch { done, ..Batch::default() })
}

/// Begins cascades whose jobs are durable. Most are finished by the time this returns; a worker finishes the others.
pub(crate) async fn begin(kernel: &Arc<Kernel>, reseller: ResellerId, subjects: Vec<String>) {
    fault::reached(Step::Cascading);
    let cascades = Cascades::new(kernel.clone());
    // A client that hangs up leaves no batch undone until the lease ends.
    let begun = to_the_end(async move {
        for subject in subjects {
            match cascades.batches(&subject, Some(reseller), AWAITED).await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, subject, "failed to apply a batch; a worker tries again"),
            }
            let job = Job { kind: JobKind::Cascade, subject, attempts: 1, reseller: Some(reseller) };
            cascades.kernel.start(job);
        }
        Ok(())
    });
    if let Err(error) = begun.await {
        tracing::error!(%error, "failed to begin a cascade; a worker takes it over when its lease ends");
    }
}

/// Does all of a cascade whose job is durable, for a caller who is not to be answered before.
pub(crate) async fn finish(kernel: &Arc<Kernel>, reseller: ResellerId, subject: String) -> Result<(), ServiceError> {
    fault::reached(Step::Cascading);
    let cascades = Cascades::new(kernel.clone());
    to_the_end(async move { cascades.run(&subject, Some(reseller)).await }).await
}
