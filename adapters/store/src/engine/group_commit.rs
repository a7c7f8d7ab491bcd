//! The SQLite writer: runs the waiting units of work in one transaction and commits them with one fsync.
//!
//! Units are taken one at a time, each from the tenant that has used the least of the writer's time. A group that has run for
//! 5 ms, or twice as long as a commit takes, takes no more of them, so a unit waits for at most the one that is running, its own group and a commit if its tenant has few.
//! The time of a commit, with the checkpoint that it may bring along, is charged to the tenants of its units: in proportion to the
//! time that their units have run.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_fair::{FairReceiver, Tenant};
use rusqlite::Connection;

use super::lost_log;
use super::open_file::OpenFile;
use super::sqlite::{Shared, run};
use super::trouble::Told;
use crate::error::StoreError;
use crate::tx::{Known, Session, Tx};
use crate::unit::{Errand, Unit};

/// How long a group takes units that have arrived since it began.
const GATHERS_FOR: Duration = Duration::from_millis(5);
/// How long a group takes units at all: twice as long as a commit takes, but within these bounds. On a slow disk commits are shared
/// by more units; on a fast one, a unit of another tenant does not wait for a long group.
const RUNS_FOR: RangeInclusive<Duration> = Duration::from_millis(5)..=Duration::from_millis(20);
/// How long a large group waits for more units, at most. Pages that every unit changes are written once for each commit.
const WAITS_FOR: Duration = Duration::from_millis(2);
/// The size of a large group. In a smaller one, a unit would wait for no good reason.
const MANY: usize = 8;

/// The connection that writes, with the queue of units that it serves.
pub(super) struct Writer {
    connection: Connection,
    file: OpenFile,
    shared: Arc<Shared>,
    queue: FairReceiver<Errand>,
    /// The largest size of a group.
    most: usize,
    /// How long the last commit took.
    commit_took: Cell<Duration>,
}

/// How to run one unit of a group; `false` if it has left something behind that must not be committed.
type Run = fn(&Writer, &mut dyn Unit) -> Result<bool, StoreError>;

impl Writer {
    pub(super) fn new(
        connection: Connection,
        file: OpenFile,
        shared: Arc<Shared>,
        queue: FairReceiver<Errand>,
        most: usize,
    ) -> Self {
        Self { connection, file, shared, queue, most, commit_took: Cell::default() }
    }

    /// Commits group after group until the store is closed. Under load groups grow by themselves, because units queue up during
    /// each commit.
    pub(super) fn work(&self) {
        let (mut told, mut before) = (Told::default(), 0);
        while self.queue.wait() {
            let since = Instant::now();
            // No longer than a commit takes, so that a unit waits for two of them at most.
            let commit_took = self.commit_took.get();
            let waits = if before < MANY { Duration::ZERO } else { commit_took.min(WAITS_FOR) };
            let runs_for = (2 * commit_took).clamp(*RUNS_FOR.start(), *RUNS_FOR.end());
            let mut group = Group::new(&self.queue, self.most, since + waits, runs_for);
            let committed = self.commit_together(&mut group);
            if committed.is_ok() {
                group.charge_commit(self.commit_took.get());
            }
            if committed.is_err() && group.units.is_empty() {
                // The transaction could not begin: the units that wait need not try that one after the other.
                group.take_waiting();
            }
            let units = group.units;
            before = units.len();
            metrics::histogram!("chancery_store_group_commit_units").record(units.len() as f64);
            told.tell(committed.as_ref().err(), units.len());
            self.shared.trouble.note(committed.as_ref().err());
            // Before the callers are answered, so that their next question about peaks includes this commit.
            let took = since.elapsed();
            self.shared.peaks.note_time(took);
            metrics::histogram!("chancery_store_unit_seconds", "kind" => "write").record(took);
            for member in units {
                member.errand.settle(committed.clone());
            }
        }
    }

    fn commit_together(&self, group: &mut Group<'_>) -> Result<(), StoreError> {
        // Most units that are refused have written nothing by then, so the first attempt does without savepoints: with one,
        // SQLite copies every page before it is changed.
        let unspoilt = self.in_transaction(|| self.run_group(group, Instant::now(), Self::run_directly))?;
        if unspoilt {
            return Ok(());
        }
        self.in_transaction(|| self.run_again(group)).map(drop)
    }

    /// Commits what `work` has done if it returns `true`, and rolls it back otherwise.
    fn in_transaction(&self, work: impl FnOnce() -> Result<bool, StoreError>) -> Result<bool, StoreError> {
        let trouble = &self.shared.trouble;
        if trouble.require_log().is_err() {
            lost_log::keep(&self.connection, &self.file, trouble);
            trouble.require_log()?;
        }
        let begun = self.run("BEGIN IMMEDIATE").map_err(StoreError::from);
        let ended = begun.and_then(|()| work()).and_then(|keep| {
            let begun = Instant::now();
            if keep {
                self.file.require_there()?;
            }
            self.run(if keep { "COMMIT" } else { "ROLLBACK" })?;
            self.commit_took.set(begun.elapsed());
            Ok(keep)
        });
        if ended.is_err() && !self.connection.is_autocommit() {
            drop(self.connection.execute_batch("ROLLBACK"));
        }
        if ended.is_err() && self.file.lost().is_some() {
            lost_log::keep(&self.connection, &self.file, trouble);
            trouble.require_log()?;
        }
        ended
    }

    /// Runs units as they join the group, until it is closed; stops with `false` at one that has left something behind. Each
    /// unit is charged to its tenant.
    fn run_group(&self, group: &mut Group<'_>, opened: Instant, run: Run) -> Result<bool, StoreError> {
        while let Some((_, unit)) = group.next(opened.elapsed()) {
            let started = Instant::now();
            let kept = run(self, unit);
            group.finish(started.elapsed());
            if !kept? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs the units of a group that the last one has spoiled again, and lets others join. The tenant of that one pays.
    fn run_again(&self, group: &mut Group<'_>) -> Result<bool, StoreError> {
        let opened = Instant::now();
        for member in &mut group.units {
            self.run_revocably(member.errand.unit.as_mut())?;
        }
        if let Some(last) = group.units.last() {
            self.queue.charge(last.tenant, opened.elapsed());
        }
        self.run_group(group, opened, Self::run_revocably)
    }

    fn run_directly(&self, unit: &mut dyn Unit) -> Result<bool, StoreError> {
        let before = self.connection.total_changes();
        Ok(self.run_unit(unit)? || self.connection.total_changes() == before)
    }

    /// Runs a unit in a savepoint, so that it leaves nothing behind if it fails.
    fn run_revocably(&self, unit: &mut dyn Unit) -> Result<bool, StoreError> {
        self.run("SAVEPOINT unit")?;
        if !self.run_unit(unit)? {
            self.run("ROLLBACK TO unit")?;
        }
        self.run("RELEASE unit")?;
        Ok(true)
    }

    /// Runs a unit; `true` if its changes are to be kept.
    fn run_unit(&self, unit: &mut dyn Unit) -> Result<bool, StoreError> {
        let known = Known { parties: &self.shared.parties, keeps: false };
        let before = self.connection.total_changes();
        let mut tx = Tx::new(Session::Sqlite(&self.connection)).knowing(known);
        let keep = unit.run(&mut tx);
        let failed = tx.failed();
        if keep {
            self.shared.peaks.note_rows(self.connection.total_changes() - before);
        }
        self.shared.trouble.note(failed.as_ref());
        // On a full disk or an I/O error SQLite rolls the whole transaction back by itself: then all of the group is lost.
        if self.connection.is_autocommit() {
            let unknown = || StoreError::Unavailable("the database rolled the transaction back".to_owned());
            return Err(failed.unwrap_or_else(unknown));
        }
        Ok(keep)
    }

    fn run(&self, sql: &str) -> rusqlite::Result<()> {
        run(&self.connection, sql)
    }
}

/// A unit that shares a commit with others.
struct Member {
    tenant: Tenant,
    errand: Errand,
    /// How long it ran.
    ran: Duration,
}

/// Units that share a commit.
struct Group<'q> {
    units: Vec<Member>,
    queue: &'q FairReceiver<Errand>,
    most: usize,
    /// Units that waited when the group began.
    waited: usize,
    /// How long the group waits for units to arrive.
    waits_until: Instant,
    /// How long the group takes units.
    runs_for: Duration,
}

impl<'q> Group<'q> {
    fn new(queue: &'q FairReceiver<Errand>, most: usize, waits_until: Instant, runs_for: Duration) -> Self {
        Self { units: Vec::new(), queue, most, waited: queue.len(), waits_until, runs_for }
    }

    /// The next unit to run in a group that has run for so long: as many as waited when it began, and those that arrive soon
    /// after.
    fn next(&mut self, elapsed: Duration) -> Option<(Tenant, &mut (dyn Unit + 'static))> {
        let taken = self.units.len();
        if taken >= self.most || (taken > 0 && elapsed >= self.runs_for) {
            return None;
        }
        let next = match taken < self.waited {
            true => self.queue.try_recv(),
            false if elapsed < GATHERS_FOR => self.queue.recv_deadline(self.waits_until),
            false => None,
        };
        let (tenant, errand) = next?;
        self.units.push(Member { tenant, errand, ran: Duration::ZERO });
        self.units.last_mut().map(|member| (member.tenant, member.errand.unit.as_mut()))
    }

    /// Charges the tenant of the last unit, which has run for so long.
    fn finish(&mut self, ran: Duration) {
        if let Some(last) = self.units.last_mut() {
            last.ran = ran;
            self.queue.finish(last.tenant, ran);
        }
    }

    /// Charges the tenants of all units for the commit.
    fn charge_commit(&self, took: Duration) {
        let whole: Duration = self.units.iter().map(|member| member.ran).sum();
        for Member { tenant, ran, .. } in &self.units {
            let nanos = took.as_nanos() * ran.as_nanos() / whole.as_nanos().max(1);
            self.queue.charge(*tenant, Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)));
        }
    }

    /// Takes the units that wait, without running them.
    fn take_waiting(&mut self) {
        while self.units.len() < self.most
            && let Some((tenant, errand)) = self.queue.try_recv()
        {
            self.queue.finish(tenant, Duration::ZERO);
            self.units.push(Member { tenant, errand, ran: Duration::ZERO });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use chancery_fair::{FairSender, QueueLimits, fair_channel};

    use super::*;
    use crate::unit::pack;

    const A: Tenant = Tenant::Id(1);
    const B: Tenant = Tenant::Id(2);
    const OPEN: Duration = Duration::ZERO;
    const HOURS: Duration = Duration::from_secs(7200);

    fn errand() -> Errand {
        Errand::new(pack(|_: &mut Tx<'_>| Ok::<_, StoreError>(()))).0
    }

    /// A queue in which so many units of a tenant wait.
    fn waiting(units: usize) -> (FairSender<Errand>, FairReceiver<Errand>) {
        let (come, queue) = fair_channel(QueueLimits { capacity: 100, servers: 1 });
        (0..units).for_each(|_| come.send(A, errand()).unwrap());
        (come, queue)
    }

    fn group_of(queue: &FairReceiver<Errand>, most: usize, waits_until: Instant) -> Group<'_> {
        Group::new(queue, most, waits_until, *RUNS_FOR.end())
    }

    fn joins(group: &mut Group<'_>, elapsed: Duration) -> bool {
        group.next(elapsed).is_some()
    }

    #[test]
    fn a_group_takes_who_waits_and_while_it_is_open_who_comes() {
        let (come, queue) = waiting(2);
        let mut group = group_of(&queue, 4, Instant::now());
        for _ in 0..3 {
            come.send(A, errand()).unwrap();
        }
        assert!(joins(&mut group, OPEN) && joins(&mut group, GATHERS_FOR));
        assert!(!joins(&mut group, GATHERS_FOR), "only units that waited join when it is closed to others");
        assert!(joins(&mut group, OPEN) && joins(&mut group, OPEN));
        assert!(!joins(&mut group, OPEN) && queue.len() == 1, "no more than there may be");
    }

    #[test]
    fn a_group_that_has_run_for_long_takes_no_more() {
        let (_come, queue) = waiting(3);
        let mut group = group_of(&queue, 4, Instant::now());
        assert!(joins(&mut group, *RUNS_FOR.end()), "it is not empty");
        assert!(joins(&mut group, *RUNS_FOR.end() - Duration::from_nanos(1)));
        assert!(!joins(&mut group, *RUNS_FOR.end()) && queue.len() == 1);
    }

    #[test]
    fn a_unit_of_another_tenant_joins_before_the_rest_of_a_long_queue() {
        let (come, queue) = waiting(9);
        let mut group = group_of(&queue, 16, Instant::now());
        let (tenant, _) = group.next(OPEN).unwrap();
        come.send(B, errand()).unwrap();
        queue.finish(tenant, GATHERS_FOR);
        assert_eq!(group.next(GATHERS_FOR).map(|(tenant, _)| tenant), Some(B));
    }

    #[test]
    fn a_group_that_waits_takes_who_comes_by_then() {
        let (come, queue) = waiting(1);
        let mut group = group_of(&queue, 4, Instant::now() + HOURS);
        let late = thread::spawn(move || come.send(A, errand()).map(|()| come).is_ok());
        assert!(joins(&mut group, OPEN));
        assert!(joins(&mut group, OPEN), "it waits for one who is late");
        assert!(late.join().unwrap());
        assert!(!joins(&mut group, OPEN), "it waits for nobody where nobody can come");
        let (_come, queue) = waiting(1);
        let mut group = group_of(&queue, 4, Instant::now() + HOURS);
        assert!(joins(&mut group, OPEN));
        assert!(!joins(&mut group, GATHERS_FOR), "it does not wait once it is closed");
    }

    #[test]
    fn a_commit_is_charged_in_proportion_to_the_time_of_its_units() {
        const MILLI: Duration = Duration::from_millis(1);
        let (come, queue) = waiting(3);
        (0..3).for_each(|_| come.send(B, errand()).unwrap());
        let mut group = group_of(&queue, 2, Instant::now());
        for (expected, ran) in [(A, 9 * MILLI), (B, MILLI)] {
            assert_eq!(group.next(OPEN).map(|(tenant, _)| tenant), Some(expected));
            group.finish(ran);
        }
        group.charge_commit(100 * MILLI);
        // A has used 99 ms and B 11 ms.
        let mut next = group_of(&queue, 4, Instant::now());
        let mut order = Vec::new();
        while let Some((tenant, _)) = next.next(OPEN) {
            order.push(tenant);
            next.finish(20 * MILLI);
        }
        assert_eq!(order, [B, B, A, A]);
    }

    #[test]
    fn a_group_of_one_stays_alone() {
        let (_come, queue) = waiting(2);
        let mut group = group_of(&queue, 1, Instant::now() + HOURS);
        assert!(joins(&mut group, OPEN) && !joins(&mut group, OPEN));
        assert_eq!(queue.len(), 1);
    }

    #[test]
    fn units_that_cannot_begin_are_taken_together() {
        let (_come, queue) = waiting(5);
        let mut group = group_of(&queue, 4, Instant::now());
        group.take_waiting();
        assert_eq!((group.units.len(), queue.len()), (4, 1));
    }
}
