//! SQLite: one writer that commits many units of work with one fsync, and a few readers.

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::StoreError;
use crate::store::Options;
use crate::tx::{Session, Tx};
use crate::unit::{Kind, Unit};

use super::enqueue;
use super::facts::open_untouched;
use super::trouble::{Told, Trouble};

/// Threads with connections of their own. They end when the pool is dropped, after what was queued is done.
pub(crate) struct Pool {
    writes: Sender<Box<dyn Unit>>,
    reads: Sender<Box<dyn Unit>>,
    /// Connections for those who read on their own thread, as long as nobody uses them.
    idle: (Sender<Connection>, Receiver<Connection>),
    trouble: Arc<Trouble>,
}

impl Pool {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, StoreError> {
        let (writes, write_queue) = bounded(options.queue);
        let (reads, read_queue) = bounded(options.queue);
        let trouble = Arc::new(Trouble::default());
        let (writer, group, seen) = (open(path)?, options.group.max(1), trouble.clone());
        spawn("store-writer", move || write_loop(&writer, &write_queue, group, &seen))?;
        for _ in 0..options.connections.max(1) {
            let (reader, queue, seen) = (open_reader(path)?, read_queue.clone(), trouble.clone());
            spawn("store-reader", move || read_loop(&reader, &queue, &seen))?;
        }
        let glancing = thread::available_parallelism().map_or(2, NonZero::get);
        let idle = bounded(glancing);
        for _ in 0..glancing {
            // There is room for each, and the other end is here.
            drop(idle.0.send(open_reader(path)?));
        }
        Ok(Self { writes, reads, idle, trouble })
    }

    /// What was found to be damaged, if anything was since the start.
    pub(crate) fn damage(&self) -> Option<StoreError> {
        self.trouble.damage()
    }

    /// A pool that only reads, and leaves no file beside the database; whatever is to be written is refused.
    pub(crate) fn open_untouched(path: &Path, options: &Options) -> Result<Self, StoreError> {
        let (writes, _) = bounded(0);
        let (reads, queue) = bounded(options.queue);
        let reader = open_untouched(path)?;
        let trouble = Arc::new(Trouble::default());
        let seen = trouble.clone();
        spawn("store-reader", move || read_loop(&reader, &queue, &seen))?;
        Ok(Self { writes, reads, idle: bounded(0), trouble })
    }

    /// Reads at once on this thread, or on another where all connections for that are in use.
    pub(crate) fn glance(&self, mut unit: Box<dyn Unit>) -> Result<(), StoreError> {
        let Ok(connection) = self.idle.1.try_recv() else { return self.send(unit, Kind::Read) };
        let ended = read(&connection, unit.as_mut(), &self.trouble);
        drop(self.idle.0.send(connection));
        unit.settle(ended);
        Ok(())
    }

    pub(crate) fn send(&self, unit: Box<dyn Unit>, kind: Kind) -> Result<(), StoreError> {
        let queue = match kind {
            Kind::Read => &self.reads,
            Kind::Write | Kind::Alone => &self.writes,
        };
        enqueue(queue, unit)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.writes.len() + self.reads.len()
    }
}

/// Opens a connection on which every commit waits for the disk.
pub(crate) fn open(path: &Path) -> Result<Connection, StoreError> {
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
    Ok(connection)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn read_loop(connection: &Connection, queue: &Receiver<Box<dyn Unit>>, trouble: &Trouble) {
    for mut unit in queue {
        let ended = read(connection, unit.as_mut(), trouble);
        unit.settle(ended);
    }
}

/// Runs a unit on one snapshot.
fn read(connection: &Connection, unit: &mut dyn Unit, trouble: &Trouble) -> Result<(), StoreError> {
    let started = Instant::now();
    let snapshot = run(connection, "BEGIN");
    if snapshot.is_ok() {
        let mut tx = Tx::new(Session::Sqlite(connection));
        unit.run(&mut tx);
        trouble.note(tx.failed().as_ref());
    }
    let ended = snapshot.and_then(|()| run(connection, "COMMIT"));
    if ended.is_err() && !connection.is_autocommit() {
        drop(connection.execute_batch("ROLLBACK"));
    }
    metrics::histogram!("chancery_store_unit_seconds", "kind" => "read").record(started.elapsed());
    ended.map_err(StoreError::from).inspect_err(|error| trouble.note(Some(error)))
}

/// Takes what is waiting, runs it in one transaction, commits once. Under load the group grows by itself, because
/// units queue up while the disk is busy with the commit before; alone, a unit waits for nobody.
fn write_loop(connection: &Connection, queue: &Receiver<Box<dyn Unit>>, group: usize, trouble: &Trouble) {
    let mut told = Told::default();
    while let Ok(first) = queue.recv() {
        let mut units = vec![first];
        units.extend(queue.try_iter().take(group - 1));
        let started = Instant::now();
        metrics::histogram!("chancery_store_group_commit_units").record(units.len() as f64);
        let committed = commit_together(connection, &mut units, trouble);
        told.tell(committed.as_ref().err(), units.len());
        trouble.note(committed.as_ref().err());
        for unit in units {
            unit.settle(committed.clone());
        }
        metrics::histogram!("chancery_store_unit_seconds", "kind" => "write").record(started.elapsed());
    }
}

fn commit_together(connection: &Connection, units: &mut [Box<dyn Unit>], trouble: &Trouble) -> Result<(), StoreError> {
    // Most units that are refused have written nothing by then. So it is tried without a savepoint for each: with one,
    // SQLite keeps a copy of every page before it is changed.
    let unspoilt = in_transaction(connection, || run_all(connection, units, trouble))?;
    if unspoilt {
        return Ok(());
    }
    in_transaction(connection, || run_each(connection, units, trouble).map(|()| true)).map(drop)
}

/// Commits what `work` has done if it says so, and takes it back otherwise.
fn in_transaction(
    connection: &Connection,
    work: impl FnOnce() -> Result<bool, StoreError>,
) -> Result<bool, StoreError> {
    run(connection, "BEGIN IMMEDIATE")?;
    let ended = work().and_then(|keep| Ok(run(connection, if keep { "COMMIT" } else { "ROLLBACK" }).map(|()| keep)?));
    if ended.is_err() && !connection.is_autocommit() {
        drop(connection.execute_batch("ROLLBACK"));
    }
    ended
}

/// Runs units one after the other; `false` once one of them has left something behind that is not to be kept.
fn run_all(connection: &Connection, units: &mut [Box<dyn Unit>], trouble: &Trouble) -> Result<bool, StoreError> {
    for unit in units {
        let before = connection.total_changes();
        let keep = run_unit(connection, unit.as_mut(), trouble)?;
        if !keep && connection.total_changes() != before {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The same, with a way back for each.
fn run_each(connection: &Connection, units: &mut [Box<dyn Unit>], trouble: &Trouble) -> Result<(), StoreError> {
    for unit in units {
        run(connection, "SAVEPOINT unit")?;
        if !run_unit(connection, unit.as_mut(), trouble)? {
            run(connection, "ROLLBACK TO unit")?;
        }
        run(connection, "RELEASE unit")?;
    }
    Ok(())
}

fn run_unit(connection: &Connection, unit: &mut dyn Unit, trouble: &Trouble) -> Result<bool, StoreError> {
    let mut tx = Tx::new(Session::Sqlite(connection));
    let keep = unit.run(&mut tx);
    let failed = tx.failed();
    trouble.note(failed.as_ref());
    // On a full disk or an I/O error SQLite rolls the whole transaction back by itself: then all of the group is lost.
    if connection.is_autocommit() {
        let unknown = || StoreError::Unavailable("the database rolled the transaction back".to_owned());
        return Err(failed.unwrap_or_else(unknown));
    }
    Ok(keep)
}

/// A statement without parameters or rows, prepared once.
fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
