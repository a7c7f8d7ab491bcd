//! Does what the use cases have promised: looks whether control of names is shown, issues certificates, and tells
//! webhooks what has happened.
//!
//! A job is begun in the process that took the request, the moment its unit of work is durable. The row of the job is
//! the way back from a crash: when its lease ends, any node takes it over. Every job reads the state anew and is harmless
//! to repeat.

mod caa;
mod cascading;
mod corroboration;
mod courier;
mod held;
mod inspector;
mod issuing;
mod logs;
mod validating;
mod webhook_hosts;

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use caa::Eyes;
use chancery_domain::{CaaEvidence, Clock, ProblemKind, ValidationProblem};
use chancery_fair::{FairPlaces, Place};
use chancery_overload::MAX_IN_FLIGHT;
use chancery_service::{Fresh, Job, JobKind, Looker, SPANS, ServiceError, Services};
pub use corroboration::{Corroborated, Elsewhere, Witness};
pub use courier::Courier;
pub use inspector::{CaaVerdict, Inspector, Seen};
pub use logs::{LogKeeper, Logs, Promised};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tracing::{Instrument, Span};
pub use webhook_hosts::WebhookHosts;

use crate::held::Held;

/// How often a node looks for jobs that another has left behind.
const PATROL: Duration = Duration::from_secs(1);
/// How soon something is tried again that failed because the database was not there.
const PAUSE: Duration = Duration::from_millis(500);
/// Jobs at work at a time in this process; the others wait without costing a connection or a thread. Each kind has
/// places of its own: looks take long, and nobody who waits for a certificate waits for them.
const VALIDATING: usize = MAX_IN_FLIGHT;
const ISSUING: usize = 256;
/// Certificates that logs are shown at a time; while they are, others are issued in their places.
const SHOWING: usize = 128;
/// Batches of cascades at a time. After each batch its place goes to the next reseller that waits.
const CASCADING: usize = 4;
/// Jobs whose reseller is looked up at a time.
const ASSIGNING: usize = 64;
/// After so many beginnings a job is not going to work.
const MOST_ATTEMPTS: i64 = 8;

/// The workers of one process.
#[derive(Clone)]
pub struct Workers {
    services: Services,
    /// None takes every name for shown: for test environments that say so.
    inspector: Option<Arc<dyn Inspector>>,
    clock: Arc<dyn Clock>,
    /// Who is shown what is going to be issued.
    logs: Arc<Logs>,
    places: Places,
    held: Held,
}

/// Where jobs are done; those of a reseller leave room for those of others.
#[derive(Clone)]
struct Places {
    assigning: Arc<Semaphore>,
    validating: FairPlaces,
    issuing: FairPlaces,
    showing: FairPlaces,
    cascading: FairPlaces,
}

impl Workers {
    pub fn new(services: Services, inspector: Option<Arc<dyn Inspector>>, clock: Arc<dyn Clock>) -> Self {
        let places = Places {
            assigning: Arc::new(Semaphore::new(ASSIGNING)),
            validating: FairPlaces::new(VALIDATING),
            issuing: FairPlaces::new(ISSUING),
            showing: FairPlaces::new(SHOWING),
            cascading: FairPlaces::new(CASCADING),
        };
        let logs = Arc::new(Logs::new(Vec::new(), clock.clone()));
        Self { services, inspector, clock, logs, places, held: Held::default() }
    }

    /// Shows these logs what is going to be issued, where a profile wants that.
    #[must_use]
    pub fn with_logs(mut self, logs: Arc<Logs>) -> Self {
        self.logs = logs;
        self
    }

    /// With room for other numbers of jobs than usual; for tests.
    #[must_use]
    pub fn with_places(mut self, validating: usize, issuing: usize) -> Self {
        self.places.validating = FairPlaces::new(validating);
        self.places.issuing = FairPlaces::new(issuing);
        self
    }

    /// Works until `stop`; what is under way then is left to other nodes.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) {
        self.run_until(Box::pin(stop)).await;
    }

    /// In a box, so that it is compiled in this crate and not in that of the caller.
    fn run_until(self, stop: Pin<Box<dyn Future<Output = ()> + Send>>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.work_until(stop))
    }

    async fn work_until(self, stop: impl Future<Output = ()>) {
        let Some(mut fresh) = self.services.jobs.take_fresh() else { return };
        let looker: Arc<dyn Looker> = Arc::new(self.clone());
        self.services.validations.look_with(Arc::downgrade(&looker));
        let mut at_work = JoinSet::new();
        // Beside the rest: a database that does not answer must keep nobody from beginning, holding on or stopping.
        let (tell, mut found) = mpsc::channel(1);
        let (patrolling, holding) = (self.patrol(tell), self.hold_on());
        tokio::pin!(stop, patrolling, holding);
        loop {
            let jobs = tokio::select! {
                Some(fresh) = fresh.recv() => vec![fresh],
                Some(jobs) = found.recv() => jobs,
                Some(_) = at_work.join_next() => continue,
                () = &mut patrolling => continue,
                () = &mut holding => continue,
                () = &mut stop => break,
            };
            // One that is at work here already is done once more when it ends, and not beside itself.
            for Fresh { job, span } in jobs {
                let Some(job) = self.held.take(job) else { continue };
                let me = self.clone();
                let span = traced(&span, &job);
                let work = async move {
                    let (_guard, _in_flight) = (me.held.guard(&job), me.services.jobs.start(&job));
                    let mut next = Some(job);
                    while let Some(job) = next {
                        me.work_in_turn(&job).await;
                        next = me.held.release(&job);
                    }
                };
                at_work.spawn(work.instrument(span));
            }
        }
        at_work.shutdown().await;
        while let Ok(fresh) = fresh.try_recv() {
            self.held.take(fresh.job);
        }
        found.close();
        while let Some(jobs) = found.recv().await {
            jobs.into_iter().for_each(|fresh| drop(self.held.take(fresh.job)));
        }
        let left = self.held.all();
        if left.is_empty() {
            return;
        }
        tracing::info!(jobs = left.len(), "leaving jobs to other nodes");
        if let Err(error) = self.services.jobs.let_go(left).await {
            tracing::warn!(%error, "could not let go of jobs: they are taken over when their leases end");
        }
    }

    /// Does one job at once; for tests, and for whoever wants it done now.
    pub async fn work(&self, job: Job) {
        let job = self.with_reseller(job).await;
        self.work_for(&whose(&job), &job, None).await;
    }

    async fn work_in_turn(&self, job: &Job) {
        let job = {
            let _turn = self.places.assigning.acquire().await;
            &self.with_reseller(job.clone()).await
        };
        let whose = whose(job);
        let places = match job.kind {
            JobKind::Validate => &self.places.validating,
            JobKind::Issue => &self.places.issuing,
            JobKind::Cascade => &self.places.cascading,
        };
        let place = places.acquire(&whose).await;
        self.work_for(&whose, job, Some(place)).await;
    }

    /// Sees to it that nobody takes over what this process has, at work or waiting: a look for control can take longer
    /// than a lease, and twice the work is twice the questions to the applicant.
    async fn hold_on(&self) {
        let pause = self.services.jobs.lease_time() / 3;
        loop {
            tokio::time::sleep(pause).await;
            // One that is done in this moment, or another's by now, is not renewed: whoever concludes first is right.
            if let Err(error) = self.services.jobs.renew_all(self.held.all()).await {
                tracing::warn!(%error, "could not hold on to jobs");
            }
        }
    }

    /// Looks up the reseller of a job that does not name it. A job whose reseller cannot be found is done in no one's name.
    async fn with_reseller(&self, job: Job) -> Job {
        if job.reseller.is_some() {
            return job;
        }
        match self.services.jobs.reseller(&job).await {
            Ok(reseller) => Job { reseller, ..job },
            Err(error) => {
                tracing::warn!(%error, subject = job.subject, "could not look up whose job it is");
                job
            }
        }
    }

    async fn work_for(&self, whose: &str, job: &Job, place: Option<Place>) {
        let done = match job.kind {
            JobKind::Validate => self.validate(whose, job).await,
            JobKind::Issue => self.issue(whose, job, place).await,
            JobKind::Cascade => self.cascade(whose, job, place).await,
        };
        let outcome = if done.is_ok() { "done" } else { "failed" };
        metrics::counter!("chancery_jobs_total", "kind" => job.kind.as_str(), "outcome" => outcome).increment(1);
        if let Err(error) = done {
            // Its lease ends soon, and then it is tried again.
            let order = (job.kind == JobKind::Issue).then_some(job.subject.as_str());
            let (kind, subject, attempts) = (job.kind.as_str(), job.subject.as_str(), job.attempts);
            tracing::warn!(%error, order, kind, subject, attempts, "a job did not end");
        }
    }

    /// Does something until it succeeds, or fails in a way that does not pass; as long as the job is sure to be ours.
    async fn persistently<T, F>(&self, job: &Job, work: impl Fn() -> F) -> Result<T, ServiceError>
    where
        F: Future<Output = Result<T, ServiceError>>,
    {
        let began = Instant::now();
        loop {
            match work().await {
                Err(error) if self.may_try_again(job, began, &error).await => {}
                done => return done,
            }
        }
    }

    /// Waits a little where something failed that may succeed in a moment, and then says that it may be tried again:
    /// whoever waits for it need not wait for the lease to end, too. After that it may be another's. A token that is away
    /// is not waited for here, in a place that others need.
    async fn may_try_again(&self, job: &Job, began: Instant, error: &ServiceError) -> bool {
        if !error.is_transient() || began.elapsed() >= self.services.jobs.lease_time() {
            return false;
        }
        tracing::debug!(%error, subject = job.subject, "a job is tried again");
        tokio::time::sleep(PAUSE).await;
        true
    }

    /// Finds what others have left behind, for ever.
    async fn patrol(&self, found: mpsc::Sender<Vec<Fresh>>) {
        loop {
            match self.services.jobs.lease().await {
                Ok(jobs) if jobs.is_empty() => {}
                // Nobody listens any more where the process stops.
                Ok(jobs) => {
                    let jobs = jobs.into_iter().map(|job| Fresh { job, span: Span::none() });
                    drop(found.send(jobs.collect()).await);
                }
                Err(error) => tracing::warn!(%error, "could not look for jobs that were left behind"),
            }
            tokio::time::sleep(PATROL).await;
        }
    }

    fn nothing_found(&self) -> CaaEvidence {
        CaaEvidence::no_records(self.clock.now())
    }
}

/// The name by which a job takes its turn.
fn whose(job: &Job) -> String {
    job.reseller.map(|reseller| reseller.to_string()).unwrap_or_default()
}

/// The span of a job, in the trace of whoever began it.
fn traced(begun_in: &Span, job: &Job) -> Span {
    let (kind, subject) = (job.kind.as_str(), job.subject.as_str());
    tracing::trace_span!(target: SPANS, parent: begun_in, "job", kind, subject)
}

fn gave_up() -> ValidationProblem {
    let detail = "the service tried several times and could not finish; order again".to_owned();
    ValidationProblem { kind: ProblemKind::ServerInternal, detail }
}
