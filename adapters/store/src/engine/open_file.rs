//! The files of a SQLite database as they were opened, and whether they still have their names.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::error::StoreError;

/// The file that is written to, its log, and the index of that. What goes into one that was deleted or moved is not there when the
/// service is started again, and who opens the database meanwhile does not see what we do.
#[derive(Clone)]
pub(super) struct OpenFile {
    path: PathBuf,
    identity: Identity,
    /// The log and its index.
    beside: [(PathBuf, Identity); 2],
    /// What the file said of itself when that was asked for, which is done once.
    has_log: Arc<OnceLock<bool>>,
}

/// The device and the number that a file has on it.
type Identity = (u64, u64);

/// What was lost beside a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// The log, and there is no other: what was in it can be brought into the file.
    Log,
    /// The index of the log alone, which is made anew by whoever opens the database next.
    Index,
    /// The log, and another's is in its place, or the file is another's.
    Replaced,
}

impl OpenFile {
    /// All are there once a connection has been opened.
    pub(super) fn of(path: &Path) -> Result<Self, StoreError> {
        let known = |path: &Path| identity(path).map_err(|error| StoreError::Unavailable(error.to_string()));
        let beside = |suffix| {
            let mut name = path.to_owned().into_os_string();
            name.push(suffix);
            let name = PathBuf::from(name);
            known(&name).map(|identity| (name, identity))
        };
        let (identity, beside) = (known(path)?, [beside("-wal")?, beside("-shm")?]);
        Ok(Self { path: path.to_owned(), identity, beside, has_log: Arc::default() })
    }

    pub(super) fn require_there(&self) -> Result<(), StoreError> {
        let is_there = |(path, known): &(PathBuf, Identity)| identity(path).is_ok_and(|found| found == *known);
        if self.has_its_name() && self.beside.iter().all(is_there) {
            return Ok(());
        }
        Err(StoreError::Unavailable(format!(
            "{} and what lies beside it are not the files any more that were opened; put them back, or stop the service and \
             use `chancery restore`",
            self.path.display()
        )))
    }

    /// What is lost; while the file itself is away, that is not known.
    pub(super) fn lost(&self) -> Option<Lost> {
        if !self.has_its_name() {
            return None;
        }
        let [(log, known), (index, known_index)] = &self.beside;
        match fs::metadata(log) {
            Ok(found) if identity_of(&found) == *known => {
                let is_there = identity(index).is_ok_and(|found| found == *known_index);
                (!is_there).then_some(Lost::Index)
            }
            Ok(found) if found.len() > 0 => Some(Lost::Replaced),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Some(Lost::Replaced),
            // Whoever opens a database without a log makes an empty one, and changes nothing by that.
            Ok(_) | Err(_) => Some(if self.has_log() { Lost::Log } else { Lost::Replaced }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn has_its_name(&self) -> bool {
        identity(&self.path).is_ok_and(|found| found == self.identity)
    }

    /// Whether it says of itself that it has a log: a backup that was written over it does not.
    fn has_log(&self) -> bool {
        *self.has_log.get_or_init(|| {
            let Ok(mut file) = File::open(&self.path) else { return false };
            let mut head = [0; 20];
            let read = file.read_exact(&mut head);
            // To close it would take SQLite's locks away from this process.
            std::mem::forget(file);
            read.is_ok() && head[18..] == [2, 2]
        })
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|file| identity_of(&file))
}

fn identity_of(file: &Metadata) -> Identity {
    (file.dev(), file.ino())
}
