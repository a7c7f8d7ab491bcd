//! The list of certificate logs, read again when it changes: browsers publish a new one every few days.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{Clock, Timestamp};
use chancery_machine::SystemClock;
use chancery_pki::CurrentLogs;
use chancery_service::Services;
use chancery_workers::Logs as Keepers;

use crate::config::{Problems, read_logs_again};
use crate::installation::{Logs, too_few_logs};

const LOOK: Duration = Duration::from_secs(5);

/// Looks at the file again and again, for ever. One that is of no use changes nothing.
pub async fn watch(logs: Logs, keepers: Arc<Keepers>, services: Services) {
    let (Some(source), Some(current)) = (logs.source, logs.list) else { return std::future::pending().await };
    let mut seen = None;
    loop {
        tokio::time::sleep(LOOK).await;
        let stamp = Stamp::of(&source.file);
        if stamp == seen {
            continue;
        }
        seen = stamp;
        let source = source.clone();
        match tokio::task::spawn_blocking(move || read_logs_again(&source)).await {
            Ok(Ok(read)) => take(&read, &current, &keepers, &services, SystemClock.now()),
            Ok(Err(problems)) => refuse(&problems),
            Err(error) => tracing::error!(%error, "the list of certificate logs could not be read again"),
        }
    }
}

fn take(read: &Logs, current: &CurrentLogs, keepers: &Keepers, services: &Services, now: Timestamp) {
    let Some(list) = read.list.as_ref().map(CurrentLogs::now) else { return };
    if *list == *current.now() {
        return;
    }
    // First who can be asked, then who is to be: nobody is looked for who is not there.
    keepers.replace(read.keepers());
    current.replace((*list).clone());
    tracing::info!(logs = list.logs().len(), "the list of certificate logs has changed");
    let certificates = &services.settings.issuing.certificates;
    for warning in read.warnings(now.as_secs()).chain(too_few_logs(certificates, now.as_secs())) {
        tracing::warn!("{warning}");
    }
}

fn refuse(problems: &Problems) {
    tracing::warn!(%problems, "a new list of certificate logs is of no use; the one before it still holds");
}

/// What tells a file from the one that was there before.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: u64,
    size: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// None where there is no file, which may be about to be replaced.
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self { file: found.ino(), size: found.size(), changed: (found.ctime(), found.ctime_nsec()) })
    }
}
