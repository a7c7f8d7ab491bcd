//! Work that must be done even if the process that began it dies.

use std::time::Duration;

use chancery_domain::{ResellerId, Timestamp};

use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::{Value, params};

/// What has to be done to a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// Look whether control of a name is shown; the subject is a challenge.
    Validate,
    /// Issue a certificate; the subject is an order.
    Issue,
    /// Apply a change in batches; the subject is what was changed.
    Cascade,
}

impl JobKind {
    pub const ALL: [Self; 3] = [Self::Validate, Self::Issue, Self::Cascade];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::Issue => "issue",
            Self::Cascade => "cascade",
        }
    }
}

/// A job that is ours to do until its lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub kind: JobKind,
    pub subject: String,
    /// How often it was begun, this time included.
    pub attempts: i64,
    /// Whose it is, where whoever began it has said so; the row does not tell.
    pub reseller: Option<ResellerId>,
}

/// The jobs of a kind that are not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    pub kind: JobKind,
    pub jobs: i64,
    /// Those of them whose time has come: nobody holds them any more.
    pub due: i64,
    pub oldest: Timestamp,
}

impl Tx<'_> {
    /// Adds a job that `node` begins at once and has until the lease ends; then it is anybody's. A subject that
    /// has such a job already keeps that one.
    pub fn enqueue(
        &mut self,
        kind: JobKind,
        subject: impl ToString,
        node: &str,
        now: Timestamp,
        lease: Duration,
    ) -> Result<(), StoreError> {
        self.put(
            "INSERT INTO jobs (kind, subject, run_at, attempts, lease, created_at) VALUES (?1, ?2, ?3, 1, ?4, ?5)
             ON CONFLICT DO NOTHING",
            params![kind.as_str(), subject.to_string(), now.plus(lease), node, now],
        )
    }

    /// Whether any job's time has come, or lies so far ahead that it comes from a clock that was wrong.
    pub fn has_due_jobs(&mut self, now: Timestamp, lease: Duration) -> Result<bool, StoreError> {
        let sql = "SELECT kind FROM jobs WHERE run_at <= ?1 OR run_at > ?2 LIMIT 1";
        Ok(self.query_one(sql, params![now, beyond(now, lease)], |_| Ok(()))?.is_some())
    }

    /// Takes up to `most` jobs whose time has come, for `lease`. No two nodes get the same one. No lease reaches far
    /// beyond now: one that does was given by a clock that was ahead, and does not count.
    pub fn lease_jobs(
        &mut self,
        node: &str,
        now: Timestamp,
        lease: Duration,
        most: u32,
    ) -> Result<Vec<Job>, StoreError> {
        let due = self.query_skipping_locked(
            "SELECT kind, subject, attempts FROM jobs WHERE run_at <= ?1 OR run_at > ?3 ORDER BY run_at LIMIT ?2",
            params![now, most, beyond(now, lease)],
            read,
        )?;
        let mut ours = Vec::with_capacity(due.len());
        for job in due {
            let taken = self.execute(
                "UPDATE jobs SET run_at = ?3, lease = ?4, attempts = attempts + 1
                 WHERE kind = ?1 AND subject = ?2 AND (run_at <= ?5 OR run_at > ?6)",
                params![job.kind.as_str(), job.subject.as_str(), now.plus(lease), node, now, beyond(now, lease)],
            )?;
            if taken == 1 {
                ours.push(Job { attempts: job.attempts + 1, ..job });
            }
        }
        Ok(ours)
    }

    /// How much there is to do, by kind. No more than `most` jobs are counted, those first whose lease ends first: what is
    /// stuck is among them.
    pub fn backlog(&mut self, now: Timestamp, most: u32) -> Result<Vec<Backlog>, StoreError> {
        let sql = "SELECT kind, COUNT(*), COUNT(CASE WHEN run_at <= ?2 THEN 1 END), MIN(created_at)
                   FROM (SELECT kind, run_at, created_at FROM jobs ORDER BY run_at LIMIT ?1) AS waiting GROUP BY kind";
        self.query(sql, params![most, now], |row| {
            Ok(Backlog { kind: kind(&row.text()?)?, jobs: row.int()?, due: row.int()?, oldest: row.time()? })
        })
    }

    /// Whether the job is still this node's: a node that slept past its lease must not finish what another has taken over.
    pub fn holds_job(&mut self, kind: JobKind, subject: &str, node: &str) -> Result<bool, StoreError> {
        let sql = "SELECT kind FROM jobs WHERE kind = ?1 AND subject = ?2 AND lease = ?3";
        Ok(self.query_one(sql, params![kind.as_str(), subject, node], |_| Ok(()))?.is_some())
    }

    /// Holds on to a job that takes longer than its lease; false if it is no longer this node's. An end that lies too
    /// far ahead is brought back.
    pub fn renew_job(&mut self, job: &Job, node: &str, now: Timestamp, lease: Duration) -> Result<bool, StoreError> {
        let sql = "UPDATE jobs SET run_at = ?4 WHERE kind = ?1 AND subject = ?2 AND lease = ?3
                   AND (run_at < ?4 OR run_at > ?5)";
        let params = params![job.kind.as_str(), job.subject.as_str(), node, now.plus(lease), beyond(now, lease)];
        Ok(self.execute(sql, params)? == 1)
    }

    /// Gives a job up that is this node's, so that another can take it over at once.
    pub fn let_job_go(&mut self, job: &Job, node: &str, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE jobs SET run_at = ?4 WHERE kind = ?1 AND subject = ?2 AND lease = ?3 AND run_at > ?4";
        self.put(sql, params![job.kind.as_str(), job.subject.as_str(), node, now])
    }

    /// Puts off the next attempt at a job that is this node's, by ten minutes at most.
    pub fn postpone_job(&mut self, job: &Job, node: &str, now: Timestamp, pause: Duration) -> Result<(), StoreError> {
        let sql = "UPDATE jobs SET run_at = ?4 WHERE kind = ?1 AND subject = ?2 AND lease = ?3 AND run_at < ?4";
        self.put(sql, params![job.kind.as_str(), job.subject.as_str(), node, now.plus(pause.min(NEARLY))])
    }

    /// Removes a job that is done; `false` where it is not this node's any more.
    pub fn conclude_job(&mut self, kind: JobKind, subject: impl ToString, node: &str) -> Result<bool, StoreError> {
        Ok(self.execute(CONCLUDE, &conclusion(kind, subject, node))? == 1)
    }

    /// Removes a job that is done, or that nothing can be done about.
    pub fn finish_job(&mut self, kind: JobKind, subject: impl ToString) -> Result<(), StoreError> {
        let sql = "DELETE FROM jobs WHERE kind = ?1 AND subject = ?2";
        self.put(sql, params![kind.as_str(), subject.to_string()])
    }
}

/// A job, if it is of the node that asks.
pub(super) const HELD: &str = "SELECT 1 FROM jobs WHERE kind = ?1 AND subject = ?2 AND lease = ?3";
/// Removes it.
pub(super) const CONCLUDE: &str = "DELETE FROM jobs WHERE kind = ?1 AND subject = ?2 AND lease = ?3";

pub(super) fn conclusion(kind: JobKind, subject: impl ToString, node: &str) -> [Value; 3] {
    [kind.as_str().into(), subject.to_string().into(), node.into()]
}

/// How far the clocks of nodes may differ, and how long an attempt at a job may be put off.
const NEARLY: Duration = Duration::from_secs(600);

/// Where no lease that was given now could end, by a clock that is nearly right: nodes whose clocks differ a little must
/// not take each other's jobs.
fn beyond(now: Timestamp, lease: Duration) -> Timestamp {
    now.plus(lease).plus(NEARLY)
}

fn kind(text: &str) -> Result<JobKind, StoreError> {
    let known = JobKind::ALL.into_iter().find(|kind| kind.as_str() == text);
    known.ok_or_else(|| StoreError::corrupt(format!("jobs.kind {text}")))
}

fn read(row: &mut Columns<'_>) -> Result<Job, StoreError> {
    Ok(Job { kind: kind(&row.text()?)?, subject: row.text()?, attempts: row.int()?, reseller: None })
}
