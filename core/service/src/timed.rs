//! How long cryptography takes, by what it is for.

use std::time::Instant;

/// Runs until it is dropped.
pub(crate) struct Timed {
    what: &'static str,
    began: Instant,
}

impl Timed {
    pub(crate) fn start(what: &'static str) -> Self {
        Self { what, began: Instant::now() }
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        metrics::histogram!("chancery_crypto_seconds", "what" => self.what).record(self.began.elapsed());
    }
}
