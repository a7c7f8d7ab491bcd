//! The database's disk is full, and then it is not.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::{Agent, Load};
use crate::cluster::Cluster;
use crate::ledger::Ledger;
use crate::outage::is_back;
use crate::postgres::{Postgres, execute};

mod slow {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn i5_a_full_disk_is_told_and_is_got_over() {
        let Some(postgres) = Postgres::start(&[]) else { return };
        let Some(disk) = Disk::mount(&postgres, 64) else { return };
        let place = disk.data.display();
        execute(&postgres.url("postgres"), &format!("CREATE TABLESPACE small LOCATION '{place}'"));
        execute(&postgres.url("postgres"), "CREATE DATABASE small TEMPLATE template0 TABLESPACE small");
        let Some(cluster) = Cluster::start(&postgres.url("small"), 3).await else { return };
        let ledger = Arc::new(Ledger::default());
        let agents = Agent::crowd(&cluster, 8, &ledger).await;
        let load = Load::begin(&agents);
        tokio::time::sleep(Duration::from_secs(2)).await;
        disk.fill();
        cluster.until_all_say(503, Duration::from_secs(20)).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        disk.make_room();
        is_back(&cluster, &agents[0]).await;
        load.finish().await;
        let heard = ledger.heard();
        assert!(heard.answers.get(&503).is_some_and(|refused| *refused > 0) && heard.unanswered == 0, "{heard:?}");
        ledger.check(&agents, &postgres.url("small")).await;
    }
}

/// A small file system in memory.
struct Disk {
    mounted: PathBuf,
    data: PathBuf,
}

impl Disk {
    /// None where this process may not mount.
    fn mount(postgres: &Postgres, megabytes: u32) -> Option<Self> {
        let mounted = tempfile::tempdir().unwrap().keep();
        let size = format!("size={megabytes}m");
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&mounted).output();
        if !done.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: this process may not mount a file system");
            fs::remove_dir(&mounted).unwrap();
            return None;
        }
        let data = mounted.join("data");
        fs::create_dir(&data).unwrap();
        postgres.own(&mounted);
        postgres.own(&data);
        Some(Self { mounted, data })
    }

    fn fill(&self) {
        let mut filler = fs::File::create(self.filler()).unwrap();
        let some = vec![0; 64 * 1024];
        while filler.write_all(&some).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.mounted.join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        unmount(&self.mounted);
    }
}

/// Lazily: the server may still have files open there.
fn unmount(place: &Path) {
    let _ = Command::new("umount").arg("--lazy").arg(place).status();
    let _ = fs::remove_dir(place);
}
