//! Too few file descriptors and too little memory: those who cannot be served now are served later, and nobody is forgotten.

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::server::{Ledger, Server, require_sound};

/// Connections that say nothing.
fn idle(server: &Server, count: usize) -> Vec<TcpStream> {
    let url = server.facts["base_url"].as_str().unwrap();
    let address = url.rsplit_once("//").unwrap().1.replace("localhost", "127.0.0.1");
    (0..count).filter_map(|_| TcpStream::connect(&address).ok()).collect()
}

async fn with_descriptors(limit: u32, crowd: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    let Some(mut server) = Server::start(&data, &log, &format!("ulimit -n {limit}"), &[]) else { return };
    let mut ledger = Ledger::default();
    ledger.fill(&server, 4, Duration::from_secs(1)).await;
    assert!(!ledger.made.is_empty(), "{limit} descriptors are enough to begin with: {}", server.log());
    let crowd = idle(&server, crowd);
    // Those who are connected go on; others wait.
    ledger.fill(&server, 4, Duration::from_secs(2)).await;
    assert!(server.is_running(), "{}", server.log());
    drop(crowd);
    server.until_ready(true);
    let before = ledger.made.len();
    ledger.fill(&server, 8, Duration::from_secs(1)).await;
    assert!(ledger.made.len() > before, "{}", server.log());
    assert!(ledger.refused.keys().all(|status| *status == 503), "{:?}", ledger.refused);
    ledger.check(&server).await;
    let database = server.database();
    assert_eq!(server.stop().code(), Some(0));
    require_sound(&database);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_64_descriptors_a_crowd_is_outlived() {
    with_descriptors(64, 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_1024_descriptors_a_crowd_is_outlived() {
    with_descriptors(1024, 1500).await;
}

/// A control group with so much memory; removed in the end.
struct Group(PathBuf);

impl Group {
    fn of(bytes: u64) -> Option<Self> {
        // The one file system that both versions of control groups may be at.
        for (root, limit) in [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")] {
            let group = PathBuf::from(root).join(format!("chancery-test-{}", std::process::id()));
            if fs::create_dir(&group).is_err() {
                continue;
            }
            let group = Self(group);
            if fs::write(group.0.join(limit), bytes.to_string()).is_ok() {
                return Some(group);
            }
        }
        eprintln!("skipped: no control group can be made");
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_256_megabytes_it_carries_a_load() {
    let Some(group) = Group::of(256 * 1024 * 1024) else { return };
    let folder = tempfile::tempdir().unwrap();
    let enter = format!("echo $$ > {}", group.0.join("cgroup.procs").display());
    let Some(mut server) = Server::start(&folder.path().join("data"), &folder.path().join("log"), &enter, &[]) else {
        return;
    };
    let mut ledger = Ledger::default();
    let crowd = idle(&server, 500);
    ledger.fill(&server, 64, Duration::from_secs(5)).await;
    assert!(server.is_running(), "{}", server.log());
    assert!(ledger.made.len() > 100 && ledger.refused.is_empty(), "{:?}", ledger.refused);
    assert_eq!(ledger.unanswered, 0);
    drop(crowd);
    ledger.check(&server).await;
    let database = server.database();
    assert_eq!(server.stop().code(), Some(0));
    require_sound(&database);
    drop(group);
}
