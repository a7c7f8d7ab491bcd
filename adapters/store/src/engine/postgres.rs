//! PostgreSQL: threads with a connection each; a unit of work is a transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use chancery_fair::{FairReceiver, FairSender, QueueLimits, Tenant, fair_channel};
use parking_lot::Mutex;

use crate::error::StoreError;
use crate::marks::{Marks, is_conflict, is_unknown};
use crate::peaks::{Peaks, WritePeaks};
use crate::pipeline::{Connection, NotCommitted};
use crate::protocol::{self, PostgresAddress};
use crate::rows::KnownParties;
use crate::store::Options;
use crate::tx::{Known, Session, Tx};
use crate::unit::{Errand, Kind, Unit};

use super::enqueue;
use super::tls::Connector;

/// How long a server that has let us in may take to hear how we want it.
const SETTLE: Duration = Duration::from_secs(3);
/// How long a unit may take once it has been begun, with all that it waits for.
const UNIT: Duration = Duration::from_secs(15);
/// How often a unit is run again after a conflict before its caller hears of it.
const ATTEMPTS: u32 = 12;

/// Threads that own connections, and make new ones when those break.
pub(crate) struct Pool {
    queue: FairSender<(Errand, Kind)>,
    refused: Arc<Refused>,
    peaks: Arc<Peaks>,
}

/// When the server last refused to write something, as when its disk is full; none once it was found to write again.
/// What fits into pages that are there may be written all the while, so that others' commits prove nothing.
#[derive(Default)]
pub(crate) struct Refused(Mutex<Option<Instant>>);

impl Refused {
    fn note(&self) {
        *self.0.lock() = Some(Instant::now());
    }
}

impl Pool {
    pub(crate) fn open(address: &PostgresAddress, options: &Options) -> Result<Self, StoreError> {
        let connections = options.connections.max(2);
        let (queue, jobs) = fair_channel(QueueLimits { capacity: options.queue, servers: connections });
        let connector = Connector::new(options.postgres_ca.as_deref())?;
        let (refused, lost) = (Arc::new(Refused::default()), Arc::new(AtomicU64::new(0)));
        let (parties, peaks) = (Arc::new(KnownParties::default()), Arc::new(Peaks::default()));
        for _ in 0..connections {
            let mut worker = Worker {
                address: address.clone(),
                connector: connector.clone(),
                connection: None,
                refused: refused.clone(),
                parties: parties.clone(),
                peaks: peaks.clone(),
                lost: lost.clone(),
                opened_after: 0,
            };
            let jobs = jobs.clone();
            let spawned = thread::Builder::new().name("store-postgres".to_owned()).spawn(move || worker.work(&jobs));
            spawned.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        }
        Ok(Self { queue, refused, peaks })
    }

    /// When something could not be written last, if it is not known that it can be by now.
    pub(crate) fn refused_at(&self) -> Option<Instant> {
        *self.refused.0.lock()
    }

    /// It was found that things can be written; unless something was refused since.
    pub(crate) fn forgive(&self, refused_at: Instant) {
        let mut last = self.refused.0.lock();
        *last = last.filter(|last| *last != refused_at);
    }

    pub(crate) fn send(&self, tenant: Tenant, errand: Errand, kind: Kind) -> Result<(), StoreError> {
        enqueue(&self.queue, tenant, (errand, kind))
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn take_peaks(&self) -> WritePeaks {
        self.peaks.take()
    }
}

/// Opens one connection to a server that can be written to, of those that are listed.
pub(crate) fn open(address: &PostgresAddress, connector: &Connector) -> Result<protocol::Session, protocol::Error> {
    let mut session = protocol::Session::open(address, connector)?;
    session.set_deadline(Some(Instant::now() + SETTLE));
    session.run(SETTINGS)?;
    session.set_deadline(None);
    Ok(session)
}

/// One plan for each statement, made once: with our indexes the values make no difference to it, and planning a list
/// anew each time takes longer than reading it. Compiling it to machine code, which the server does when it expects
/// a long list and not a page of one, takes a hundred times as long. And no disk of today is four times slower where it
/// jumps: the planner would read a whole table in order rather than a page of it by its index.
///
/// A process that is stopped, or cut off, in the middle of a transaction must not keep its locks: the server ends it. Who has
/// waited for a lock reads what is true by then, whatever the database or the role say.
const SETTINGS: &str =
    "SET default_transaction_isolation = 'read committed'; SET lock_timeout = '5s'; SET statement_timeout = '8s';
    SET idle_in_transaction_session_timeout = '10s'; SET synchronous_commit = on;
    SET plan_cache_mode = force_generic_plan; SET jit = off; SET random_page_cost = 1.1";

struct Worker {
    address: PostgresAddress,
    connector: Connector,
    connection: Option<Connection>,
    refused: Arc<Refused>,
    parties: Arc<KnownParties>,
    peaks: Arc<Peaks>,
    /// How many connections of all workers were lost so far. Whoever loses one may have been told that the server is a
    /// standby by now: it would go on answering questions, with what was true before.
    lost: Arc<AtomicU64>,
    opened_after: u64,
}

/// How one run of a unit ended.
enum Run {
    Done(Result<(), StoreError>),
    /// Nothing was kept, and running it again may help.
    Again(StoreError),
    /// The connection was lost before the commit, so nothing was kept.
    Cut(StoreError),
}

impl Worker {
    fn work(&mut self, jobs: &FairReceiver<(Errand, Kind)>) {
        loop {
            let next = jobs.try_recv().or_else(|| {
                // A transaction that lingers has locks: it ends before the wait for the next unit.
                self.rest();
                jobs.recv()
            });
            let Some((tenant, (errand, kind))) = next else { return };
            let started = Instant::now();
            self.handle(errand, kind);
            jobs.finish(tenant, started.elapsed());
        }
    }

    fn handle(&mut self, mut errand: Errand, kind: Kind) {
        if !errand.begin() || (kind.only_reads() && errand.is_forsaken()) {
            return;
        }
        let started = Instant::now();
        let mut attempt = 0;
        let outcome = loop {
            attempt += 1;
            match self.run(errand.unit.as_mut(), kind, started + UNIT) {
                Run::Done(outcome) => break outcome,
                Run::Cut(error) => break Err(error),
                Run::Again(error) if attempt >= ATTEMPTS || started.elapsed() >= UNIT => break Err(error),
                Run::Again(_) => {
                    metrics::counter!("chancery_store_conflicts_total").increment(1);
                    // Two that keep meeting must not keep in step: the thread's own number sets them apart.
                    thread::sleep(Duration::from_micros(u64::from(attempt) * (200 + self.stagger())));
                }
            }
        };
        errand.settle(outcome);
        let kind = if kind.only_reads() { "read" } else { "write" };
        metrics::histogram!("chancery_store_unit_seconds", "kind" => kind).record(started.elapsed());
    }

    fn run(&mut self, unit: &mut dyn Unit, kind: Kind, deadline: Instant) -> Run {
        let fresh = self.connection.is_none();
        let (refused, parties, peaks) = (self.refused.clone(), self.parties.clone(), self.peaks.clone());
        let connection = match self.connection() {
            Ok(connection) => connection,
            Err(error) => return Run::Done(Err(error)),
        };
        connection.set_deadline(deadline);
        match run_once(connection, unit, kind, &refused, &parties, &peaks) {
            Run::Cut(error) => {
                self.connection = None;
                self.lost.fetch_add(1, Ordering::Relaxed);
                // A connection that had been idle may have died long ago: that says nothing about the database now.
                if fresh { Run::Done(Err(error)) } else { Run::Again(error) }
            }
            run @ (Run::Done(_) | Run::Again(_)) => run,
        }
    }

    fn connection(&mut self) -> Result<&mut Connection, StoreError> {
        let lost = self.lost.load(Ordering::Relaxed);
        if self.opened_after != lost || self.connection.as_ref().is_some_and(Connection::is_closed) {
            self.connection = None;
            self.opened_after = lost;
            self.parties.clear();
        }
        match &mut self.connection {
            Some(connection) => Ok(connection),
            empty @ None => Ok(empty.insert(Connection::new(open(&self.address, &self.connector)?)?)),
        }
    }

    /// Ends what lingers of the last transaction. The connection is given up where that fails.
    fn rest(&mut self) {
        if self.connection.as_mut().is_some_and(|connection| connection.rest().is_err()) {
            self.connection = None;
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn stagger(&self) -> u64 {
        std::ptr::from_ref(self) as u64 / 64 % 13 * 100
    }
}

fn run_once(
    connection: &mut Connection,
    unit: &mut dyn Unit,
    kind: Kind,
    refused: &Refused,
    parties: &KnownParties,
    peaks: &Peaks,
) -> Run {
    let begun = Instant::now();
    let known = Known { parties, keeps: kind != Kind::Write };
    let mut tx = Tx::new(Session::Postgres(connection.begin(kind))).knowing(known);
    let keep = unit.run(&mut tx);
    let (Session::Postgres(transaction), marks) = tx.into_parts() else {
        return Run::Done(Err(StoreError::Database("the session changed under the transaction".to_owned())));
    };
    if !kind.only_reads() && marks.tell_of_a_server_that_cannot_write() {
        refused.note();
    }
    if let (true, Some(error)) = (marks.cut, marks.failed) {
        return Run::Cut(error);
    }
    if !keep || kind.only_reads() {
        transaction.abandon();
        let stale = StoreError::Stale { table: "rows", id: "of this unit".to_owned() };
        return if marks.conflicted { Run::Again(stale) } else { Run::Done(Ok(())) };
    }
    match transaction.commit() {
        Ok(rows) => {
            peaks.note_rows(rows);
            peaks.note_time(begun.elapsed());
            Run::Done(Ok(()))
        }
        Err(NotCommitted::Refused(refusal)) => {
            let mut marks = Marks::default();
            let error = marks.note(refusal);
            marks.failed = Some(error.clone());
            if marks.tell_of_a_server_that_cannot_write() {
                refused.note();
            }
            match marks {
                Marks { cut: true, .. } => Run::Cut(error),
                Marks { conflicted: true, .. } => Run::Again(error),
                _ => Run::Done(Err(error)),
            }
        }
        Err(NotCommitted::Commit(error)) if error.code().is_some_and(is_conflict) => Run::Again(error.into()),
        Err(NotCommitted::Commit(error)) if error.code().is_some_and(is_unknown) => {
            Run::Done(Err(StoreError::Unknown(error.to_string())))
        }
        Err(NotCommitted::Commit(error)) => Run::Done(Err(match StoreError::from(error) {
            // No answer, or one from a server that was going down, perhaps after the commit: nobody knows.
            StoreError::Unavailable(said) => StoreError::Unknown(said),
            answered => answered,
        })),
    }
}
