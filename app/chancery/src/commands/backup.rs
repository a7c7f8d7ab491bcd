use std::fs;
use std::path::{Path, PathBuf};

use chancery_domain::{Action, Clock};
use chancery_machine::SystemClock;
use chancery_store::{DatabaseUrl, Options, Store, StoreError};
use clap::Args;
use serde_json::json;

use super::context::quiet;
use super::noting::{note, untold};
use crate::failure::Failure;
use crate::files::{beside, folder_of, hold, remove, require_own_folder, unwritable, working_folder};
use crate::installation::Kek;
use crate::print::{Printer, record};
use crate::target::Target;
use crate::threads::Threads;

#[derive(Args, Debug)]
pub struct BackupArgs {
    /// A file that does not exist yet, in a folder that does
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
}

pub fn run(target: &Target, args: &BackupArgs) -> Result<(), Failure> {
    let installation = target.find()?;
    let DatabaseUrl::Sqlite(path) = &installation.database else {
        return Err(Failure::usage("this backs up SQLite databases")
            .advise("use pg_dump, or the archiving of your PostgreSQL server, for this one"));
    };
    installation.require_database()?;
    installation.require_one_name()?;
    let facts = Store::facts(&installation.database, &installation.store);
    let facts = facts.map_err(|error| installation.not_opened(error))?;
    // Before an upgrade is when a backup is needed most; what is of an earlier release cannot be written to, though.
    let store = match (1..facts.known_schema).contains(&facts.schema) {
        true => None,
        false => Some(installation.open_store(&Options { migrate: false, ..quiet(&installation) })?),
    };
    copy(path, &args.to)?;
    let bytes = fs::metadata(&args.to).map(|metadata| metadata.len()).unwrap_or(0);
    let file = args.to.display().to_string();
    if let Some(store) = &store {
        let noted = note(store, Action::BackupCreate, file.clone(), json!({"bytes": bytes}));
        Threads::start()?.run(noted).map_err(|error| untold(&format!("wrote {file}"), &error))?;
    }
    let kek = match &installation.kek {
        Kek::File(path) => format!("the key-encryption keys in {}", path.display()),
        Kek::Text(_) => "the key-encryption key from your environment".to_owned(),
    };
    let mut sentence =
        format!("Wrote {file} ({bytes} bytes). It is of no use without {kek}: keep those elsewhere, and safe.");
    if let Some(token) = &installation.token {
        let label = token.label();
        sentence.push_str(&format!("\nKeys of CAs that are in the token {label:?} are not in it: back that up, too."));
    }
    let record = record! { "file" => file, "bytes" => bytes };
    Printer { json: target.json }.say(&sentence, &record)
}

/// Copies into a folder that only we can enter, and puts the copy in place when it is complete.
fn copy(database: &Path, to: &Path) -> Result<(), Failure> {
    if to.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(Failure::usage(format!("{} names a folder", to.display())).advise("name a new file"));
    }
    if to.exists() {
        let exists = Failure::usage(format!("{} exists already", to.display()));
        return Err(exists.advise("name a new file"));
    }
    require_folder(to)?;
    require_own_folder(folder_of(to))?;
    let folder = beside(to, ".partial");
    working_folder(&folder)?;
    let Some(_held) = hold(&folder.join("lock"))? else {
        return Err(Failure::usage(format!("another backup is being written to {}", to.display()))
            .advise("wait for it, or name another file"));
    };
    let draft = folder.join("backup.db");
    // Left by one that was killed.
    remove(&draft)?;
    let copied = Store::backup(database, &draft, SystemClock.now()).map_err(|error| not_copied(error, to));
    let placed = copied.and_then(|()| {
        let place = || {
            fs::File::open(&draft)?.sync_all()?;
            // A link fails if the name was taken meanwhile, where a rename would replace what is there.
            fs::hard_link(&draft, to)
        };
        place().map_err(|error| unwritable("write", to, &error))
    });
    // What is left of an attempt that failed is of no use to anybody.
    let _ = fs::remove_dir_all(&folder);
    placed
}

/// The store means the disk of the database when it says that one is full; a copy is written to another.
fn not_copied(error: StoreError, to: &Path) -> Failure {
    match error {
        StoreError::Unavailable(said) if said.starts_with("the disk is full") => {
            Failure::failed("cannot copy the database: the disk is full")
                .advise(format!("make room where {} is", to.display()))
        }
        other => Failure::failed(format!("cannot copy the database: {other}")),
    }
}

/// A folder is not made here: a mistyped one, or the place of a disk that is not mounted, would look like a backup.
fn require_folder(to: &Path) -> Result<(), Failure> {
    match to.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.is_dir()) {
        Some(missing) => Err(Failure::usage(format!("there is no folder {}", missing.display()))
            .advise("make it first, or mount the disk that it is on")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_that_is_full_is_that_of_the_copy() {
        let said = |error| not_copied(error, Path::new("/backup/a.db")).to_string();
        let full = StoreError::Unavailable("the disk is full; make room where the database is".to_owned());
        assert_eq!(said(full), "cannot copy the database: the disk is full; make room where /backup/a.db is");
        let other = said(StoreError::Unavailable("another process holds it".to_owned()));
        assert!(other.ends_with("another process holds it"), "{other}");
    }
}
