//! How long each operation took, at each size.

use std::collections::BTreeMap;
use std::time::Duration;

use chancery_bench::{Samples, print_table};

/// By the name of the operation.
#[derive(Default)]
pub(crate) struct Times(BTreeMap<String, Of>);

#[derive(Default)]
struct Of {
    samples: Samples,
    /// Things that the answers listed, all together.
    shown: usize,
    errors: u64,
    first_error: Option<String>,
}

impl Times {
    /// One more that took so long, and listed so many things or was refused.
    pub(crate) fn push(&mut self, operation: &str, took: Duration, outcome: Result<usize, String>) {
        if !self.0.contains_key(operation) {
            self.0.insert(operation.to_owned(), Of::default());
        }
        let Some(times) = self.0.get_mut(operation) else { return };
        match outcome {
            Ok(shown) => {
                times.samples.push(took);
                times.shown += shown;
            }
            Err(error) => {
                times.errors += 1;
                times.first_error.get_or_insert(error);
            }
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (operation, times) in other.0 {
            let mine = self.0.entry(operation).or_default();
            mine.samples.merge(times.samples);
            mine.shown += times.shown;
            mine.errors += times.errors;
            mine.first_error = mine.first_error.take().or(times.first_error);
        }
    }

    /// The time that this share of all samples of all operations did not exceed.
    pub(crate) fn overall(&mut self, share: f64) -> Duration {
        let mut all = Samples::default();
        self.0.values().for_each(|times| all.extend(times.samples.iter()));
        all.quantile(share)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.values().map(|times| times.samples.count()).sum()
    }
}

/// Prints every operation at every size, the ratio of the last to the first, and which are beyond `most`. Where one has more to
/// show than the other, they cannot be compared.
pub(crate) fn print(sizes: &[usize], of_sizes: &mut [Times], most: f64) {
    let mut heading = vec!["milliseconds".to_owned()];
    for size in sizes {
        heading.extend(["count", "errors", "p50", "p95", "p99"].map(|column| format!("{column} {size}")));
    }
    if sizes.len() > 1 {
        heading.extend(["p50 ratio", "p99 ratio", ""].map(str::to_owned));
    }
    let operations: Vec<_> = of_sizes.first().map(|times| times.0.keys().cloned().collect()).unwrap_or_default();
    let mut rows = Vec::new();
    for operation in operations {
        let (mut row, mut p50, mut p99, mut shown) = (vec![operation.clone()], Vec::new(), Vec::new(), Vec::new());
        for times in of_sizes.iter_mut() {
            let times = times.0.entry(operation.clone()).or_default();
            let mut at = |share| times.samples.quantile(share).as_secs_f64() * 1e3;
            let quantiles = [at(0.5), at(0.95), at(0.99)];
            p50.push(quantiles[0]);
            p99.push(quantiles[2]);
            shown.push(times.shown as f64 / times.samples.count().max(1) as f64);
            row.extend([times.samples.count().to_string(), times.errors.to_string()]);
            row.extend(quantiles.map(|millis| format!("{millis:.2}")));
            if let Some(error) = &times.first_error {
                eprintln!("  {operation}: {error}");
            }
        }
        if sizes.len() > 1 {
            let ratio = |of: &[f64]| of.last().copied().unwrap_or(0.0) / of[0].max(f64::EPSILON);
            row.extend([format!("{:.2}x", ratio(&p50)), format!("{:.2}x", ratio(&p99))]);
            let [fewer, more] = [shown[0], shown[shown.len() - 1]];
            row.push(match (more > fewer * 1.2, ratio(&p50) > most, ratio(&p99) > most) {
                (true, ..) => format!("shows {more:.0}, not {fewer:.0}"),
                (false, true, _) => "grows".to_owned(),
                (false, false, true) => "p99".to_owned(),
                (false, false, false) => String::new(),
            });
        }
        rows.push(row);
    }
    print_table(&heading.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
}
