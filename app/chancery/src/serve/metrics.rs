//! Metrics for Prometheus, as histograms with buckets that fit what we measure.

use chancery_domain::{Clock, Profile};
use chancery_machine::SystemClock;
use metrics::Label;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::catalogue::{Kind, METRICS, Metric};
use crate::failure::Failure;
use crate::version::VERSION;

/// From a cached read to a request that waits for a lock.
const SECONDS: &[f64] = &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Units of work that share one commit.
const UNITS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
/// Rows that one unit of work changes: a few, or a batch of at most a hundred and what goes with it.
const ROWS: &[f64] = &[1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1000.0];

/// Starts to collect, for the whole process.
pub fn start() -> Result<PrometheusHandle, Failure> {
    let recorder = build().map_err(Failure::failed)?.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(|error| Failure::failed(error.to_string()))?;
    METRICS.iter().for_each(introduce);
    metrics::gauge!("chancery_build_info", "version" => VERSION).set(1.0);
    metrics::gauge!("process_start_time_seconds").set(SystemClock.now().as_secs() as f64);
    Ok(handle)
}

/// Begins the series of the profiles there are.
pub fn introduce_profiles(profiles: &[Profile]) {
    for profile in profiles {
        let name = profile.name.as_str().to_owned();
        metrics::counter!("chancery_certificates_issued_total", "profile" => name).absolute(0);
    }
}

fn build() -> Result<PrometheusBuilder, BuildError> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)?
        .set_buckets_for_metric(Matcher::Suffix("_units".to_owned()), UNITS)?
        .set_buckets_for_metric(Matcher::Suffix("_rows_per_transaction".to_owned()), ROWS)
}

/// Says what a metric means, and begins those of its series that are known. A gauge has no value before it is set.
fn introduce(metric: &Metric) {
    let Metric { name, kind, unit, help, .. } = *metric;
    match kind {
        Kind::Counter => {
            metrics::describe_counter!(name, unit, help);
            series(metric).into_iter().for_each(|labels| metrics::counter!(name, labels).absolute(0));
        }
        Kind::Histogram => {
            metrics::describe_histogram!(name, unit, help);
            series(metric).into_iter().for_each(|labels| drop(metrics::histogram!(name, labels)));
        }
        Kind::Gauge => metrics::describe_gauge!(name, unit, help),
    }
}

/// The labels of every series that is known beforehand.
fn series(metric: &Metric) -> Vec<Vec<Label>> {
    let mut all = vec![Vec::new()];
    for (label, values) in metric.labels {
        let Some(values) = values.known() else { return Vec::new() };
        let with = |labels: &Vec<Label>| {
            let labels = labels.clone();
            let longer = |value: &&'static str| [labels.clone(), vec![Label::new(*label, *value)]].concat();
            values.iter().map(longer).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_end_in_their_unit_and_say_what_they_are() {
        let mut names: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for Metric { name, kind, unit, help, .. } in METRICS {
            assert_eq!(*kind == Kind::Counter, name.ends_with("_total"), "{name}");
            assert_eq!(*unit == metrics::Unit::Seconds, name.ends_with("_seconds"), "{name}");
            assert_eq!(*unit == metrics::Unit::Bytes, name.ends_with("_bytes"), "{name}");
            assert!(help.ends_with('.') && !help.contains('|'), "{name}");
        }
    }

    #[test]
    fn series_are_every_combination_of_the_labels() {
        let jobs = METRICS.iter().find(|metric| metric.name == "chancery_jobs_total").unwrap();
        assert_eq!(series(jobs).len(), 6);
        let none = METRICS.iter().find(|metric| metric.name == "chancery_store_conflicts_total").unwrap();
        assert_eq!(series(none), [Vec::new()]);
        let later = METRICS.iter().find(|metric| metric.name == "chancery_certificates_issued_total").unwrap();
        assert!(series(later).is_empty());
    }
}
