//! What runs beside the requests.

use std::sync::Arc;
use std::time::Duration;

use chancery_http::tls::ReloadingCertificate;
use chancery_service::{Acme, Answers, Audit, Console, Services};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::admin::Health;
use super::gauges;
use crate::assembly::Assembled;
use crate::version::VERSION;

const CERTIFICATE_LOOK: Duration = Duration::from_secs(5);
const ANSWERS_SWEEP: Duration = Duration::from_secs(3600);
const SESSIONS_SWEEP: Duration = Duration::from_secs(3600);
const NONCES_SWEEP: Duration = Duration::from_secs(300);
const EVENTS_SWEEP: Duration = Duration::from_secs(900);
const METRICS_UPKEEP: Duration = Duration::from_secs(5);
/// How long something that failed rests before it begins anew.
const RECOVERY: Duration = Duration::from_secs(1);

/// Starts it all; each goes on until it is aborted.
pub fn start(
    assembled: &Assembled,
    health: &Health,
    certificate: Option<Arc<ReloadingCertificate>>,
    metrics: PrometheusHandle,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let identity = assembled.services.identity.clone();
    tasks.spawn(keep("identity", move || {
        let identity = identity.clone();
        async move { identity.watch().await }
    }));
    let authority = assembled.services.authority.clone();
    tasks.spawn(keep("authority", move || {
        let authority = authority.clone();
        async move { authority.watch().await }
    }));
    let answers = assembled.services.answers.clone();
    tasks.spawn(keep("answers", move || sweep(answers.clone())));
    let console = assembled.services.console.clone();
    tasks.spawn(keep("sessions", move || forget_sessions(console.clone())));
    let acme = assembled.services.acme.clone();
    tasks.spawn(keep("nonces", move || forget_nonces(acme.clone())));
    let retention = assembled.services.retention.clone();
    tasks.spawn(keep("retention", move || {
        let retention = retention.clone();
        async move { retention.watch().await }
    }));
    let services = assembled.services.clone();
    tasks.spawn(keep("events", move || look_ahead(services.clone())));
    let publication = assembled.services.publication.clone();
    tasks.spawn(keep("publication", move || {
        let publication = publication.clone();
        async move { publication.watch().await }
    }));
    let ocsp = assembled.services.ocsp.clone();
    tasks.spawn(keep("ocsp", move || {
        let ocsp = ocsp.clone();
        async move { ocsp.watch().await }
    }));
    let usage = assembled.services.usage.clone();
    tasks.spawn(keep("usage", move || {
        let usage = usage.clone();
        async move { usage.watch().await }
    }));
    let pauses = assembled.services.pauses.clone();
    tasks.spawn(keep("pauses", move || {
        let pauses = pauses.clone();
        async move { pauses.watch().await }
    }));
    let nodes = assembled.services.nodes.clone();
    tasks.spawn(keep("nodes", move || {
        let nodes = nodes.clone();
        async move { nodes.watch(&host_name(), VERSION).await }
    }));
    let limits = assembled.services.limits.clone();
    tasks.spawn(keep("limits", move || {
        let limits = limits.clone();
        async move { limits.run().await }
    }));
    for fetcher in &assembled.fetchers {
        let fetcher = fetcher.clone();
        tasks.spawn(keep("external keys", move || fetcher.clone().run()));
    }
    let (health, jobs, served) = (health.clone(), assembled.services.jobs.clone(), certificate.clone());
    tasks.spawn(keep("gauges", move || gauges::watch(health.clone(), jobs.clone(), served.clone())));
    if let Some(certificate) = certificate {
        tasks.spawn(keep("certificate", move || certificate.clone().watch(CERTIFICATE_LOOK)));
    }
    tasks.spawn(keep("metrics", move || tidy(metrics.clone())));
    tasks
}

/// What this machine is called, for people who look at a list of them.
fn host_name() -> String {
    let said = std::env::var("HOSTNAME").ok().or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let said = said.unwrap_or_default();
    let plain: String = said.trim().chars().filter(|letter| !letter.is_control()).take(100).collect();
    if plain.is_empty() { "unknown".to_owned() } else { plain }
}

/// Does something for ever, and begins anew should it ever end: a node that no longer follows changes would take a
/// disabled client for a good one.
async fn keep<F>(name: &'static str, work: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let mut task = JoinSet::new();
        task.spawn(work());
        if let Some(Err(error)) = task.join_next().await {
            tracing::error!(%error, name, "background work failed; beginning anew");
        }
        tokio::time::sleep(RECOVERY).await;
    }
}

/// Writes refusals down until the flag is raised. Unlike the rest it ends by itself, when the last of them is written;
/// and like the rest it begins anew should it ever fail.
pub async fn write_refusals(audit: Audit, stop: watch::Receiver<bool>) {
    loop {
        let (audit, mut stop) = (audit.clone(), stop.clone());
        let mut task = JoinSet::new();
        task.spawn(async move {
            let raised = async {
                let _ = stop.wait_for(|raised| *raised).await;
            };
            audit.run(raised).await;
        });
        match task.join_next().await {
            Some(Err(error)) => tracing::error!(%error, "writing refusals to the audit trail failed; beginning anew"),
            Some(Ok(())) | None => return,
        }
        tokio::time::sleep(RECOVERY).await;
    }
}

async fn tidy(metrics: PrometheusHandle) {
    loop {
        tokio::time::sleep(METRICS_UPKEEP).await;
        metrics.run_upkeep();
    }
}

async fn sweep(answers: Answers) {
    loop {
        match answers.sweep().await {
            Ok(0) => {}
            Ok(forgotten) => tracing::debug!(forgotten, "forgot answers that are too old to be replayed"),
            Err(error) => tracing::warn!(%error, "could not forget old answers"),
        }
        tokio::time::sleep(ANSWERS_SWEEP).await;
    }
}

async fn forget_sessions(console: Console) {
    loop {
        match console.sweep().await {
            Ok(0) => {}
            Ok(forgotten) => tracing::debug!(forgotten, "forgot sessions of the console that have ended"),
            Err(error) => tracing::warn!(%error, "could not forget old sessions"),
        }
        tokio::time::sleep(SESSIONS_SWEEP).await;
    }
}

async fn forget_nonces(acme: Acme) {
    loop {
        match acme.sweep().await {
            Ok(0) => {}
            Ok(forgotten) => tracing::debug!(forgotten, "forgot nonces that are too old to be used again"),
            Err(error) => tracing::warn!(%error, "could not forget old nonces"),
        }
        tokio::time::sleep(NONCES_SWEEP).await;
    }
}

/// Tells of certificates that end soon, and forgets what webhooks were told long ago.
async fn look_ahead(services: Services) {
    loop {
        match services.expiry.sweep().await {
            Ok(0) => {}
            Ok(told) => tracing::debug!(told, "told of certificates that end soon"),
            Err(error) => tracing::warn!(%error, "could not look for certificates that end soon"),
        }
        if let Err(error) = services.dispatch.sweep().await {
            tracing::warn!(%error, "could not forget old deliveries");
        }
        tokio::time::sleep(EVENTS_SWEEP).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn work_that_panics_begins_anew() {
        let begun = Arc::new(AtomicU32::new(0));
        let count = begun.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(keep("test", move || {
            let begun = count.fetch_add(1, Ordering::SeqCst);
            async move { assert!(begun > 0, "on purpose") }
        }));
        let again = async {
            while begun.load(Ordering::SeqCst) < 2 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), again).await.expect("it begins anew");
    }
}
