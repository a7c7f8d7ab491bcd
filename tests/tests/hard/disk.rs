//! A disk that is full, read-only, locked or damaged: a clear refusal, nothing lost, and all well again afterwards.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::server::{GENEROUS, Ledger, Server, require_sound};

/// A file system of its own, unmounted in the end.
struct Mounted {
    point: PathBuf,
    _folder: TempDir,
}

impl Mounted {
    /// Mounts something; none where that is forbidden.
    fn mount(prepare: impl FnOnce(&Path), arguments: impl FnOnce(&Path) -> Vec<String>) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let point = folder.path().join("mounted");
        fs::create_dir(&point).unwrap();
        prepare(folder.path());
        let mounted = Command::new("mount").args(arguments(folder.path())).arg(&point).output().ok()?;
        if !mounted.status.success() {
            eprintln!("skipped: {}", String::from_utf8_lossy(&mounted.stderr));
            return None;
        }
        Some(Self { point, _folder: folder })
    }

    /// A small one in memory.
    fn small(megabytes: u32) -> Option<Self> {
        let words = ["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "tmpfs"].map(str::to_owned);
        Self::mount(|_| {}, |_| words.into())
    }

    fn data(&self) -> PathBuf {
        self.point.join("data")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.point).status();
    }
}

/// Fills a disk to the last byte.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    for size in [65_536, 4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

/// Tries until an account can be made again.
async fn until_it_works_again(server: &Server, ledger: &mut Ledger) {
    let (began, before) = (Instant::now(), ledger.made.len());
    while ledger.made.len() == before {
        ledger.fill(server, 1, Duration::from_millis(50)).await;
        assert!(began.elapsed() < GENEROUS, "it does not work again: {}", server.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_and_over_when_there_is_room() {
    // Far more than the service writes before its log is copied into the database, which begins at 8 MiB.
    let Some(disk) = Mounted::small(128) else { return };
    let logs = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(&disk.data(), &logs.path().join("log"), "", &[]) else { return };
    let mut ledger = Ledger::default();
    ledger.fill(&server, 8, Duration::from_secs(1)).await;
    assert!(!ledger.made.is_empty() && ledger.refused.is_empty(), "{:?}", ledger.refused);

    fill(&disk.point.join("junk"));
    // What was preallocated may still take a few, on a slow machine for some time.
    let began = Instant::now();
    let meanwhile = loop {
        let mut meanwhile = Ledger::default();
        meanwhile.fill(&server, 8, Duration::from_secs(1)).await;
        assert_eq!(meanwhile.unanswered, 0);
        if meanwhile.made.is_empty() {
            break meanwhile;
        }
        ledger.made.extend(meanwhile.made);
        assert!(began.elapsed() < GENEROUS, "the disk is never full");
    };
    assert!(meanwhile.refused[&503] > 0 && meanwhile.refused.len() == 1, "{:?}", meanwhile.refused);
    let said = server.until_ready(false);
    assert!(said.contains("the disk is full"), "{said}");
    assert_eq!(server.get("/v1/account?limit=1").await, 200, "who only reads is not concerned");
    assert!(server.log().contains("make room"), "{}", server.log());

    fs::remove_file(disk.point.join("junk")).unwrap();
    until_it_works_again(&server, &mut ledger).await;
    server.until_ready(true);
    ledger.check(&server).await;
    let database = server.database();
    assert_eq!(server.stop().code(), Some(0));
    require_sound(&database);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_of_another_process_is_told_and_over_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::start(&folder.path().join("data"), &folder.path().join("log"), "", &[]) else { return };
    let mut ledger = Ledger::default();
    ledger.fill(&server, 4, Duration::from_millis(500)).await;
    let other = rusqlite::Connection::open(server.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut meanwhile = Ledger::default();
    meanwhile.fill(&server, 4, Duration::from_secs(1)).await;
    assert_eq!((meanwhile.made.len(), meanwhile.unanswered), (0, 0));
    assert_eq!(meanwhile.refused.keys().copied().collect::<Vec<_>>(), [503]);
    server.until_ready(false);
    assert_eq!(server.get("/v1/account?limit=1").await, 200, "who only reads is not concerned");
    assert!(server.log().contains("another process holds"), "{}", server.log());

    other.execute_batch("ROLLBACK").unwrap();
    until_it_works_again(&server, &mut ledger).await;
    server.until_ready(true);
    ledger.check(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_page_is_told_and_a_mended_file_is_served_again() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let Some(server) = Server::start(&data, &log, "", &[]) else { return };
    let mut ledger = Ledger::default();
    ledger.fill(&server, 8, Duration::from_secs(1)).await;
    // All of it into the one file, where the root of the accounts is then overwritten.
    let connection = rusqlite::Connection::open(server.database()).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let page: u32 = connection
        .query_row("SELECT rootpage FROM sqlite_master WHERE name = 'accounts'", [], |row| row.get(0))
        .unwrap();
    drop(connection);
    let file = File::options().read(true).write(true).open(server.database()).unwrap();
    let (mut good, at) = ([0; 4096], u64::from(page - 1) * 4096);
    file.read_exact_at(&mut good, at).unwrap();
    file.write_all_at(&[0x5a; 4096], at).unwrap();

    let mut meanwhile = Ledger::default();
    meanwhile.fill(&server, 4, Duration::from_secs(2)).await;
    assert_eq!(meanwhile.refused.keys().copied().collect::<Vec<_>>(), [503], "{}", server.log());
    let said = server.until_ready(false);
    assert!(said.contains("damaged"), "{said}");
    assert!(server.log().contains("chancery restore"), "{}", server.log());
    assert_eq!(server.stop().code(), Some(0));

    file.write_all_at(&good, at).unwrap();
    let server = Server::start(&data, &log, "", &[]).unwrap();
    server.until_ready(true);
    ledger.check(&server).await;
    until_it_works_again(&server, &mut ledger).await;
    let database = server.database();
    server.stop();
    require_sound(&database);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_turns_read_only_is_told_and_the_rest_is_there_afterwards() {
    let image = |folder: &Path| folder.join("image");
    let prepare = |folder: &Path| {
        let made = File::create(image(folder)).unwrap().set_len(64 * 1024 * 1024);
        made.unwrap();
        let _ = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(image(folder)).output();
    };
    let loop_mount = |folder: &Path| vec!["-o".to_owned(), "loop".to_owned(), image(folder).display().to_string()];
    let Some(disk) = Mounted::mount(prepare, loop_mount) else { return };
    let logs = tempfile::tempdir().unwrap();
    let log = logs.path().join("log");
    let Some(server) = Server::start(&disk.data(), &log, "", &[]) else { return };
    let mut ledger = Ledger::default();
    ledger.fill(&server, 4, Duration::from_secs(1)).await;
    // As the system does it after an error of the device.
    let aborted = Command::new("mount").args(["-o", "remount,abort"]).arg(&disk.point).status().unwrap();
    if !aborted.success() {
        eprintln!("skipped: this system cannot make a file system fail");
        return;
    }
    let mut meanwhile = Ledger::default();
    meanwhile.fill(&server, 4, Duration::from_secs(2)).await;
    assert_eq!(meanwhile.refused.keys().copied().collect::<Vec<_>>(), [503], "{}", server.log());
    let said = server.until_ready(false);
    assert!(said.contains("read-only") || said.contains("disk"), "{said}");
    drop(server);

    let image = image(disk._folder.path());
    assert!(Command::new("umount").arg(&disk.point).status().unwrap().success());
    let _ = Command::new("e2fsck").args(["-p", "-f"]).arg(&image).output();
    let again = Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&disk.point).status().unwrap();
    assert!(again.success());
    let server = Server::start(&disk.data(), &log, "", &[]).unwrap();
    ledger.check(&server).await;
    until_it_works_again(&server, &mut ledger).await;
    let database = server.database();
    server.stop();
    require_sound(&database);
}

#[test]
fn a_start_on_a_read_only_disk_is_refused_in_one_line() {
    let Some(disk) = Mounted::small(8) else { return };
    let Some(mut command) = Server::command(&disk.data(), "", &[]) else { return };
    assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.point).status().unwrap().success());
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.lines().count() == 1 && said.contains("Read-only") && said.contains("; "), "{said}");
}
