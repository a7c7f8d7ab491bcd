//! How large units of work and write transactions are: a metric, and the largest since the last question, for tests and benchmarks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The largest write transactions of a store. Counting takes two atomic operations per transaction.
#[derive(Default)]
pub(crate) struct Peaks {
    rows: AtomicU64,
    micros: AtomicU64,
}

/// The largest write transactions since [`Store::take_write_peaks`](crate::Store::take_write_peaks) was called last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WritePeaks {
    /// Rows that one unit of work inserted, changed and deleted; on SQLite, by triggers as well.
    pub rows: u64,
    /// How long one transaction took, its commit included. On SQLite that is how long one commit of several units kept the
    /// writer.
    pub time: Duration,
}

impl Peaks {
    /// Notes the rows that a unit of work changed.
    pub(crate) fn note_rows(&self, rows: u64) {
        self.rows.fetch_max(rows, Ordering::Relaxed);
        metrics::histogram!("chancery_store_rows_per_transaction").record(rows as f64);
    }

    /// Notes how long a transaction took.
    pub(crate) fn note_time(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_max(micros, Ordering::Relaxed);
    }

    pub(crate) fn take(&self) -> WritePeaks {
        WritePeaks {
            rows: self.rows.swap(0, Ordering::Relaxed),
            time: Duration::from_micros(self.micros.swap(0, Ordering::Relaxed)),
        }
    }
}
