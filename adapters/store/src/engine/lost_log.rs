//! What is done where the log of a SQLite database was deleted or replaced while it is in use.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::open_file::{Lost, OpenFile};
use super::sqlite_copy::copy_log;
use super::trouble::{Kept, Trouble};

/// How long those who read are waited for at a time.
const PATIENCE: Duration = Duration::from_secs(1);

/// Who opens the database anew finds what is in its file. What was only in a log that was deleted is still seen by those who had it
/// open: it is brought into the file, as soon as nobody reads any more. Asked again, it tries again.
pub(super) fn keep(connection: &Connection, file: &OpenFile, trouble: &Trouble) {
    trouble.lose();
    if !trouble.may_keep_more() {
        return;
    }
    // Otherwise who closes it last copies what it takes for the log, which may be another's by then.
    drop(connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true));
    let path = file.path().display();
    let began = Instant::now();
    let why = loop {
        // Others may have come since the last time.
        match file.lost() {
            Some(Lost::Log) => match copy_log(connection) {
                Ok(()) => {
                    let said = format!(
                        "the log of {path} was deleted; all that was in it is in the file: start the service again"
                    );
                    return trouble.tell_loss(said, Kept::All);
                }
                Err(error) if began.elapsed() > PATIENCE => break error.to_string(),
                Err(_) => thread::sleep(Duration::from_millis(10)),
            },
            Some(Lost::Index) => {
                let said =
                    format!("the index of the log of {path} was deleted; all is in the log: start the service again");
                return trouble.tell_loss(said, Kept::All);
            }
            Some(Lost::Replaced) => {
                let said = format!(
                    "{path} has another log, or is another database, than the one that was opened; what was written last may be \
                     lost: keep a copy of all files that are there, and start the service again or use `chancery restore`"
                );
                return trouble.tell_loss(said, Kept::Unsure);
            }
            None => break format!("{path} is away itself; put it back"),
        }
    };
    let said = format!(
        "the log of {path} was deleted; do not stop the service before all that was in it is in the file: {why}"
    );
    trouble.tell_loss(said, Kept::NotYet);
}
