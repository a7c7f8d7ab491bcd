//! Whole SQLite databases: copied while in use, looked through, and closed into one file.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::backup::StepResult;
use rusqlite::{Connection, OpenFlags, Row};

use super::facts::open_untouched;
use super::private_file;
use super::sqlite::{open, open_reader};
use crate::error::StoreError;

/// How many findings are told: one is enough to distrust a file.
const FINDINGS: usize = 10;
/// How long connections may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Copies the database through SQLite's own backup, in one step and so from one snapshot: writers need not stop, and
/// a copy in several steps would begin again after each of their commits. The copy knows the time it was made.
pub(crate) fn backup(from: &Path, to: &Path, now: i64) -> Result<(), StoreError> {
    create_copy(from, to, |to| stamp(to, now))
}

/// Copies without a mark, for a copy that is going to take the place of the database.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), StoreError> {
    create_copy(from, to, |_| Ok(()))
}

/// Copies into a new file that only its owner can read, and finishes it. What fails leaves no file behind.
fn create_copy(from: &Path, to: &Path, finish: impl FnOnce(&Path) -> Result<(), StoreError>) -> Result<(), StoreError> {
    let source = open_reader(from)?;
    // Created here, because SQLite would give it the mode that the umask leaves.
    private_file::create_new(to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => StoreError::Url(format!("{} exists already; name a new file", to.display())),
        _ => StoreError::Unavailable(format!("cannot create {}: {error}", to.display())),
    })?;
    let copied = copy_pages(&source, to).and_then(|()| finish(to));
    if copied.is_err() {
        // Half a copy is worse than none, and would be in the way of the next.
        drop(fs::remove_file(to));
    }
    copied
}

fn copy_pages(source: &Connection, to: &Path) -> Result<(), StoreError> {
    let mut target = Connection::open(to)?;
    let backup = rusqlite::backup::Backup::new(source, &mut target)?;
    match backup.step(-1)? {
        StepResult::Done => Ok(()),
        unfinished => Err(StoreError::Unavailable(format!("the database could not be copied now ({unfinished:?})"))),
    }
}

/// Writes into a copy when it was made, and leaves one file that needs nothing beside it.
fn stamp(copy: &Path, now: i64) -> Result<(), StoreError> {
    let connection = Connection::open(copy)?;
    connection.pragma_update(None, "journal_mode", "DELETE")?;
    let sql = "INSERT INTO epochs (name, value) VALUES ('backup', ?1)
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(sql, [now])?;
    Ok(())
}

/// What is wrong with the file itself: pages that do not fit together, rows that point nowhere. Nothing is changed.
pub(crate) fn inspect(path: &Path) -> Result<Vec<String>, StoreError> {
    let connection = open_untouched(path)?;
    let mut findings = Vec::new();
    let mut check = connection.prepare(&format!("PRAGMA integrity_check({FINDINGS})"))?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()? {
        findings.push(row.get::<_, String>(0)?);
    }
    findings.retain(|finding| finding != "ok");
    let mut check = connection.prepare("PRAGMA foreign_key_check")?;
    let mut rows = check.query([])?;
    while let Some(row) = rows.next()?
        && findings.len() < FINDINGS
    {
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        findings.push(format!("a row of {table} has no {parent}"));
    }
    Ok(findings)
}

/// Brings what is in the log into the file, by a connection of its own.
pub(crate) fn empty_log(path: &Path) -> Result<(), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    copy_log(&connection)
}

/// Brings what is in the log into the file. It waits for nobody, nor does anybody wait for it: what somebody still reads
/// otherwise, or another is just copying, stays in the log, and that is an error.
pub(super) fn copy_log(connection: &Connection) -> Result<(), StoreError> {
    let columns = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    match connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], columns)? {
        (0, logged, copied) if logged == copied => Ok(()),
        (_, logged, copied) => Err(StoreError::Unavailable(format!(
            "of {logged} pages in the log of the database {copied} are in its file; somebody has it open"
        ))),
    }
}

/// Waits until nobody else has the database open, and brings all of it into its one file.
pub(crate) fn close(path: &Path) -> Result<(), StoreError> {
    let connection = open(path)?;
    // Only the last connection can leave the write-ahead log; those of a pool that was dropped end in a moment.
    let began = Instant::now();
    while let Err(error) = connection.pragma_update(None, "journal_mode", "DELETE") {
        if began.elapsed() > PATIENCE {
            return Err(error.into());
        }
        thread::sleep(Duration::from_millis(10));
    }
    drop(connection);
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(|error| StoreError::Unavailable(error.to_string()))
}
