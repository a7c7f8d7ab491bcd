//! SQLite: one writer that commits many units of work with one fsync, and a few readers.

use std::cell::Cell;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::StoreError;
use crate::peaks::{Peaks, WritePeaks};
use crate::rows::KnownParties;
use crate::store::Options;
use crate::tx::{Known, Session, Tx};
use crate::unit::{Errand, Kind, Settled, Unit};

use super::enqueue;
use super::facts::open_untouched;
use super::lost_log;
use super::open_file::OpenFile;
use super::private_file;
use super::sqlite_copy;
use super::trouble::{Told, Trouble};

/// What the writer keeps in memory of the file.
const WRITER_CACHE_KIB: i64 = 16 * 1024;
/// How long the log grows before it is copied into the file: 32 MiB. Most of its pages are written again and again, and copied
/// but once.
const LOG_PAGES: i64 = 8192;
/// How long a group that has begun is open for others.
const GATHERS_FOR: Duration = Duration::from_millis(5);
/// How long more are waited for, at most, where many come: what all of them change is written once less for each commit that is
/// saved.
const WAITS_FOR: Duration = Duration::from_millis(2);
/// So many units in one commit are many. Where there are fewer, whoever waited would wait for nobody.
const MANY: usize = 8;

/// Threads with connections of their own. They end when the pool is dropped, after what was queued is done.
pub(crate) struct Pool {
    writes: Sender<Errand>,
    reads: Sender<Errand>,
    /// Connections for those who read on their own thread, as long as nobody uses them.
    idle: (Sender<Connection>, Receiver<Connection>),
    shared: Arc<Shared>,
    /// The file, where it may be written to.
    file: Option<OpenFile>,
}

/// What the threads of a pool have in common.
#[derive(Default)]
struct Shared {
    trouble: Trouble,
    parties: KnownParties,
    peaks: Peaks,
}

impl Pool {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, StoreError> {
        let (writes, write_queue) = bounded(options.queue);
        let (reads, read_queue) = bounded(options.queue);
        let shared = Arc::new(Shared::default());
        let (connection, file) = (open_writer(path)?, OpenFile::of(path)?);
        let writer = Writer { connection, file: file.clone(), shared: shared.clone(), commit_took: Cell::default() };
        let group = options.group.max(1);
        spawn("store-writer", move || writer.work(&write_queue, group))?;
        for _ in 0..options.connections.max(1) {
            let (reader, queue, shared) = (open_reader(path)?, read_queue.clone(), shared.clone());
            spawn("store-reader", move || read_loop(&reader, &queue, &shared))?;
        }
        let glancing = thread::available_parallelism().map_or(2, NonZero::get);
        let idle = bounded(glancing);
        for _ in 0..glancing {
            // There is room for each, and the other end is here.
            drop(idle.0.send(open_reader(path)?));
        }
        Ok(Self { writes, reads, idle, shared, file: Some(file) })
    }

    /// What was found to be damaged, if anything was since the start.
    pub(crate) fn damage(&self) -> Option<StoreError> {
        self.shared.trouble.damage()
    }

    /// A pool that only reads, and leaves no file beside the database; whatever is to be written is refused.
    pub(crate) fn open_untouched(path: &Path, options: &Options) -> Result<Self, StoreError> {
        let (writes, _) = bounded(0);
        let (reads, queue) = bounded(options.queue);
        let reader = open_untouched(path)?;
        let shared = Arc::new(Shared::default());
        let seen = shared.clone();
        spawn("store-reader", move || read_loop(&reader, &queue, &seen))?;
        Ok(Self { writes, reads, idle: bounded(0), shared, file: None })
    }

    /// Reads at once on this thread; gives the unit back where all connections for that are in use.
    pub(crate) fn glance(&self, mut unit: Box<dyn Unit>, kind: Kind) -> Result<Settled, Box<dyn Unit>> {
        let Ok(connection) = self.idle.1.try_recv() else { return Err(unit) };
        let commit = read(&connection, unit.as_mut(), kind, &self.shared);
        drop(self.idle.0.send(connection));
        Ok(Settled { unit, commit })
    }

    pub(crate) fn send(&self, errand: Errand, kind: Kind) -> Result<(), StoreError> {
        enqueue(if kind.only_reads() { &self.reads } else { &self.writes }, errand)
    }

    /// Brings what was written last out of the log into the file, where that is still the one that was opened: another's would
    /// be spoilt by it.
    pub(crate) fn empty_log(&self) -> Result<(), StoreError> {
        let Some(file) = &self.file else { return Ok(()) };
        self.shared.trouble.require_log()?;
        file.require_there()?;
        sqlite_copy::empty_log(file.path())
    }

    /// Whether the files are those that were opened; there are none where nothing is written.
    pub(crate) fn has_its_files(&self) -> bool {
        self.file.as_ref().is_none_or(|file| file.require_there().is_ok())
    }

    /// Whether all that is amiss ends when the database is opened anew.
    pub(crate) fn ends_with_reopening(&self) -> bool {
        self.shared.trouble.ends_with_reopening()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.writes.len() + self.reads.len()
    }

    pub(crate) fn take_peaks(&self) -> WritePeaks {
        self.shared.peaks.take()
    }
}

/// Opens the connection of the one who writes.
fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    let connection = open(path)?;
    // Readers begin anew with every commit. What the writer has read stays good until another process writes.
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    // The pages that every unit of work changes are copied from the log into the file less often.
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    Ok(connection)
}

/// Opens a connection on which every commit waits for the disk. The files are made their owner's alone.
pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
    private_file::create_if_missing(path);
    private_file::protect(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    settle(&mut connection)?;
    use_wal(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

/// Changes the journal of a new file. While another process does so, SQLite refuses at once and asks nobody to wait.
fn use_wal(connection: &Connection) -> Result<(), StoreError> {
    let mut asked = 0;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && wait_for_lock(asked) => {
                asked += 1
            }
            done => return Ok(done?),
        }
    }
}

/// What every connection has in common. Each is used by one thread at a time, and so needs no lock of its own.
pub(super) fn settle(connection: &mut Connection) -> Result<(), StoreError> {
    connection.busy_handler(Some(wait_for_lock))?;
    connection.set_prepared_statement_cache_capacity(256);
    // A plan must not depend on parameters: SQLite would make it anew with each, for every table that has a partial
    // index.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Asks again every millisecond for five seconds. SQLite's own waiting grows to 100 ms a time, and then an operator's
/// command hardly ever meets the short moment between two commits of a busy server.
fn wait_for_lock(asked: i32) -> bool {
    thread::sleep(Duration::from_millis(1));
    asked < 5000
}

pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let mut connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    settle(&mut connection)?;
    connection.pragma_update(None, "query_only", true)?;
    // A connection looks for the log when it is first used: by then it could be another.
    connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
    Ok(connection)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn read_loop(connection: &Connection, queue: &Receiver<Errand>, shared: &Shared) {
    for mut errand in queue.iter().filter(|errand| !errand.is_forsaken()) {
        let ended = read(connection, errand.unit.as_mut(), Kind::Read, shared);
        errand.settle(ended);
    }
}

/// Runs a unit that reads.
fn read(connection: &Connection, unit: &mut dyn Unit, kind: Kind, shared: &Shared) -> Result<(), StoreError> {
    shared.trouble.require_log()?;
    let started = Instant::now();
    let mut look = || {
        let known = Known { parties: &shared.parties, keeps: true };
        let mut tx = Tx::new(Session::Sqlite(connection)).knowing(known);
        unit.run(&mut tx);
        shared.trouble.note(tx.failed().as_ref());
    };
    let ended = match kind {
        // Each question has a snapshot of its own.
        Kind::Peek => {
            look();
            Ok(())
        }
        Kind::Read | Kind::Glance | Kind::Write | Kind::Alone => on_one_snapshot(connection, look),
    };
    metrics::histogram!("chancery_store_unit_seconds", "kind" => "read").record(started.elapsed());
    ended.map_err(StoreError::from).inspect_err(|error| shared.trouble.note(Some(error)))
}

fn on_one_snapshot(connection: &Connection, look: impl FnOnce()) -> rusqlite::Result<()> {
    let ended = run(connection, "BEGIN").and_then(|()| {
        look();
        run(connection, "COMMIT")
    });
    if ended.is_err() && !connection.is_autocommit() {
        drop(connection.execute_batch("ROLLBACK"));
    }
    ended
}

/// The one who writes.
struct Writer {
    connection: Connection,
    file: OpenFile,
    shared: Arc<Shared>,
    /// How long the last commit took.
    commit_took: Cell<Duration>,
}

impl Writer {
    /// Takes what is waiting, runs it in one transaction, commits once. Under load the group grows by itself, because
    /// units queue up while the disk is busy with the commit before, and where it has grown, more are waited for the next
    /// time; among few, a unit waits for nobody.
    fn work(&self, queue: &Receiver<Errand>, most: usize) {
        let (mut told, mut before) = (Told::default(), 0);
        while let Ok(first) = queue.recv() {
            let since = Instant::now();
            // No longer than a commit takes, so that nobody waits for more than two of them.
            let waits = if before < MANY { Duration::ZERO } else { self.commit_took.get().min(WAITS_FOR) };
            let mut group = Group::of(first, queue, most, since + waits);
            let committed = self.commit_together(&mut group);
            let errands = group.errands;
            before = errands.len();
            metrics::histogram!("chancery_store_group_commit_units").record(errands.len() as f64);
            told.tell(committed.as_ref().err(), errands.len());
            self.shared.trouble.note(committed.as_ref().err());
            for errand in errands {
                errand.settle(committed.clone());
            }
            let took = since.elapsed();
            self.shared.peaks.note_time(took);
            metrics::histogram!("chancery_store_unit_seconds", "kind" => "write").record(took);
        }
    }

    fn commit_together(&self, group: &mut Group<'_>) -> Result<(), StoreError> {
        // Most units that are refused have written nothing by then. So it is tried without a savepoint for each: with one,
        // SQLite keeps a copy of every page before it is changed.
        let unspoilt = self.in_transaction(|| self.run_all(group))?;
        if unspoilt {
            return Ok(());
        }
        self.in_transaction(|| self.run_each(&mut group.errands).map(|()| true)).map(drop)
    }

    /// Commits what `work` has done if it says so, and takes it back otherwise.
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

    /// Runs units one after the other, and those that have come meanwhile; `false` once one of them has left something
    /// behind that is not to be kept.
    fn run_all(&self, group: &mut Group<'_>) -> Result<bool, StoreError> {
        let closes = Instant::now() + GATHERS_FOR;
        let mut done = 0;
        while let Some(unit) = group.next_after(done, Instant::now() < closes) {
            let before = self.connection.total_changes();
            let keep = self.run_unit(unit)?;
            if !keep && self.connection.total_changes() != before {
                return Ok(false);
            }
            done += 1;
        }
        Ok(true)
    }

    /// Runs units one after the other, with a way back for each; takes in no others.
    fn run_each(&self, errands: &mut [Errand]) -> Result<(), StoreError> {
        for errand in errands {
            self.run("SAVEPOINT unit")?;
            if !self.run_unit(errand.unit.as_mut())? {
                self.run("ROLLBACK TO unit")?;
            }
            self.run("RELEASE unit")?;
        }
        Ok(())
    }

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

/// Units that share a commit.
struct Group<'q> {
    errands: Vec<Errand>,
    queue: &'q Receiver<Errand>,
    most: usize,
    /// Until when it is waited for more.
    waits_until: Instant,
}

impl<'q> Group<'q> {
    /// The first, and all who wait with it: should the database not let us begin, they all hear of it at once.
    fn of(first: Errand, queue: &'q Receiver<Errand>, most: usize, waits_until: Instant) -> Self {
        let mut errands = vec![first];
        errands.extend(queue.try_iter().take(most - 1));
        Self { errands, queue, most, waits_until }
    }

    /// The next to run after so many. When all have run, those who came meanwhile join a group that is still open, and so does
    /// who comes while it waits.
    fn next_after(&mut self, done: usize, open: bool) -> Option<&mut (dyn Unit + 'static)> {
        if open && done == self.errands.len() {
            self.errands.extend(self.queue.try_iter().take(self.most - done));
            if done == self.errands.len() && done < self.most {
                self.errands.extend(self.queue.recv_deadline(self.waits_until));
            }
        }
        self.errands.get_mut(done).map(|errand| errand.unit.as_mut())
    }
}

/// A statement without parameters or rows, prepared once.
fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::pack;

    fn errand() -> Errand {
        Errand::new(pack(|_: &mut Tx<'_>| Ok::<_, StoreError>(()))).0
    }

    #[test]
    fn a_group_takes_who_waits_and_while_it_is_open_who_comes() {
        let (come, queue) = bounded(9);
        come.send(errand()).unwrap();
        let mut group = Group::of(errand(), &queue, 4, Instant::now());
        assert_eq!(group.errands.len(), 2);
        for _ in 0..3 {
            come.send(errand()).unwrap();
        }
        assert!(group.next_after(1, true).is_some() && group.errands.len() == 2, "nobody joins before all have run");
        assert!(group.next_after(2, false).is_none(), "nobody joins when it is closed");
        assert!(group.next_after(2, true).is_some());
        assert_eq!((group.errands.len(), queue.len()), (4, 1), "no more than there may be");
        assert!(group.next_after(3, true).is_some() && group.next_after(4, true).is_none());
    }

    const HOURS: Duration = Duration::from_secs(7200);

    #[test]
    fn a_group_that_waits_takes_who_comes_by_then() {
        let (come, queue) = bounded(9);
        let mut group = Group::of(errand(), &queue, 4, Instant::now() + HOURS);
        let late = thread::spawn(move || come.send(errand()).map(|()| come).is_ok());
        assert!(group.next_after(1, true).is_some(), "it waits for one who is late");
        assert!(late.join().unwrap());
        assert!(group.next_after(2, true).is_none(), "it waits for nobody where nobody can come");
        let (come, queue) = bounded(9);
        let mut group = Group::of(errand(), &queue, 4, Instant::now() + HOURS);
        assert!(group.next_after(1, false).is_none(), "it does not wait once it is closed");
        drop(come);
    }

    #[test]
    fn a_group_of_one_stays_alone() {
        let (come, queue) = bounded(9);
        come.send(errand()).unwrap();
        let mut group = Group::of(errand(), &queue, 1, Instant::now() + HOURS);
        assert!(group.next_after(0, true).is_some() && group.next_after(1, true).is_none());
        assert_eq!(queue.len(), 1);
    }
}
