//! What can go wrong below the use cases.

use crate::protocol;

/// Why a unit of work did not happen.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else changed the row since it was read. The store runs the unit again by itself before it says this.
    #[error("{table} {id} was changed by somebody else meanwhile")]
    Stale { table: &'static str, id: String },
    /// The database cannot be reached, is shutting down, or has too much to do. Nothing of the unit was kept.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// Too many units of work wait for the database, in all or of one tenant: the unit was refused at once, or its turn did not
    /// come in time. Nothing of it was kept.
    #[error("the database has too much to do: too many units of work are waiting")]
    QueueFull,
    /// The connection broke while the commit was under way: it may or may not have happened.
    #[error("the database went away during the commit, so its outcome is unknown: {0}")]
    Unknown(String),
    /// The file of the database is damaged, or is none.
    #[error("the database is damaged ({0}): stop the service and put the last good backup back (chancery restore)")]
    Damaged(String),
    /// A row does not hold what the code expects.
    #[error("the database holds something unexpected in {0}")]
    Corrupt(String),
    /// The database was changed by a newer release in a way that this program cannot work with.
    #[error(
        "the database has schema version {found}, which needs a program that knows {needed}; this one knows up to {known}: run the newer release"
    )]
    NewerSchema { found: i64, known: i64, needed: i64 },
    /// The database lacks migrations and this program was told not to apply them.
    #[error("the database has schema version {found}, this program needs {known}: run `chancery migrate`")]
    OlderSchema { found: i64, known: i64 },
    /// The address of the database cannot be understood.
    #[error("{0}")]
    Url(String),
    /// Others than its owner can access a file of the database, and that cannot be changed.
    #[error("{0}")]
    Exposed(String),
    /// Anything else: a mistake of ours, or a full disk.
    #[error("database error: {0}")]
    Database(String),
}

impl StoreError {
    pub(crate) fn corrupt(what: impl std::fmt::Display) -> Self {
        Self::Corrupt(what.to_string())
    }

    /// Whether asking again later is likely to help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Stale { .. } | Self::Unavailable(_) | Self::QueueFull | Self::Unknown(_) | Self::Damaged(_) => true,
            Self::Corrupt(_)
            | Self::NewerSchema { .. }
            | Self::OlderSchema { .. }
            | Self::Url(_)
            | Self::Exposed(_)
            | Self::Database(_) => false,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Unavailable("another process holds the database's write lock; fuser shows which".to_owned())
            }
            Some(ErrorCode::DiskFull) => {
                Self::Unavailable("the disk is full; make room where the database is".to_owned())
            }
            Some(ErrorCode::ReadOnly) => Self::Unavailable(format!(
                "{error}; see that its disk is not mounted read-only and that this user may write there"
            )),
            Some(ErrorCode::SystemIoFailure) => {
                Self::Unavailable(format!("{error}; see what the system's log says of the disk"))
            }
            Some(ErrorCode::CannotOpen) => Self::Unavailable(format!("{error}; is the file there, with its folder?")),
            Some(ErrorCode::OutOfMemory) => Self::Unavailable("there is not enough memory; give it more".to_owned()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error.to_string()),
            _ => Self::Database(error.to_string()),
        }
    }
}

impl From<protocol::Error> for StoreError {
    fn from(error: protocol::Error) -> Self {
        let Some(code) = error.code() else {
            return Self::Unavailable(error.to_string());
        };
        // 08 connection, 40 a conflict that lasted (a deadlock, say), 53 resources (disk full, too many connections),
        // 57 shutdown, 58 I/O; 25006 is a standby, 55P03 a lock that was not given back in time.
        match (code.get(..2), code) {
            (Some("08" | "40" | "53" | "57" | "58"), _) | (_, "25006" | "55P03") => {
                Self::Unavailable(error.to_string())
            }
            _ => Self::Database(error.to_string()),
        }
    }
}
