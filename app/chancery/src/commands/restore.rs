//! Putting a backup in the place of a database, or making fit for service one that was put there by other tools.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use chancery_domain::{Clock, Timestamp};
use chancery_machine::SystemClock;
use chancery_service::operator::Restored;
use chancery_store::{DatabaseUrl, Options, Store, StoreError, Tx};
use clap::Args;

use super::context::{Context, quiet};
use crate::config::span;
use crate::failure::Failure;
use crate::files::{behind_links, beside, create_private, folder_of, private_folder, unwritable, working_folder};
use crate::installation::{Installation, Kek};
use crate::print::{Printer, record};
use crate::target::Target;
use crate::threads::Threads;

#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// The backup: a file that `chancery backup` wrote
    #[arg(long, value_name = "FILE", required_unless_present = "in_place", conflicts_with = "in_place")]
    from: Option<PathBuf>,
    /// Move a database that is there already out of the way; it is kept beside the new one
    #[arg(long, requires = "from")]
    replace: bool,
    /// The database was put back by other tools (pg_restore, a disk's snapshot): do only what has to follow on that
    #[arg(long)]
    in_place: bool,
    /// The clock is right, though the backup seems to be from the future: one was ahead when it was written
    #[arg(long)]
    trust_clock: bool,
}

/// How far the clock of a backup may be ahead of ours.
const LEEWAY: Duration = Duration::from_secs(60);

/// The files of a database, by what their names end in: the log, its index, and the database itself.
const PARTS: [&str; 3] = ["-wal", "-shm", ""];

/// What was lost, and what a person has to do about it.
const LOST: &str = "What happened after that is not in the database any more:
- Revocations: bring the last CRLs that you or others have kept (chancery recover), and what they tell is repeated.
- Certificates: they stay valid, and OCSP calls them unknown until they are brought back (chancery recover).
- Suspended resellers, disabled clients, revoked keys and EAB credentials, rotated secrets: as they were before.
- New accounts, orders and credentials: whoever made them gets 404, and makes them again. Numbers of accounts skip ahead.
Revocation lists are made anew at the start, with numbers beyond all that were used. Clients of ACME are told to use a
new nonce, and do so by themselves.
Next: chancery recover, chancery doctor, then start the service, then repeat what is missing (chancery audit shows where
it ends).";

pub fn run(target: &Target, args: &RestoreArgs) -> Result<(), Failure> {
    let installation = target.find()?;
    match (&args.from, installation.database.clone()) {
        (None, database) => settle_in_place(target, installation, &database, args.trust_clock),
        (Some(from), DatabaseUrl::Sqlite(path)) => put_back(target, installation, from, &path, args),
        (Some(_), DatabaseUrl::Postgres(_)) => Err(Failure::usage("this puts SQLite databases back").advise(format!(
            "for this one use pg_restore while no node runs, and then `chancery restore --in-place {}`",
            installation.place
        ))),
    }
}

fn settle_in_place(
    target: &Target,
    installation: Installation,
    database: &DatabaseUrl,
    trust_clock: bool,
) -> Result<(), Failure> {
    installation.require_database()?;
    let _held = installation.hold_database()?;
    if let DatabaseUrl::Sqlite(path) = database {
        require_sound(path)?;
    }
    let others = Store::others(database, &installation.store).map_err(|error| installation.not_opened(error))?;
    if others > 0 {
        let busy = Failure::usage(format!("{others} connections of this service to {database} are open"));
        return Err(busy.advise("stop every node first"));
    }
    let settled = settle(target, installation, &database.to_string(), trust_clock, 0)?;
    tell(target, &settled, &format!("Made {database} fit for service"), None)
}

fn put_back(
    target: &Target,
    installation: Installation,
    from: &Path,
    path: &Path,
    args: &RestoreArgs,
) -> Result<(), Failure> {
    if !from.is_file() {
        return Err(Failure::usage(format!("there is no backup at {}", from.display())).advise("name another file"));
    }
    if path.exists() && !args.replace {
        let exists = Failure::usage(format!("there is a database at {} already", path.display()));
        return Err(exists.advise("add --replace to move it out of the way, where this is meant"));
    }
    private_folder(folder_of(path))?;
    let _held = installation.hold_database()?;
    // Everything is done to a copy that nobody sees: what goes wrong leaves all as it was.
    let folder = beside(path, ".restoring");
    let _ = fs::remove_dir_all(&folder);
    working_folder(&folder)?;
    let draft = folder.join("restored.db");
    let replaced = highest_number(path, &installation);
    let prepared = prepare(target, installation, from, &draft, args.trust_clock, replaced);
    let placed = prepared.and_then(|settled| {
        // A log without its database would be taken for the new one's.
        let aside = if any_part_exists(path) { Some(move_aside(path, settled.now)?) } else { None };
        fs::hard_link(&draft, path).map_err(|error| unwritable("write", path, &error))?;
        sync_folder(path);
        Ok((settled, aside))
    });
    let _ = fs::remove_dir_all(&folder);
    let (settled, aside) = placed?;
    tell(target, &settled, &format!("Put {} in place as {}", from.display(), path.display()), aside.as_deref())
}

/// A copy of the backup that is checked and fit to be served from.
fn prepare(
    target: &Target,
    installation: Installation,
    from: &Path,
    draft: &Path,
    trust_clock: bool,
    replaced: i64,
) -> Result<Settled, Failure> {
    // A plain copy needs no more than to read the file. Only where somebody kept a log beside it, that is a part of it; a link
    // has none, the file that it leads to may.
    let file = behind_links(from);
    let copied = match beside(&file, "-wal").exists() {
        true => Store::copy_file(&file, draft).map_err(|error| error.to_string()),
        false => copy_file(&file, draft).map_err(|error| error.to_string()),
    };
    copied.map_err(|error| Failure::failed(format!("cannot copy {}: {error}", from.display())))?;
    require_sound(draft).map_err(|failure| Failure::failed(format!("{}: {failure}", from.display())))?;
    let copy = Installation { database: DatabaseUrl::Sqlite(draft.to_owned()), ..installation };
    let settled = settle(target, copy, &from.display().to_string(), trust_clock, replaced)?;
    Store::close_file(draft).map_err(|error| Failure::failed(format!("cannot finish {}: {error}", draft.display())))?;
    Ok(settled)
}

/// Unlike [`fs::copy`], it does not give the copy the mode of what is copied.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut fs::File::open(from)?, &mut create_private(to)?).map(drop)
}

struct Settled {
    restored: Restored,
    secrets: u64,
    authorities: usize,
    now: Timestamp,
}

/// Checks that the database is one of ours that our keys open, and that the clock is right; then does what follows.
/// `named` is what the person calls the backup.
fn settle(
    target: &Target,
    installation: Installation,
    named: &str,
    trust_clock: bool,
    replaced: i64,
) -> Result<Settled, Failure> {
    require_ours(&installation, named)?;
    let keyring = keyring(&installation)?;
    let store = installation.open_store(&Options { migrate: true, ..quiet(&installation) })?;
    let authorities = count_authorities(&store, named)?;
    let context = Context::assemble(installation, target, store, keyring)?;
    let secrets = context.wait(context.operator.try_secrets())?;
    if !secrets.shut.is_empty() {
        let shut = Failure::usage(format!("some secrets do not open: {}", secrets.shut.join("; ")));
        return Err(shut.advise("bring the key-encryption keys that were in use when the backup was made"));
    }
    let (now, copy_of) = (SystemClock.now(), context.wait(context.operator.copied_at())?);
    if let Some(copy_of) = copy_of.filter(|copy_of| !trust_clock && *copy_of > now.plus(LEEWAY)) {
        let early = Failure::usage(format!("the clock says {now}, and the backup is of {copy_of}"));
        return Err(early.advise(
            "set the clock, as numbers of revocation lists, for one, follow it; where it is right, and another was ahead \
             when that was written, add --trust-clock",
        ));
    }
    let restored = context.wait(context.operator.settle_restored_after(replaced))?;
    Ok(Settled { restored, secrets: secrets.opened, authorities, now })
}

/// The highest number of a revocation list in the database that is replaced. It may have been put back itself, with numbers a
/// day ahead of the clock each time. One that cannot be read any more tells nothing.
fn highest_number(path: &Path, installation: &Installation) -> i64 {
    let read = || {
        let database = DatabaseUrl::Sqlite(path.to_owned());
        let store = Store::open_untouched(&database, &quiet(installation)).ok()?;
        let highest = |tx: &mut Tx<'_>| tx.highest_crl_number();
        Threads::start().ok()?.run(store.read(highest)).ok()
    };
    if path.exists() { read().unwrap_or(0) } else { 0 }
}

/// Whatever SQLite opens, an empty file for one, would become a database of ours by being brought up to date.
fn require_ours(installation: &Installation, named: &str) -> Result<(), Failure> {
    let facts = Store::facts(&installation.database, &installation.store);
    match facts.map_err(|error| installation.not_opened(error))?.schema {
        0 => Err(no_backup(named, "none of our tables are in it")),
        _ => Ok(()),
    }
}

/// How many CAs there are. A service without any is of no use, least of all in the place of another.
fn count_authorities(store: &Store, named: &str) -> Result<usize, Failure> {
    let count = |tx: &mut Tx<'_>| Ok::<_, StoreError>(tx.issuers()?.len());
    match Threads::start()?.run(store.read(count))? {
        0 => Err(no_backup(named, "there is no certificate authority in it")),
        authorities => Ok(authorities),
    }
}

fn no_backup(named: &str, why: &str) -> Failure {
    Failure::failed(format!("{named} is no backup of this service: {why}"))
        .advise("use one that was made of a database of this service")
}

fn keyring(installation: &Installation) -> Result<chancery_seal::Keyring, Failure> {
    match &installation.kek {
        Kek::File(path) if !path.exists() => {
            Err(Failure::usage(format!("the key-encryption keys are not at {}", path.display()))
                .advise("bring them from where they are kept; without them no backup is of use"))
        }
        Kek::File(_) | Kek::Text(_) => installation.keyring(),
    }
}

fn require_sound(path: &Path) -> Result<(), Failure> {
    let damaged = |said: &dyn std::fmt::Display| {
        Failure::failed(format!("the database is damaged: {said}")).advise("use another, older backup")
    };
    match Store::inspect_file(path) {
        Ok(findings) => findings.first().map_or(Ok(()), |first| Err(damaged(first))),
        Err(StoreError::Damaged(said)) => Err(damaged(&said)),
        Err(other) => Err(Failure::failed(format!("cannot be read: {other}"))),
    }
}

/// Gives a database and the files that belong to it a name that nothing has. What was the database stays one, under the
/// new name, for its owner alone.
fn move_aside(path: &Path, now: Timestamp) -> Result<PathBuf, Failure> {
    Store::protect_files(path)?;
    let aside = free_name(path, now);
    let names = PARTS.map(|part| (beside(path, part), beside(&aside, part)));
    let parts: Vec<_> = names.into_iter().filter(|(old, _)| old.exists()).collect();
    // A link fails if the name was taken meanwhile, where a rename would replace what is there. The database comes first:
    // with it the name is ours. Nothing is removed before all of it has its new name.
    for (place, (old, new)) in parts.iter().rev().enumerate() {
        if let Err(error) = fs::hard_link(old, new) {
            // A second name of a database that is still in use is a trap.
            parts.iter().rev().take(place).for_each(|(_, linked)| drop(fs::remove_file(linked)));
            return Err(unwritable("rename", old, &error));
        }
    }
    for (old, _) in &parts {
        fs::remove_file(old).map_err(|error| unwritable("rename", old, &error))?;
    }
    Ok(aside)
}

/// The name for a database that is replaced now: another one may have been replaced in the same second.
fn free_name(path: &Path, now: Timestamp) -> PathBuf {
    let first = beside(path, &format!(".replaced-{}", now.as_secs()));
    let (mut name, mut number) = (first.clone(), 1);
    while any_part_exists(&name) {
        number += 1;
        name = beside(&first, &format!("-{number}"));
    }
    name
}

fn any_part_exists(path: &Path) -> bool {
    PARTS.iter().any(|part| beside(path, part).exists())
}

/// The new name lasts when the folder is on the disk. Where that cannot be asked for, the system does it in its own time.
fn sync_folder(path: &Path) {
    let _ = fs::File::open(folder_of(path)).and_then(|folder| folder.sync_all());
}

fn tell(target: &Target, settled: &Settled, done: &str, aside: Option<&Path>) -> Result<(), Failure> {
    let Settled { restored, secrets, authorities, now } = settled;
    let age = restored.copy_of.map(|copy_of| now.since(copy_of));
    let record = record! {
        "copy_of" => restored.copy_of.map(|at| at.to_string()),
        "age_seconds" => age.map(|age| age.as_secs()),
        "authorities" => authorities,
        "secrets" => secrets,
        "revocation_lists" => restored.lists,
        "jobs" => restored.jobs,
        "dropped_drafts" => restored.drafts,
        "replaced" => aside.map(|aside| aside.display().to_string()),
    };
    let when = match (restored.copy_of, age) {
        (Some(copy_of), Some(age)) => {
            format!("as it was at {copy_of}, {} ago", span::roughly(age))
        }
        _ => "as it was at a time that nothing in it tells".to_owned(),
    };
    let kept = aside.map(|aside| format!(" What was there is now {}.", aside.display())).unwrap_or_default();
    let counts = format!("{authorities} CAs, {secrets} secrets that open, {} jobs to go on with.", restored.jobs);
    Printer { json: target.json }.say(&format!("{done}, {when}: {counts}{kept}\n{LOST}"), &record)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(7);

    #[test]
    fn databases_that_are_moved_aside_in_the_same_second_all_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (path, contents) = (folder.path().join("a.db"), ["first", "second", "third"]);
        let moved = contents.map(|content| {
            fs::write(&path, content).unwrap();
            fs::write(beside(&path, "-wal"), format!("log of the {content}")).unwrap();
            move_aside(&path, NOW).unwrap()
        });
        assert_eq!(moved, ["", "-2", "-3"].map(|end| beside(&path, &format!(".replaced-7{end}"))));
        for (aside, content) in moved.iter().zip(contents) {
            assert_eq!(fs::read_to_string(aside).unwrap(), content);
            assert_eq!(fs::read_to_string(beside(aside, "-wal")).unwrap(), format!("log of the {content}"));
        }
        assert!(!any_part_exists(&path), "the old name is free for another");
    }

    #[test]
    fn a_name_that_only_a_log_has_is_not_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        fs::write(beside(&path, ".replaced-7-wal"), "").unwrap();
        assert_eq!(free_name(&path, NOW), beside(&path, ".replaced-7-2"));
    }
}
