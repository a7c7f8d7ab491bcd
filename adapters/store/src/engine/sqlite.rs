//! SQLite: one writer that commits many units of work with one fsync, and a few readers.

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use chancery_fair::{FairReceiver, FairSender, QueueLimits, Tenant, fair_channel};
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
use super::group_commit::Writer;
use super::open_file::OpenFile;
use super::private_file;
use super::sqlite_copy;
use super::trouble::Trouble;

/// What the writer keeps in memory of the file.
const WRITER_CACHE_KIB: i64 = 16 * 1024;
/// The write-ahead log is copied into the database when it has this many pages: 8 MiB. Most pages are written many times and copied
/// once. A commit waits for the copy, so a longer log makes other tenants wait longer beside one that writes much.
const LOG_PAGES: i64 = 2048;

/// Threads with connections of their own. They end when the pool is dropped, after what was queued is done.
pub(crate) struct Pool {
    writes: FairSender<Errand>,
    reads: FairSender<Errand>,
    /// Connections for those who read on their own thread, as long as nobody uses them.
    idle: (Sender<Connection>, Receiver<Connection>),
    shared: Arc<Shared>,
    /// The file, where it may be written to.
    file: Option<OpenFile>,
}

/// What the threads of a pool have in common.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) trouble: Trouble,
    pub(super) parties: KnownParties,
    pub(super) peaks: Peaks,
}

impl Pool {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, StoreError> {
        let readers = options.connections.max(1);
        let (writes, write_queue) = queue(options, 1);
        let (reads, read_queue) = queue(options, readers);
        let shared = Arc::new(Shared::default());
        let (connection, file) = (open_writer(path)?, OpenFile::of(path)?);
        let writer = Writer::new(connection, file.clone(), shared.clone(), write_queue, options.group.max(1));
        spawn("store-writer", move || writer.work())?;
        for _ in 0..readers {
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
        let (writes, _) = queue(options, 1);
        let (reads, read_queue) = queue(options, 1);
        let reader = open_untouched(path)?;
        let shared = Arc::new(Shared::default());
        let seen = shared.clone();
        spawn("store-reader", move || read_loop(&reader, &read_queue, &seen))?;
        Ok(Self { writes, reads, idle: bounded(0), shared, file: None })
    }

    /// Reads at once on this thread; gives the unit back where all connections for that are in use.
    pub(crate) fn glance(&self, mut unit: Box<dyn Unit>, kind: Kind) -> Result<Settled, Box<dyn Unit>> {
        let Ok(connection) = self.idle.1.try_recv() else { return Err(unit) };
        let commit = read(&connection, unit.as_mut(), kind, &self.shared);
        drop(self.idle.0.send(connection));
        Ok(Settled { unit, commit })
    }

    pub(crate) fn send(&self, tenant: Tenant, errand: Errand, kind: Kind) -> Result<(), StoreError> {
        enqueue(if kind.only_reads() { &self.reads } else { &self.writes }, tenant, errand)
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

fn queue(options: &Options, servers: usize) -> (FairSender<Errand>, FairReceiver<Errand>) {
    fair_channel(QueueLimits { capacity: options.queue, servers })
}

fn read_loop(connection: &Connection, queue: &FairReceiver<Errand>, shared: &Shared) {
    while let Some((tenant, mut errand)) = queue.recv() {
        let started = Instant::now();
        if !errand.is_forsaken() {
            let ended = read(connection, errand.unit.as_mut(), Kind::Read, shared);
            errand.settle(ended);
        }
        queue.finish(tenant, started.elapsed());
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

/// A statement without parameters or rows, prepared once.
pub(super) fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
