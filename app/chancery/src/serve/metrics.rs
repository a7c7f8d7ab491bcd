//! Metrics for Prometheus, as histograms with buckets that fit what we measure.

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use crate::failure::Failure;

/// From a cached read to a request that waits for a lock.
const SECONDS: &[f64] = &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Units of work that share one commit.
const UNITS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// Starts to collect, for the whole process.
pub fn start() -> Result<PrometheusHandle, Failure> {
    let recorder = build().map_err(Failure::failed)?.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(|error| Failure::failed(error.to_string()))?;
    chancery_http::describe_metrics();
    metrics::describe_histogram!("chancery_store_unit_seconds", "Seconds of a unit of work in the database, by kind.");
    metrics::describe_histogram!("chancery_store_group_commit_units", "Units of work that shared one commit.");
    metrics::describe_histogram!("chancery_crypto_seconds", "Seconds of judging CSRs and of linting and signing.");
    metrics::describe_histogram!(
        "chancery_validation_seconds",
        "Seconds of looking whether a name is shown, by method."
    );
    metrics::describe_counter!("chancery_jobs_total", "Validations and issuances, by kind and outcome.");
    metrics::describe_counter!("chancery_audit_refusals_dropped_total", "Refusals missing from the audit trail.");
    metrics::describe_counter!("chancery_acme_accounts_total", "ACME accounts registered.");
    metrics::describe_counter!("chancery_acme_problems_total", "Requests of ACME clients refused, by problem type.");
    metrics::gauge!("chancery_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Ok(handle)
}

fn build() -> Result<PrometheusBuilder, BuildError> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)?
        .set_buckets_for_metric(Matcher::Suffix("_units".to_owned()), UNITS)
}
