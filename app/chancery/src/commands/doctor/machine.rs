//! The machine: room on the disk, files that can be opened, who can read secrets, and the times of files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use chancery_domain::Timestamp;
use chancery_store::DatabaseUrl;
use rustix::fs::Access;
use rustix::io::Errno;

use super::finding::Report;
use crate::config::span::roughly;
use crate::files::{behind_links, beside, folder_of};
use crate::installation::{Installation, Kek, Place, Validation};

const MEGABYTE: u64 = 1024 * 1024;
/// Below this, the next checkpoint may not fit.
const LEAST_ROOM: u64 = 64 * MEGABYTE;
const SCARCE_ROOM: u64 = 1024 * MEGABYTE;
/// How far in the future a file may have been written.
const FAR: Duration = Duration::from_secs(60);
/// Descriptors for everything that is not a connection: files, pipes, connections to the database.
const OWN_FILES: u64 = 64;
/// A service with fewer is of no use.
const LEAST_FILES: u64 = 256;

pub(super) fn look(installation: &Installation, now: Timestamp, report: &mut Report) {
    if let DatabaseUrl::Sqlite(path) = &installation.database {
        look_at_disk(path, report);
        look_at_writing(path, report);
        look_at_folder(path, report);
    }
    look_at_limit(installation, report);
    look_at_files(installation, report);
    look_at_times(installation, now, report);
}

fn look_at_disk(path: &Path, report: &mut Report) {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(room) = rustix::fs::statvfs(folder) else { return };
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    judge_room(folder, free, fs::metadata(path).map_or(0, |metadata| metadata.len()), report);
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let kind = fs::canonicalize(folder).ok().and_then(|folder| file_system(&mounts, &folder));
    if let Some(kind) = kind.filter(|kind| is_remote(kind)) {
        let what = format!("{} is on {kind}, a network file system, where locks cannot be relied on", folder.display());
        report.problem("disk", what, "put the database on a disk of this machine, or use PostgreSQL");
    }
}

/// The system is asked, which knows of owners, of read-only disks, and of all else that may stand against it. A database
/// that can only be read looks well, and takes nothing.
fn look_at_writing(path: &Path, report: &mut Report) {
    if !path.exists() {
        return;
    }
    let refused = written(path).into_iter().filter_map(|(part, needed)| {
        let error = rustix::fs::access(part.as_path(), needed).err().filter(|error| *error != Errno::NOENT)?;
        Some(format!("{} ({error})", part.display()))
    });
    let refused = refused.collect::<Vec<_>>().join(", ");
    if refused.is_empty() {
        return report.well("permissions", "this user can write the database");
    }
    let advice = "run this as the user that the service runs as; give that user the files (chown, chmod u+w), or mount \
                  the disk so that it can be written";
    report.problem("permissions", format!("this user cannot write {refused}: nothing can be issued"), advice);
}

/// Whoever can write to the folder of a database can replace it.
fn look_at_folder(path: &Path, report: &mut Report) {
    let file = behind_links(path);
    let Ok(mode) = fs::metadata(folder_of(&file)).map(|folder| folder.mode() & 0o7777) else { return };
    if mode & 0o022 != 0 {
        let folder = folder_of(&file).display();
        let what = format!("others can write to {folder}, where the database is (mode {mode:04o}), and replace it");
        report.warn("permissions", what, format!("chmod go-w {folder}"));
    }
}

/// What has to be written where a database is, and how; some of it may not be there yet.
fn written(path: &Path) -> Vec<(PathBuf, Access)> {
    // SQLite keeps its files beside the one that a link leads to; the lock is ours, beside what the settings name.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let named = |path: &Path, end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        (PathBuf::from(name), Access::WRITE_OK)
    };
    let folder = real.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = (folder.to_owned(), Access::WRITE_OK | Access::EXEC_OK);
    vec![named(&real, ""), named(&real, "-wal"), named(&real, "-shm"), named(path, ".lock"), folder]
}

fn judge_room(folder: &Path, free: u64, size: u64, report: &mut Report) {
    let what = format!("{} MB are free in {}", free / MEGABYTE, folder.display());
    let advice = "make room or use a larger disk; [retention] says how long things are kept";
    match free {
        free if free < LEAST_ROOM => report.problem("disk", what, advice),
        free if free < SCARCE_ROOM || free < size => report.warn("disk", what, advice),
        _ => report.well("disk", what),
    }
}

/// The kind of the file system that a path is on: that of the longest mount point above it.
fn file_system(mounts: &str, path: &Path) -> Option<String> {
    let mounted = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let above = mounted.filter(|(point, _)| path.starts_with(point.replace("\\040", " ")));
    above.max_by_key(|(point, _)| point.len()).map(|(_, kind)| kind.to_owned())
}

fn is_remote(kind: &str) -> bool {
    ["nfs", "cifs", "smb", "fuse.sshfs", "9p", "afs", "ceph", "gluster"].iter().any(|remote| kind.starts_with(remote))
}

/// The limit of this process, which is the service's where both are started alike.
fn look_at_limit(installation: &Installation, report: &mut Report) {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let validating = match &installation.validation {
        Validation::Checked(config) => config.max_in_flight as u64,
        Validation::Skipped => 0,
    };
    // Two listeners for the world, three files for each look for control.
    let connections = 2 * installation.limits.http.connections as u64;
    let needed = connections + 3 * validating + installation.store.connections as u64 + OWN_FILES;
    // The service raises its own limit as far as it may.
    judge_limit(limit.maximum.or(limit.current), needed, report);
}

fn judge_limit(limit: Option<u64>, needed: u64, report: &mut Report) {
    let limit = limit.unwrap_or(u64::MAX);
    let advice = format!("raise it to {needed} (ulimit -Hn, LimitNOFILE=), or lower limits.connections");
    match limit {
        limit if limit < LEAST_FILES => {
            report.problem("files", format!("only {limit} files can be open at once"), advice);
        }
        limit if limit < needed => {
            let what = format!("{limit} files can be open at once; the limits that are set allow for {needed}");
            report.warn("files", what, advice);
        }
        u64::MAX => report.well("files", "any number can be open at once"),
        limit => report.well("files", format!("{limit} can be open at once")),
    }
}

/// The keyring and the TLS key are refused with the configuration where others can read them.
fn look_at_files(installation: &Installation, report: &mut Report) {
    let mut open = 0;
    for (path, what) in confidential(installation) {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        let mode = metadata.mode() & 0o7777;
        if mode & 0o077 != 0 {
            open += 1;
            let what = format!("{} ({what}) can be reached by others (mode {mode:04o})", path.display());
            report.problem("permissions", what, format!("chmod 600 {}", path.display()));
        }
        let (own, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
        if own != user {
            open += 1;
            let what = format!("{} belongs to user {own}, and this is user {user}", path.display());
            report.warn("permissions", what, "run this as the user that the service runs as");
        }
    }
    if open == 0 {
        report.well("permissions", "secrets are this user's alone");
    }
}

fn confidential(installation: &Installation) -> Vec<(PathBuf, &'static str)> {
    let mut files = Vec::new();
    if let Kek::File(path) = &installation.kek {
        files.push((path.clone(), "the key-encryption keys"));
    }
    match (&installation.database, &installation.place) {
        (DatabaseUrl::Sqlite(path), _) => {
            let file = behind_links(path);
            files.extend(["", "-wal", "-shm"].map(|part| (beside(&file, part), "the database")));
        }
        (DatabaseUrl::Postgres(address), Place::Configuration(path)) if address.has_password() => {
            // It may come from the environment instead.
            let text = fs::read_to_string(path).unwrap_or_default();
            if text.contains("postgres://") || text.contains("postgresql://") {
                files.push((path.clone(), "the password of the database"));
            }
        }
        (DatabaseUrl::Postgres(_), _) => {}
    }
    files
}

fn look_at_times(installation: &Installation, now: Timestamp, report: &mut Report) {
    let mut files: Vec<PathBuf> = confidential(installation).into_iter().map(|(path, _)| path).collect();
    if let Place::Configuration(path) = &installation.place {
        files.push(path.clone());
    }
    if let Some(tls) = &installation.tls {
        files.push(tls.certificate.clone());
    }
    let written = files.into_iter().filter_map(|path| {
        let modified = fs::metadata(&path).and_then(|metadata| metadata.modified()).ok()?;
        let since = modified.duration_since(UNIX_EPOCH).ok()?;
        Some((Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?), path))
    });
    match written.max().filter(|(written, _)| *written > now.plus(FAR)) {
        Some((written, path)) => {
            let ahead = roughly(written.since(now));
            let what = format!("{} was written {ahead} after what the clock says is now ({now})", path.display());
            report.problem("clock", what, "set this machine's clock by NTP");
        }
        None => report.well("clock", format!("{now}, and no file is younger")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    fn level(judge: impl FnOnce(&mut Report)) -> Level {
        let mut report = Report::default();
        judge(&mut report);
        report.0[0].level
    }

    #[test]
    fn a_disk_is_told_before_it_is_full() {
        let room = |free, size| level(|report| judge_room(Path::new("/"), free * MEGABYTE, size * MEGABYTE, report));
        assert_eq!([room(63, 1), room(64, 1), room(1023, 1)], [Level::Problem, Level::Warning, Level::Warning]);
        assert_eq!([room(2000, 1), room(2000, 3000)], [Level::Ok, Level::Warning], "a backup needs as much again");
    }

    #[test]
    fn a_limit_is_measured_by_what_is_allowed_for() {
        let files = |limit| level(|report| judge_limit(limit, 21_572, report));
        assert_eq!([files(Some(64)), files(Some(1024))], [Level::Problem, Level::Warning]);
        assert_eq!([files(Some(65_536)), files(None)], [Level::Ok, Level::Ok]);
    }

    #[test]
    fn a_network_file_system_is_known_by_its_mount() {
        let mounts = "/dev/sda / ext4 rw 0 0\nhost:/x /srv/a\\040b nfs4 rw 0 0\ntmpfs /srv tmpfs rw 0 0\n";
        let kind = |path: &str| file_system(mounts, Path::new(path)).unwrap();
        assert_eq!([kind("/srv/a b/c"), kind("/srv/x"), kind("/etc")], ["nfs4", "tmpfs", "ext4"]);
        assert!(is_remote("nfs4") && is_remote("cifs") && !is_remote("ext4"));
    }
}
