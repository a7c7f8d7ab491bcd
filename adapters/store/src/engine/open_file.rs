//! The files of a SQLite database as they were opened, and whether they still have their names.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::error::StoreError;

/// The file that is written to with the log beside it, and the names that they must still have: what goes into one that was
/// deleted or moved is not there when the service is started again.
#[derive(Clone)]
pub(super) struct OpenFile {
    path: PathBuf,
    log: PathBuf,
    /// The devices and the numbers that both have on them.
    identities: [Identity; 2],
}

/// The device and the number that a file has on it.
type Identity = (u64, u64);

impl OpenFile {
    /// Both are there once a connection has been opened.
    pub(super) fn of(path: &Path) -> Result<Self, StoreError> {
        let mut log = path.to_owned().into_os_string();
        log.push("-wal");
        let log = PathBuf::from(log);
        let known = |path| identity(path).map_err(|error| StoreError::Unavailable(error.to_string()));
        Ok(Self { identities: [known(path)?, known(&log)?], path: path.to_owned(), log })
    }

    pub(super) fn require_there(&self) -> Result<(), StoreError> {
        if [&self.path, &self.log].map(|path| identity(path).ok()) == self.identities.map(Some) {
            return Ok(());
        }
        Err(StoreError::Unavailable(format!(
            "{} and the log beside it are not the files any more that were opened; put both back, or stop the service and use \
             `chancery restore`",
            self.path.display()
        )))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// Whether all is there but the log, and nothing in its place that would be taken for it.
    pub(super) fn lacks_log(&self) -> bool {
        let is_gone = || identity(&self.log).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        identity(&self.path).is_ok_and(|found| found == self.identities[0]) && is_gone()
    }
}

fn identity(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|file| (file.dev(), file.ino()))
}
