//! Modes of SQLite's files: the database has secrets in it, and belongs to one user.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The database, and the files that SQLite keeps beside it.
const SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// As many symbolic links as Linux follows.
const MOST_LINKS: u32 = 40;
/// What the group and all others may do.
const OTHERS: u32 = 0o077;

/// Creates a file that only its owner can read or write, from its first byte on; an error if the name is taken.
pub(super) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Creates a database for its owner alone, unless it exists. If that fails, SQLite says more about it.
pub(super) fn create_if_missing(path: &Path) {
    if let Ok(created) = create_new(&behind_links(path)) {
        // Closing it would end the locks that another thread of this process may have on it by now.
        std::mem::forget(created);
    }
}

/// The file that SQLite opens under this name; it need not exist.
fn behind_links(path: &Path) -> PathBuf {
    let mut file = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&file) else { break };
        file = file.parent().unwrap_or(Path::new("")).join(target);
    }
    file
}

/// Sees to it that only their owner can read or write a database and the files beside it. SQLite gives new files beside it
/// the same mode.
pub(crate) fn protect(path: &Path) -> Result<(), StoreError> {
    // SQLite keeps its files beside the one that a link leads to.
    let database = behind_links(path);
    let Ok(owner) = fs::symlink_metadata(&database).map(|found| found.uid()) else { return Ok(()) };
    SUFFIXES.iter().try_for_each(|suffix| {
        let mut name = database.clone().into_os_string();
        name.push(suffix);
        tighten(&PathBuf::from(name), owner)
    })
}

/// Takes all permissions from the group and from others. Anybody who may write to the folder can put something under these names:
/// links are not followed, and files of others than the owner of the database are left alone.
fn tighten(path: &Path, owner: u32) -> Result<(), StoreError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    let mode = found.permissions().mode() & 0o7777;
    if !found.is_file() || found.uid() != owner || mode & OTHERS == 0 {
        return Ok(());
    }
    let shown = path.display();
    change_mode(path, &found, mode & !OTHERS).map_err(|error| {
        StoreError::Exposed(format!(
            "others can access {shown} (mode {mode:04o}), and that cannot be changed: {error}; run this as the user whom the \
             database belongs to, or run `chmod 600 {shown}` as that user"
        ))
    })?;
    tracing::warn!(file = %shown, mode = %format_args!("{mode:04o}"), "others could access a file of the database; mode tightened");
    Ok(())
}

/// Changes the mode of the file that was found under this name, and of no other that has taken its place.
fn change_mode(path: &Path, found: &Metadata, mode: u32) -> io::Result<()> {
    let file = File::open(path)?;
    let opened = file.metadata()?;
    let changed = match (opened.dev(), opened.ino()) == (found.dev(), found.ino()) {
        true => file.set_permissions(Permissions::from_mode(mode)),
        false => Err(io::Error::other("another file has taken its place")),
    };
    // Closing it would end the locks that another thread of this process may have on it.
    std::mem::forget(file);
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_missing_database_is_created_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real.db"), folder.path().join("link.db"));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        create_if_missing(&link);
        assert_eq!(mode(&file), 0o600);
    }

    #[test]
    fn loose_files_of_a_database_are_tightened() {
        let folder = tempfile::tempdir().unwrap();
        let names = SUFFIXES.map(|suffix| folder.path().join(format!("real.db{suffix}")));
        let link = folder.path().join("link.db");
        std::os::unix::fs::symlink(&names[0], &link).unwrap();
        for (name, loose) in names.iter().zip([0o644, 0o660, 0o606, 0o677]) {
            fs::write(name, "content").unwrap();
            fs::set_permissions(name, Permissions::from_mode(loose)).unwrap();
        }
        protect(&link).unwrap();
        assert_eq!(names.each_ref().map(|name| mode(name)), [0o600; 4]);
        assert!(names.iter().all(|name| fs::read_to_string(name).unwrap() == "content"));
    }

    #[test]
    fn links_beside_a_database_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (database, other) = (folder.path().join("real.db"), folder.path().join("other"));
        for file in [&database, &other] {
            fs::write(file, "content").unwrap();
            fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
        }
        std::os::unix::fs::symlink(&other, folder.path().join("real.db-wal")).unwrap();
        protect(&database).unwrap();
        assert_eq!((mode(&database), mode(&other)), (0o600, 0o644));
    }

    #[test]
    fn a_mode_is_changed_of_the_file_that_was_found_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("real.db-wal"), folder.path().join("other"));
        for file in [&file, &other] {
            fs::write(file, "content").unwrap();
            fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
        }
        let found = fs::symlink_metadata(&file).unwrap();
        fs::rename(&other, &file).unwrap();
        assert!(change_mode(&file, &found, 0o600).is_err());
        assert_eq!(mode(&file), 0o644);
        let found = fs::symlink_metadata(&file).unwrap();
        assert!(tighten(&file, found.uid() + 1).is_ok() && mode(&file) == 0o644, "it is another's");
        change_mode(&file, &found, 0o600).unwrap();
        assert_eq!(mode(&file), 0o600);
    }

    #[test]
    fn a_new_file_never_replaces_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.db");
        drop(create_new(&path).unwrap());
        assert_eq!(mode(&path), 0o600);
        assert_eq!(create_new(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_loose_file_that_cannot_be_tightened_is_refused() {
        // Nobody can change modes there.
        let refused = protect(Path::new("/proc/self/status")).unwrap_err();
        assert!(matches!(&refused, StoreError::Exposed(said) if said.contains("mode 0444")), "{refused:?}");
    }
}
