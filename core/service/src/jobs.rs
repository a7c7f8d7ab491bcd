//! The jobs of this process: those that begin at once, and those that others left behind.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{ChallengeId, ResellerId};
use chancery_overload::InFlightGuard;
use chancery_store::{Backlog, Job, JobKind, Tx};
use tokio::sync::mpsc;

use crate::cascades;
use crate::error::ServiceError;
use crate::kernel::{Fresh, Kernel};

/// Jobs that a node takes over at a time.
const MOST: u32 = 64;
/// Jobs that are renewed in one unit of work.
const MOST_RENEWED: usize = 100;
/// Jobs that are counted.
const MOST_COUNTED: u32 = 10_000;

/// The jobs of one kind that are not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    pub kind: JobKind,
    pub jobs: i64,
    /// Those of them that nobody has begun, or gone on with, in time: a node takes them over when it looks again.
    pub overdue: i64,
    /// For how long the oldest has been there.
    pub oldest: Duration,
    /// Whether there are more than were counted, of this kind or another.
    pub more: bool,
}

#[derive(Clone)]
pub struct Jobs {
    kernel: Arc<Kernel>,
}

impl Jobs {
    pub(crate) fn new(kernel: Arc<Kernel>) -> Self {
        Self { kernel }
    }

    /// The jobs that are to be begun at once; there is one receiver.
    pub fn take_fresh(&self) -> Option<mpsc::UnboundedReceiver<Fresh>> {
        self.kernel.take_jobs()
    }

    /// Takes over jobs whose lease has ended.
    pub async fn lease(&self) -> Result<Vec<Job>, ServiceError> {
        let (kernel, now, lease) = (self.kernel.clone(), self.kernel.now(), self.lease_time());
        // A look first, so that a quiet service writes nothing.
        if !self.kernel.store.read(move |tx| tx.has_due_jobs(now, lease)).await? {
            return Ok(Vec::new());
        }
        self.kernel.store.write(move |tx| Ok(tx.lease_jobs(&kernel.node, now, lease, MOST)?)).await
    }

    /// Holds on to all of these that are this node's.
    pub async fn renew_all(&self, jobs: Vec<Job>) -> Result<(), ServiceError> {
        for some in jobs.chunks(MOST_RENEWED) {
            let (kernel, some) = (self.kernel.clone(), some.to_vec());
            let (now, lease) = (kernel.now(), self.lease_time());
            let renew = move |tx: &mut Tx<'_>| {
                some.iter().try_for_each(|job| Ok(tx.renew_job(job, &kernel.node, now, lease).map(drop)?))
            };
            self.kernel.store.write::<_, ServiceError, _>(renew).await?;
        }
        Ok(())
    }

    /// Gives all of these up that are this node's: it stops, and nobody need wait for their leases to end.
    pub async fn let_go(&self, jobs: Vec<Job>) -> Result<(), ServiceError> {
        for some in jobs.chunks(MOST_RENEWED) {
            let (kernel, now, some) = (self.kernel.clone(), self.kernel.now(), some.to_vec());
            let give_up =
                move |tx: &mut Tx<'_>| some.iter().try_for_each(|job| Ok(tx.let_job_go(job, &kernel.node, now)?));
            self.kernel.store.write::<_, ServiceError, _>(give_up).await?;
        }
        Ok(())
    }

    /// Puts off the next attempt at a job that has failed: by a lease, then by twice as long each time, up to ten minutes.
    pub async fn back_off(&self, job: &Job) -> Result<(), ServiceError> {
        let doublings = u32::try_from(job.attempts.saturating_sub(1)).unwrap_or(0).min(16);
        let pause = self.lease_time().saturating_mul(1 << doublings);
        let (kernel, now, job) = (self.kernel.clone(), self.kernel.now(), job.clone());
        self.kernel.store.write(move |tx| Ok(tx.postpone_job(&job, &kernel.node, now, pause)?)).await
    }

    /// Counts a job as in flight until the guard is dropped.
    pub fn start(&self, job: &Job) -> Option<InFlightGuard> {
        job.reseller.map(|reseller| self.kernel.in_flight.start(reseller))
    }

    /// Whose job it is; none where its subject is gone.
    pub async fn reseller(&self, job: &Job) -> Result<Option<ResellerId>, ServiceError> {
        let job = job.clone();
        let read = move |tx: &mut Tx<'_>| {
            Ok::<_, ServiceError>(match job.kind {
                JobKind::Validate => match job.subject.parse::<ChallengeId>() {
                    Ok(id) => tx.any_authorization(id.authorization())?.map(|authorization| authorization.reseller),
                    Err(_) => None,
                },
                JobKind::Issue => match job.subject.parse() {
                    Ok(id) => tx.any_order(id)?.map(|order| order.reseller),
                    Err(_) => None,
                },
                JobKind::Cascade => tx.cascade(&job.subject)?.as_ref().and_then(cascades::reseller),
            })
        };
        self.kernel.store.peek(read).await
    }

    /// What waits or is at work, on all nodes, by kind.
    pub async fn backlog(&self) -> Result<Vec<Queue>, ServiceError> {
        let now = self.kernel.now();
        let backlog = self.kernel.store.read(move |tx| tx.backlog(now, MOST_COUNTED)).await?;
        let more = backlog.iter().map(|backlog| backlog.jobs).sum::<i64>() >= i64::from(MOST_COUNTED);
        let of = |kind: JobKind| {
            let found = backlog.iter().find(|backlog| backlog.kind == kind);
            found.map_or(
                Queue { kind, jobs: 0, overdue: 0, oldest: Duration::ZERO, more },
                |Backlog { jobs, due, oldest, .. }| Queue {
                    kind,
                    jobs: *jobs,
                    overdue: *due,
                    oldest: now.since(*oldest),
                    more,
                },
            )
        };
        Ok(JobKind::ALL.map(of).to_vec())
    }

    /// How long a job is a node's own unless it holds on to it.
    pub fn lease_time(&self) -> Duration {
        self.kernel.settings.issuing.job_lease
    }

    /// Removes a job whose subject nobody can read.
    pub async fn drop_unreadable(&self, job: &Job) -> Result<(), ServiceError> {
        let job = job.clone();
        tracing::error!(subject = job.subject, "dropped a job with an unreadable subject");
        self.kernel.store.write(move |tx| Ok(tx.finish_job(job.kind, &job.subject)?)).await
    }
}
