//! Files that are whole or not there, and folders for us alone.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use chancery_domain::Secret;

use crate::failure::Failure;

/// Makes a folder that only its owner can enter; one that is there already stays as it is.
pub fn private_folder(path: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| unwritable("create the folder", path, &error))
}

/// Puts a file in place at once, so that nobody ever reads half of it; the old one, if any, is replaced.
pub fn write(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    write_bytes(path, text.as_bytes(), mode)
}

/// The same for what is not text.
pub fn write_bytes(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    replace(path, bytes, mode).map_err(|error| unwritable("write", path, &error))
}

/// A secret in a file that nobody but its owner may read; white space around it is not part of it.
pub fn read_secret(path: &Path) -> Result<Secret, String> {
    let failed = |error: io::Error| format!("cannot read {}: {error}", path.display());
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(format!("{0} can be read by others; run `chmod 600 {0}`", path.display()));
    }
    let text = Secret::new(fs::read_to_string(path).map_err(failed)?);
    match text.reveal().trim() {
        "" => Err(format!("{} is empty", path.display())),
        secret => Ok(Secret::new(secret.to_owned())),
    }
}

/// Removes a file, if it is there.
pub fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable("remove", path, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Holds a file for as long as the answer is kept, also across a crash; nothing where another process holds it.
pub fn hold(path: &Path) -> Result<Option<File>, Failure> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let file = file.map_err(|error| unwritable("write", path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(unwritable("lock", path, &error)),
    }
}

/// "cannot … PATH", with what to do about it.
pub fn unwritable(action: &str, path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::usage(format!("cannot {action} {}: {error}", path.display()));
    failure.advise("choose a place that this user may write to")
}

fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = Path::new(&draft);
    // Left by a crash; made anew, so that its mode is ours.
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(draft, path)?;
    File::open(path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))?.sync_all()
}
