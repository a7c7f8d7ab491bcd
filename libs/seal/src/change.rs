//! Changing a keyring file: always a whole new file, always one change at a time.
//!
//! A lock file beside the keyring serialises the changes of all processes. It is never removed: a
//! process that waits for it holds the same file as the one that comes after.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, fchown},
    path::{Path, PathBuf},
};

use crate::{
    error::KeyringError,
    keyfile::{KeyEntry, KeyFile},
    keyring::Keyring,
};

/// As many symbolic links as Linux follows: those that lead in a circle have more.
const MOST_LINKS: usize = 40;

impl Keyring {
    /// Makes a keyring file with one random key, and loads it. `now` is in Unix seconds.
    ///
    /// Never replaces a file: with the old keys every sealed value would be lost. Once this returns,
    /// the file survives a loss of power. Through a symbolic link the file behind it is made, not the link.
    pub fn create(path: impl Into<PathBuf>, now: i64) -> Result<Self, KeyringError> {
        let named: PathBuf = path.into();
        let path = Self::place(&named)?;
        let _lock = lock(&path)?;
        let key = KeyEntry::random(now);
        let file = KeyFile { primary: key.id.clone(), keys: vec![key] };
        let draft = write_draft(&path, &file, None)?;
        // A link fails if the name is taken, where a rename would replace what is there.
        let linked = fs::hard_link(&draft, &path);
        let removed = fs::remove_file(&draft);
        linked.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => KeyringError::Exists { path: path.clone() },
            _ => failed("create", &path)(source),
        })?;
        removed.map_err(failed("remove", &draft))?;
        sync_directory(&path)?;
        Self::load(named)
    }

    /// Where a keyring file of this name is, or is going to be made: at the end of its symbolic links, if it is one.
    ///
    /// Refuses a link that ends in a folder that is not there. Makes nothing.
    pub fn place(path: impl AsRef<Path>) -> Result<PathBuf, KeyringError> {
        let link = path.as_ref();
        let mut place = link.to_owned();
        for _ in 0..MOST_LINKS {
            match fs::read_link(&place) {
                Ok(target) => place = directory(&place).join(target),
                Err(_) if place == link || directory(&place).is_dir() => return Ok(place),
                Err(_) => break,
            }
        }
        Err(KeyringError::Dangling { path: link.to_owned(), target: place })
    }

    /// Adds a new random key that seals nothing yet, so that it can be brought to every machine first; returns its id,
    /// or that of one which was prepared before. `now` is in Unix seconds.
    pub fn prepare(path: impl AsRef<Path>, now: i64) -> Result<String, KeyringError> {
        change(path.as_ref(), |file| Ok(prepared(file, now)))
    }

    /// Makes the prepared key the primary, or a new one where none was prepared; returns its id. `now` is in Unix
    /// seconds.
    ///
    /// Older keys stay, so everything still opens. Running processes follow by themselves.
    pub fn rotate(path: impl AsRef<Path>, now: i64) -> Result<String, KeyringError> {
        change(path.as_ref(), |file| {
            file.primary = prepared(file, now);
            Ok(file.primary.clone())
        })
    }

    /// Drops every key that is neither the primary, nor prepared to become it, nor among `keep`; returns the ids dropped.
    ///
    /// `keep` is every key id still found in stored values (see [`key_id`](crate::key_id)). Look only
    /// once each process has followed the last rotation and written what it had sealed before it. An
    /// id to keep that is not in the ring is an error and nothing is dropped.
    pub fn prune(path: impl AsRef<Path>, keep: &[impl AsRef<str>]) -> Result<Vec<String>, KeyringError> {
        change(path.as_ref(), |file| {
            for id in keep.iter().map(AsRef::as_ref) {
                if !file.keys.iter().any(|key| key.id == id) {
                    return Err(KeyringError::KeepUnknown(id.to_owned()));
                }
            }
            // The last one, if it is not the primary, waits to become it.
            let last = file.keys.last().map(|key| key.id.clone());
            let kept = |id: &str| {
                id == file.primary || last.as_deref() == Some(id) || keep.iter().any(|keep| keep.as_ref() == id)
            };
            let (keys, dropped): (Vec<_>, Vec<_>) = file.keys.drain(..).partition(|key| kept(&key.id));
            file.keys = keys;
            Ok(dropped.iter().map(|key| key.id.clone()).collect())
        })
    }
}

/// The key that comes after the primary, made where there is none.
fn prepared(file: &mut KeyFile, now: i64) -> String {
    match file.keys.last() {
        Some(last) if last.id != file.primary => last.id.clone(),
        Some(_) | None => {
            let key = KeyEntry::random(now);
            let id = key.id.clone();
            file.keys.push(key);
            id
        }
    }
}

/// Reads, changes and replaces the file while no other process can.
fn change<T>(path: &Path, change: impl FnOnce(&mut KeyFile) -> Result<T, KeyringError>) -> Result<T, KeyringError> {
    // Through a symbolic link the file behind it is replaced, not the link.
    let path = fs::canonicalize(path).map_err(failed("open", path))?;
    let lock = lock(&path)?;
    let (mut file, _) = KeyFile::read(&path)?;
    let outcome = change(&mut file)?;
    // An operator may do this as root: the server must still be able to read its keyring and to lock it.
    let owner = fs::metadata(&path).map_err(failed("read", &path))?;
    give(&lock, &owner, &path)?;
    let draft = write_draft(&path, &file, Some(&owner))?;
    fs::rename(&draft, &path).inspect_err(|_| discard(&draft)).map_err(failed("replace", &path))?;
    sync_directory(&path)?;
    Ok(outcome)
}

/// Holds the lock until dropped.
fn lock(path: &Path) -> Result<File, KeyringError> {
    let path = beside(path, ".lock");
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(failed("open", &path))?;
    file.lock().map_err(failed("lock", &path))?;
    Ok(file)
}

/// Writes the keyring to a file of its own, complete on disk. The caller holds the lock.
fn write_draft(path: &Path, keys: &KeyFile, owner: Option<&Metadata>) -> Result<PathBuf, KeyringError> {
    let draft = beside(path, ".new");
    // Left by a crash; made anew rather than reused, so that its mode and owner are ours.
    match fs::remove_file(&draft) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(failed("remove", &draft)(source)),
        Ok(()) | Err(_) => {}
    }
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).map_err(failed("create", &draft))?;
    let written = file
        .write_all(&keys.to_json())
        .map_err(failed("write", &draft))
        .and_then(|()| owner.map_or(Ok(()), |owner| give(&file, owner, path)))
        .and_then(|()| file.sync_all().map_err(failed("write", &draft)));
    written.inspect_err(|_| discard(&draft))?;
    Ok(draft)
}

/// A draft that nobody is going to use has keys in it all the same.
fn discard(draft: &Path) {
    // What cannot be removed either is told by whoever comes next.
    let _ = fs::remove_file(draft);
}

/// Makes the file belong to whom the keyring belongs; asks nothing of the system if it does.
fn give(file: &File, to: &Metadata, keyring: &Path) -> Result<(), KeyringError> {
    let from = file.metadata().map_err(failed("read", keyring))?;
    if (from.uid(), from.gid()) == (to.uid(), to.gid()) {
        return Ok(());
    }
    match fchown(file, Some(to.uid()), Some(to.gid())) {
        Ok(()) => Ok(()),
        // The group is none of this user's. It may do nothing with the keyring (mode 0600): the owner is all that counts.
        Err(_) if from.uid() == to.uid() => Ok(()),
        Err(source) => Err(KeyringError::Owner { path: keyring.to_owned(), owner: to.uid(), user: from.uid(), source }),
    }
}

fn sync_directory(path: &Path) -> Result<(), KeyringError> {
    let directory = directory(path);
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed("sync", directory))
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> KeyringError {
    let path = path.to_owned();
    move |source| KeyringError::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_that_cannot_take_its_place_is_not_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keyring.json");
        Keyring::create(&path, 0).unwrap();
        let failed = change(&path, |_| {
            // No file takes the place of a folder.
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            Ok(())
        });
        assert!(matches!(failed, Err(KeyringError::Io { action: "replace", .. })));
        assert!(!beside(&path, ".new").exists());
    }
}
