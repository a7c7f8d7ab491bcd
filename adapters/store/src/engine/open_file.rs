//! The files of a SQLite database as they were opened, and whether they still have their names.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The file that is written to, its log, and the index of that. What goes into one that was deleted or moved is not there when the
/// service is started again, and who opens the database meanwhile does not see what we do.
#[derive(Clone)]
pub(super) struct OpenFile {
    path: PathBuf,
    identity: Identity,
    /// The log and its index.
    beside: [(PathBuf, Identity); 2],
}

/// The device and the number that a file has on it.
type Identity = (u64, u64);

/// What has become of the log and its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Nobody has written to the database since: all that was in the log can be kept.
    Deleted,
    /// Others are in their place, or the file is another's now.
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
        Ok(Self { path: path.to_owned(), identity: known(path)?, beside: [beside("-wal")?, beside("-shm")?] })
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

    /// Whether the log or its index is lost; while the file itself is away, that is not known.
    pub(super) fn lost(&self) -> Option<Lost> {
        if !self.has_its_name() {
            return None;
        }
        let mut lost = None;
        for (path, known) in &self.beside {
            match fs::metadata(path) {
                Ok(found) if (found.dev(), found.ino()) == *known => {}
                // Whoever opens a database without a log makes an empty one, and may come no further.
                Ok(found) if found.len() == 0 => lost = lost.or(Some(Lost::Deleted)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => lost = lost.or(Some(Lost::Deleted)),
                Ok(_) | Err(_) => lost = Some(Lost::Replaced),
            }
        }
        match lost {
            Some(Lost::Deleted) if !self.has_log() => Some(Lost::Replaced),
            lost => lost,
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
        let Ok(mut file) = File::open(&self.path) else { return false };
        let mut head = [0; 20];
        let read = file.read_exact(&mut head);
        // To close it would take SQLite's locks away from this process.
        std::mem::forget(file);
        read.is_ok() && head[18..] == [2, 2]
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|file| (file.dev(), file.ino()))
}
