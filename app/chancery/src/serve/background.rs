//! What runs beside the requests.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use chancery_http::tls::ReloadingCertificate;
use chancery_service::{Audit, ServiceError, Services};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::admin::Health;
use super::gauges;
use crate::assembly::Assembled;
use crate::version::VERSION;

pub const CERTIFICATE_LOOK: Duration = Duration::from_secs(5);
const ANSWERS_SWEEP: Duration = Duration::from_secs(3600);
const SESSIONS_SWEEP: Duration = Duration::from_secs(3600);
const NONCES_SWEEP: Duration = Duration::from_secs(300);
const FAILURES_SWEEP: Duration = Duration::from_secs(3600);
const EVENTS_SWEEP: Duration = Duration::from_secs(900);
const DELIVERIES_SWEEP: Duration = Duration::from_secs(300);
const PRECERTIFICATES_SWEEP: Duration = Duration::from_secs(10);
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
    let services = &assembled.services;
    spawn(&mut tasks, services, "identity", |services| async move { services.identity.watch().await });
    spawn(&mut tasks, services, "authority", |services| async move { services.authority.watch().await });
    spawn(&mut tasks, services, "answers", |Services { answers, .. }| async move {
        forget("answers that may be replayed", ANSWERS_SWEEP, || answers.sweep()).await;
    });
    spawn(&mut tasks, services, "sessions", |Services { console, .. }| async move {
        forget("sessions of the console", SESSIONS_SWEEP, || console.sweep()).await;
    });
    spawn(&mut tasks, services, "nonces", |Services { acme, .. }| async move {
        forget("nonces", NONCES_SWEEP, || acme.sweep()).await;
    });
    spawn(&mut tasks, services, "failures", |Services { pauses, .. }| async move {
        forget("failed validations", FAILURES_SWEEP, || pauses.sweep()).await;
    });
    spawn(&mut tasks, services, "precertificates", |Services { issuance, .. }| async move {
        forget("precertificates whose orders have ended", PRECERTIFICATES_SWEEP, || issuance.settle_precertificates())
            .await;
    });
    spawn(&mut tasks, services, "retention", |services| async move { services.retention.watch().await });
    spawn(&mut tasks, services, "events", look_ahead);
    spawn(&mut tasks, services, "deliveries", |Services { dispatch, .. }| async move {
        forget("deliveries of webhooks", DELIVERIES_SWEEP, || dispatch.sweep()).await;
    });
    spawn(&mut tasks, services, "publication", |services| async move { services.publication.watch().await });
    spawn(&mut tasks, services, "ocsp", |services| async move { services.ocsp.watch().await });
    spawn(&mut tasks, services, "usage", |services| async move { services.usage.watch().await });
    spawn(&mut tasks, services, "pauses", |services| async move { services.pauses.watch().await });
    spawn(&mut tasks, services, "nodes", |services| async move { services.nodes.watch(&host_name(), VERSION).await });
    spawn(&mut tasks, services, "limits", |services| async move { services.limits.run().await });
    for fetcher in &assembled.fetchers {
        let fetcher = fetcher.clone();
        tasks.spawn(keep("external keys", move || fetcher.clone().run()));
    }
    let (health, jobs, served) = (health.clone(), services.jobs.clone(), certificate.clone());
    tasks.spawn(keep("gauges", move || gauges::watch(health.clone(), jobs.clone(), served.clone())));
    if let Some(certificate) = certificate {
        tasks.spawn(keep("certificate", move || certificate.clone().watch(CERTIFICATE_LOOK)));
    }
    tasks.spawn(keep("metrics", move || tidy(metrics.clone())));
    tasks
}

/// Keeps something up that needs nothing but the services.
fn spawn<F>(
    tasks: &mut JoinSet<()>,
    services: &Services,
    name: &'static str,
    work: impl Fn(Services) -> F + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let services = services.clone();
    tasks.spawn(keep(name, move || work(services.clone())));
}

/// What this machine is called, for people who look at a list of them.
pub fn host_name() -> String {
    let said = std::env::var("HOSTNAME").ok().or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let said = said.unwrap_or_default();
    let plain: String = said.trim().chars().filter(|letter| !letter.is_control()).take(100).collect();
    if plain.is_empty() { "unknown".to_owned() } else { plain }
}

/// Does something for ever, and begins anew should it ever end: a node that no longer follows changes would take a
/// disabled client for a good one.
pub fn keep<F>(name: &'static str, work: impl Fn() -> F + Send + 'static) -> impl Future<Output = ()> + Send
where
    F: Future<Output = ()> + Send + 'static,
{
    keep_up(name, Box::new(move || Box::pin(work())))
}

/// Of one type, whatever the work is: with each the runtime would have to be compiled anew.
async fn keep_up(name: &'static str, work: Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>) {
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

/// Forgets what is too old, again and again.
async fn forget<F>(what: &'static str, every: Duration, sweep: impl Fn() -> F)
where
    F: Future<Output = Result<u64, ServiceError>>,
{
    loop {
        match sweep().await {
            Ok(0) => {}
            Ok(forgotten) => tracing::debug!(forgotten, what, "forgot what is too old"),
            Err(error) => tracing::warn!(%error, what, "could not forget what is too old"),
        }
        tokio::time::sleep(every).await;
    }
}

/// Tells of certificates that end soon.
async fn look_ahead(services: Services) {
    loop {
        match services.expiry.sweep().await {
            Ok(0) => {}
            Ok(told) => tracing::debug!(told, "told of certificates that end soon"),
            Err(error) => tracing::warn!(%error, "could not look for certificates that end soon"),
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
