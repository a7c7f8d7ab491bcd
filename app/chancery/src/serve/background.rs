//! What runs beside the requests.

use std::sync::Arc;
use std::time::Duration;

use chancery_http::tls::ReloadingCertificate;
use chancery_service::Answers;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::task::JoinSet;

use crate::assembly::Assembled;

const CERTIFICATE_LOOK: Duration = Duration::from_secs(5);
const ANSWERS_SWEEP: Duration = Duration::from_secs(3600);
const METRICS_UPKEEP: Duration = Duration::from_secs(5);

/// Starts it all; each goes on until it is aborted.
pub fn start(
    assembled: &Assembled,
    certificate: Option<Arc<ReloadingCertificate>>,
    metrics: PrometheusHandle,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let identity = assembled.services.identity.clone();
    tasks.spawn(async move { identity.watch().await });
    tasks.spawn(sweep(assembled.services.answers.clone()));
    for fetcher in &assembled.fetchers {
        tasks.spawn(fetcher.clone().run());
    }
    if let Some(certificate) = certificate {
        tasks.spawn(certificate.watch(CERTIFICATE_LOOK));
    }
    tasks.spawn(async move {
        loop {
            tokio::time::sleep(METRICS_UPKEEP).await;
            metrics.run_upkeep();
        }
    });
    tasks
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
