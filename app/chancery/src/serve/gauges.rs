//! What is measured by looking from time to time: whether the database answers, what waits, when the certificate ends.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use chancery_http::tls::ReloadingCertificate;
use chancery_service::{Jobs, Queue};

use super::admin::Health;

/// How often.
const LOOK: Duration = Duration::from_secs(5);

/// Looks for ever.
pub async fn watch(health: Health, jobs: Jobs, certificate: Option<Arc<ReloadingCertificate>>) {
    loop {
        let up = health.database().await.is_ok();
        metrics::gauge!("chancery_database_up").set(f64::from(u8::from(up)));
        // A database that does not answer is not asked for more.
        if up {
            tell_backlog(&jobs).await;
        }
        if let Some(ends) = certificate.as_deref().and_then(ends) {
            metrics::gauge!("chancery_tls_not_after_timestamp_seconds").set(ends as f64);
        }
        tell_process();
        tokio::time::sleep(LOOK).await;
    }
}

async fn tell_backlog(jobs: &Jobs) {
    match jobs.backlog().await {
        Ok(backlog) => {
            for Queue { kind, jobs, oldest, .. } in backlog {
                metrics::gauge!("chancery_jobs_waiting", "kind" => kind.as_str()).set(jobs as f64);
                metrics::gauge!("chancery_jobs_oldest_age_seconds", "kind" => kind.as_str()).set(oldest.as_secs_f64());
            }
        }
        Err(error) => tracing::debug!(%error, "could not count the jobs"),
    }
}

fn ends(certificate: &ReloadingCertificate) -> Option<i64> {
    Some(chancery_pki::inspect(&certificate.leaf()?).ok()?.not_after)
}

/// What Linux tells of this process; nothing elsewhere.
fn tell_process() {
    if let Ok(status) = fs::read_to_string("/proc/self/status")
        && let Some(kib) = number(&status, "VmRSS:")
    {
        metrics::gauge!("process_resident_memory_bytes").set(kib * 1024.0);
    }
    if let Ok(limits) = fs::read_to_string("/proc/self/limits")
        && let Some(most) = number(&limits, "Max open files")
    {
        metrics::gauge!("process_max_fds").set(most);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        metrics::gauge!("process_open_fds").set(open.count() as f64);
    }
}

/// The first number after a word at the beginning of a line.
fn number(text: &str, word: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_word() {
        let status = "Name:\tchancery\nVmRSS:\t  2048 kB\n";
        assert_eq!(number(status, "VmRSS:"), Some(2048.0));
        assert_eq!(
            number("Max open files            1024                 524288 files", "Max open files"),
            Some(1024.0)
        );
        assert_eq!(number("Max open files   unlimited", "Max open files"), None);
        assert_eq!(number("", "VmRSS:"), None);
    }
}
