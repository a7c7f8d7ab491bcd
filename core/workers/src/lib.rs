//! Does what the use cases have promised: looks whether control of names is shown, and issues certificates.
//!
//! A job is begun in the process that took the request, the moment its unit of work is durable. The row of the job is
//! the way back from a crash: when its lease ends, any node takes it over. Every job reads the state anew and is harmless
//! to repeat.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_dcv::{Check, Validator};
use chancery_domain::{
    CaaEvidence, ChallengeId, ChallengeType, Clock, Identifier, OrderId, ProblemKind, ValidationProblem,
};
use chancery_service::{Assignment, CaaAnswer, CaaAsker, Job, JobKind, Prepared, Report, ServiceError, Services};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How often a node looks for jobs that another has left behind.
const PATROL: Duration = Duration::from_secs(1);
/// Jobs at work at a time in this process; the others wait without costing a connection or a thread.
const AT_ONCE: usize = 1024;
/// After so many beginnings a job is not going to work.
const MOST_ATTEMPTS: i64 = 8;

/// The workers of one process.
#[derive(Clone)]
pub struct Workers {
    services: Services,
    /// None takes every name for shown: for test environments that say so.
    validator: Option<Arc<Validator>>,
    clock: Arc<dyn Clock>,
}

impl Workers {
    pub fn new(services: Services, validator: Option<Arc<Validator>>, clock: Arc<dyn Clock>) -> Self {
        Self { services, validator, clock }
    }

    /// Works until `stop`; what is under way then is left to its lease.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Some(mut fresh) = self.services.jobs.take_fresh() else { return };
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let mut at_work = JoinSet::new();
        let mut patrol = tokio::time::interval(PATROL);
        tokio::pin!(stop);
        loop {
            let jobs = tokio::select! {
                Some(job) = fresh.recv() => vec![job],
                _ = patrol.tick() => self.left_behind().await,
                Some(_) = at_work.join_next() => continue,
                () = &mut stop => break,
            };
            for job in jobs {
                let (me, places) = (self.clone(), places.clone());
                at_work.spawn(async move {
                    let _place = places.acquire_owned().await;
                    me.hold_and_work(job).await;
                });
            }
        }
    }

    /// Does one job, and sees to it that nobody takes it over meanwhile: a look for control can take longer than a
    /// lease, and twice the work is twice the questions to the applicant.
    async fn hold_and_work(&self, job: Job) {
        let pause = self.services.jobs.lease_time() / 3;
        let holding = async {
            loop {
                tokio::time::sleep(pause).await;
                match self.services.jobs.renew(&job).await {
                    Ok(true) => {}
                    // Done in this moment, or another's: whoever concludes first is right.
                    Ok(false) => std::future::pending().await,
                    Err(error) => tracing::warn!(%error, subject = job.subject, "could not hold on to a job"),
                }
            }
        };
        tokio::select! {
            () = self.work(job.clone()) => {}
            () = holding => {}
        }
    }

    /// Does one job; for tests, and for whoever wants it done now.
    pub async fn work(&self, job: Job) {
        let done = match job.kind {
            JobKind::Validate => self.validate(&job).await,
            JobKind::Issue => self.issue(&job).await,
        };
        let outcome = if done.is_ok() { "done" } else { "failed" };
        metrics::counter!("chancery_jobs_total", "kind" => job.kind.as_str(), "outcome" => outcome).increment(1);
        if let Err(error) = done {
            // Its lease ends soon, and then it is tried again.
            tracing::warn!(%error, kind = job.kind.as_str(), subject = job.subject, attempts = job.attempts, "a job did not end");
        }
    }

    async fn left_behind(&self) -> Vec<Job> {
        self.services.jobs.lease().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "could not look for jobs that were left behind");
            Vec::new()
        })
    }

    async fn validate(&self, job: &Job) -> Result<(), ServiceError> {
        let Ok(id) = job.subject.parse::<ChallengeId>() else { return self.services.jobs.drop_unreadable(job).await };
        let Some(assignment) = self.services.validations.begin(id).await? else { return Ok(()) };
        let report = match job.attempts > MOST_ATTEMPTS {
            true => Report { attempts: Vec::new(), outcome: Err(gave_up()) },
            false => self.look(&assignment).await,
        };
        self.services.validations.conclude(id, report).await
    }

    async fn look(&self, assignment: &Assignment) -> Report {
        let Some(validator) = &self.validator else {
            return Report { attempts: Vec::new(), outcome: Ok(self.nothing_found()) };
        };
        let Assignment { identifier, kind, token, key_authorization, account_uri, .. } = assignment;
        let check = Check {
            identifier: identifier.clone(),
            kind: *kind,
            token: token.clone(),
            key_authorization: key_authorization.clone(),
        };
        let began = Instant::now();
        let verified = validator.verify(&check).await;
        metrics::histogram!("chancery_validation_seconds", "method" => kind.as_str()).record(began.elapsed());
        let outcome = match verified.outcome {
            Ok(()) => validator.caa(identifier, Some(account_uri), *kind).await,
            Err(problem) => Err(problem),
        };
        Report { attempts: verified.attempts, outcome }
    }

    async fn issue(&self, job: &Job) -> Result<(), ServiceError> {
        let Ok(id) = job.subject.parse::<OrderId>() else { return self.services.jobs.drop_unreadable(job).await };
        let issuance = &self.services.issuance;
        if job.attempts > MOST_ATTEMPTS {
            return issuance.fail(id, gave_up()).await;
        }
        loop {
            match issuance.prepare(id).await? {
                Prepared::Done => return Ok(()),
                Prepared::Drafted => return issuance.sign(id).await,
                Prepared::AskCaa(names) => {
                    for name in names {
                        let answer = match &self.validator {
                            Some(validator) => {
                                validator.caa(&name.identifier, Some(&name.account_uri), name.method).await
                            }
                            None => Ok(self.nothing_found()),
                        };
                        issuance.note_caa(id, name.authorization, answer).await?;
                    }
                }
            }
        }
    }

    fn nothing_found(&self) -> CaaEvidence {
        CaaEvidence { checked_at: self.clock.now(), found_at: None, records: Vec::new() }
    }
}

/// Looks at CAA records for the use cases.
pub struct Eyes(pub Arc<Validator>);

impl CaaAsker for Eyes {
    fn ask<'a>(&'a self, identifier: &'a Identifier, account_uri: &'a str, method: ChallengeType) -> CaaAnswer<'a> {
        Box::pin(self.0.caa(identifier, Some(account_uri), method))
    }
}

fn gave_up() -> ValidationProblem {
    let detail = "the service tried several times and could not finish; order again".to_owned();
    ValidationProblem { kind: ProblemKind::ServerInternal, detail }
}
