//! Cascades: changes whose consequences reach more rows than one transaction may.
//!
//! The change itself is one transaction and takes effect with its commit. Reads treat the dependent rows as changed before a batch
//! reaches them: a terminated account receives no certificate, a deleted group has no policies, and a deactivated authorization
//! reads as deactivated. The same transaction adds a job, and batches change the dependent rows. The request applies the first
//! batches, a worker the others. If a process crashes between two batches, the lease of its job expires and another node continues.
//!
//! A batch locks groups, then orders, then the job. It changes at most [`BATCH_ROWS`] rows, or one order with its names.

mod deactivation;
mod ending;
mod members;
mod task;

use std::sync::Arc;

use chancery_domain::{
    AccountId, AcmeAccountId, GroupId, Order, OrderId, PolicyId, ResellerId, Timestamp, ValidationProblem,
};
use chancery_store::{CascadeRow, GivenUp, Job, JobKind, Tx};

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

/// The maximum number of rows that one batch changes.
pub(crate) const BATCH_ROWS: u32 = 100;
/// Batches that the request applies before its response; a worker applies the others.
const AWAITED: u32 = 20;

/// A change with dependent rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cascade {
    /// An ACME account deactivated an authorization: its other authorizations for the name are deactivated, and open orders that
    /// depend on them fail.
    GiveUp { account: AccountId, acme_account: AcmeAccountId, given_up: GivenUp },
    /// An account was terminated: certificates are revoked if requested, memberships deleted, open orders cancelled, credentials and
    /// ACME accounts revoked.
    TerminateAccount { account: AccountId, revoke_certificates: bool },
    /// An ACME account was deactivated: open orders are cancelled.
    DeactivateAcmeAccount { account: AccountId, acme_account: AcmeAccountId },
    /// A group was deleted: memberships are deleted.
    DeleteGroup(GroupId),
    /// A policy was deleted: assignments are deleted.
    DeletePolicy(PolicyId),
    /// Many accounts are added to a group, removed from one, or moved.
    ChangeMembers(MemberChange),
}

/// The outcome of one batch.
#[derive(Default)]
struct Batch {
    /// All dependent rows are changed, and the job is deleted.
    done: bool,
    /// Where the next batch continues.
    progress: Progress,
    /// Accounts of a member change that could no longer be changed.
    left_out: usize,
    cancelled: Vec<Order>,
    failed: Vec<(OrderId, ValidationProblem)>,
    because: &'static str,
}

/// The position of a cascade in the lists that it changes page by page. It is in memory only: after a crash, the lists are scanned
/// again.
#[derive(Clone, Default)]
struct Progress {
    /// Whether the certificates of a terminated account are revoked.
    revoked: bool,
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

/// The number of rows that a batch may still change.
struct RowBudget(u32);

impl RowBudget {
    fn new() -> Self {
        Self(BATCH_ROWS)
    }

    /// How many items fit if each takes this many rows.
    fn fits(&self, rows: u32) -> u32 {
        self.0 / rows
    }

    fn spend(&mut self, rows: u32) {
        self.0 = self.0.saturating_sub(rows);
    }

    /// Spends the rows of an item if they fit, or if it is the first item and larger than any budget.
    fn spend_whole(&mut self, rows: u32) -> bool {
        let fits = rows <= self.0 || self.0 == BATCH_ROWS;
        if fits {
            self.spend(rows);
        }
        fits
    }
}

impl Kernel {
    /// Adds the job of a cascade to the transaction of the change, and returns its subject.
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

    /// Applies a cascade in database time of the reseller that caused it.
    pub fn run(&self, subject: &str, reseller: Option<ResellerId>) -> CascadeRun {
        CascadeRun {
            kernel: self.kernel.clone(),
            subject: subject.to_owned(),
            reseller,
            progress: Progress::default(),
            left_out: 0,
        }
    }

    /// Hands the remaining batches to a worker of this process.
    fn hand_over(&self, subject: String, reseller: ResellerId) {
        self.kernel.start(Job { kind: JobKind::Cascade, subject, attempts: 1, reseller: Some(reseller) });
    }
}

/// A cascade that this process applies.
pub struct CascadeRun {
    kernel: Arc<Kernel>,
    subject: String,
    reseller: Option<ResellerId>,
    progress: Progress,
    /// Accounts of a member change that could no longer be changed.
    left_out: usize,
}

impl CascadeRun {
    /// Applies the next batch; `true` if nothing is left.
    pub async fn apply_batch(&mut self) -> Result<bool, ServiceError> {
        let (kernel, subject, progress) = (self.kernel.clone(), self.subject.clone(), self.progress.clone());
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
        let (batch, by) = self.kernel.store_of(self.reseller).write(unit).await?;
        fault::reached(Step::Batched);
        if let Some(by) = by {
            telling::cancelled(&by, &batch.cancelled, batch.because);
        }
        for (order, problem) in &batch.failed {
            self.kernel.tell_failed(*order, "authorization", problem).await;
        }
        self.progress = batch.progress;
        self.left_out += batch.left_out;
        Ok(batch.done)
    }

    /// Applies at most this many batches; `true` if nothing is left.
    async fn apply_batches(&mut self, most: u32) -> Result<bool, ServiceError> {
        for _ in 0..most {
            if self.apply_batch().await? {
                return Ok(true);
            }
        }
        Ok(false)
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

/// Deletes one batch of rows; done if fewer were left.
fn delete(
    tx: &mut Tx<'_>,
    task: &Task,
    delete: impl FnOnce(&mut Tx<'_>) -> Result<u64, ServiceError>,
) -> Result<Batch, ServiceError> {
    let done = task.lock(tx)? && delete(tx)? < u64::from(BATCH_ROWS);
    Ok(Batch { done, ..Batch::default() })
}

/// Applies the first batches of cascades whose jobs are durable. A worker applies the others.
pub(crate) async fn begin(kernel: &Arc<Kernel>, reseller: ResellerId, subjects: Vec<String>) {
    fault::reached(Step::Cascading);
    let cascades = Cascades::new(kernel.clone());
    // Detached: if the client disconnects, the batches still run now and not after the lease has expired.
    let begun = to_the_end(async move {
        for subject in subjects {
            match cascades.run(&subject, Some(reseller)).apply_batches(AWAITED).await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, subject, "failed to apply a batch; a worker tries again"),
            }
            cascades.hand_over(subject, reseller);
        }
        Ok(())
    });
    if let Err(error) = begun.await {
        tracing::error!(%error, "failed to begin a cascade; a worker takes it over when its lease ends");
    }
}

/// Applies all batches of a cascade whose job is durable, before the response. If one fails, a worker applies the others. Returns how
/// many accounts were left out.
pub(crate) async fn finish(kernel: &Arc<Kernel>, reseller: ResellerId, subject: String) -> Result<usize, ServiceError> {
    fault::reached(Step::Cascading);
    let cascades = Cascades::new(kernel.clone());
    to_the_end(async move {
        let mut run = cascades.run(&subject, Some(reseller));
        let applied = run.apply_batches(u32::MAX).await;
        if applied.is_err() {
            cascades.hand_over(subject, reseller);
        }
        applied.map(|_| run.left_out)
    })
    .await
}
