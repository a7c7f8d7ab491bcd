//! Files that are whole or not there, and folders for us alone.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use chancery_domain::Secret;

use crate::failure::Failure;

/// How many links one after the other are followed: as many as Linux does.
const MOST_LINKS: u32 = 40;

/// Makes a folder that only its owner can enter; one that is there already stays as it is.
pub fn private_folder(path: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| unwritable("create the folder", path, &error))
}

/// Makes a folder for unfinished files, which only its owner can enter. One that an earlier attempt left behind is used
/// again; any other is refused, since somebody could read or replace what is in it.
pub fn working_folder(path: &Path) -> Result<(), Failure> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.map_err(|error| unwritable("create the folder", path, &error)),
    }
    let found = fs::symlink_metadata(path).map_err(|error| unwritable("look at", path, &error))?;
    if found.is_dir() && found.uid() == own_user() && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    let taken = Failure::usage(format!("{} is there already, and is not a folder of this user alone", path.display()));
    Err(taken.advise("remove it"))
}

/// Requires that nobody but this user can change what is in a folder: whoever can could replace what is written there.
pub fn require_own_folder(path: &Path) -> Result<(), Failure> {
    let found = fs::metadata(path).map_err(|error| unwritable("look at", path, &error))?;
    let (owner, user, mode) = (found.uid(), own_user(), found.mode() & 0o7777);
    let shown = path.display();
    if owner != user {
        return Err(Failure::usage(format!("{shown} belongs to user {owner}, and this is user {user}"))
            .advise("run this as that user, or name a folder of this user (mkdir -m 700 FOLDER)"));
    }
    if mode & 0o022 != 0 {
        return Err(Failure::usage(format!("others can write to {shown} (mode {mode:04o})"))
            .advise(format!("run `chmod go-w {shown}`, or name another folder (mkdir -m 700 FOLDER)")));
    }
    Ok(())
}

/// Creates a file that only its owner can read or write, from its first byte on; an error if the name is taken.
pub fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The file that a path leads to, by whatever links; it need not be there. Two names of one file give the same.
pub fn behind_links(path: &Path) -> PathBuf {
    let mut file = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&file) else { break };
        file = folder_of(&file).join(target);
    }
    match (fs::canonicalize(folder_of(&file)), file.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        (Err(_), _) | (_, None) => file,
    }
}

/// The folder that a file is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Beside a file, with a name that begins as its own.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Puts a file in place at once, so that nobody ever reads half of it; the old one, if any, is replaced.
pub fn write(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    write_bytes(path, text.as_bytes(), mode)
}

/// Puts a file of any bytes in place at once, so that nobody ever reads half of it; the old one, if any, is replaced.
pub fn write_bytes(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    replace(path, bytes, mode).map_err(|error| unwritable("write", path, &error))
}

/// A secret in a file that nobody but its owner may read; white space around it is not part of it.
pub fn read_secret(path: &Path) -> Result<Secret, String> {
    let failed = |error: io::Error| format!("cannot read {}: {error}", path.display());
    let found = fs::metadata(path).map_err(failed)?;
    if !found.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    let mode = found.permissions().mode();
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
    let draft = &beside(path, ".new");
    // Left by a crash; made anew, so that its mode is ours.
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(draft, path)?;
    File::open(folder_of(path))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder_with(mode: u32, place: &Path) -> PathBuf {
        let folder = place.join(format!("{mode:o}"));
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        folder
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let place = tempfile::tempdir().unwrap();
        for mode in [0o700, 0o755, 0o2750] {
            require_own_folder(&folder_with(mode, place.path())).unwrap();
        }
        for mode in [0o770, 0o707, 0o1777] {
            let folder = folder_with(mode, place.path());
            let said = require_own_folder(&folder).unwrap_err().to_string();
            let advice = format!("chmod go-w {}", folder.display());
            assert!(said.contains(&format!("mode {mode:04o}")) && said.contains(&advice), "{said}");
        }
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        let place = tempfile::tempdir().unwrap();
        // Only root can give a folder away.
        if std::os::unix::fs::chown(place.path(), Some(own_user() + 1), None).is_err() {
            return;
        }
        let said = require_own_folder(place.path()).unwrap_err().to_string();
        assert!(said.contains(&format!("belongs to user {}", own_user() + 1)), "{said}");
    }

    #[test]
    fn unfinished_files_are_in_a_folder_of_their_own() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("made");
        for _ in 0..2 {
            working_folder(&folder).unwrap();
            assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        }
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        fs::write(&file, "").unwrap();
        symlink(&folder, &link).unwrap();
        for taken in [folder_with(0o750, place.path()), folder_with(0o701, place.path()), file, link] {
            let said = working_folder(&taken).unwrap_err().to_string();
            assert!(said.contains("is there already") && said.ends_with("remove it"), "{said}");
        }
    }

    #[test]
    fn every_name_of_a_file_leads_to_it_also_where_it_is_gone() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        fs::create_dir(place.join("disk")).unwrap();
        let file = place.join("disk/real.db");
        symlink("disk", place.join("mounted")).unwrap();
        symlink("mounted/real.db", place.join("link.db")).unwrap();
        symlink(place.join("link.db"), place.join("another.db")).unwrap();
        let names = ["disk/real.db", "mounted/real.db", "link.db", "another.db", "disk/../link.db"];
        for there in [false, true] {
            assert!(names.iter().all(|name| behind_links(&place.join(name)) == file), "{there}");
            fs::write(&file, "").unwrap();
        }
        symlink("round.db", place.join("round.db")).unwrap();
        assert_eq!(behind_links(&place.join("round.db")), place.join("round.db"));
        assert_eq!(behind_links(Path::new("/nowhere/at/all.db")), Path::new("/nowhere/at/all.db"));
    }
}
