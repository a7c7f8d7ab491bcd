//! Trouble with the file of a database: remembered where it does not pass, and told without filling the log.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::error::StoreError;

/// How often the same trouble is told.
const AGAIN: Duration = Duration::from_secs(10);

/// Damage, which no waiting mends: once it was met, it is known for as long as the process runs.
#[derive(Default)]
pub(super) struct Trouble {
    damage: OnceLock<String>,
}

impl Trouble {
    pub(super) fn note(&self, error: Option<&StoreError>) {
        let Some(error @ StoreError::Damaged(said)) = error else { return };
        if self.damage.set(said.clone()).is_ok() {
            tracing::error!(%error, "the file of the database cannot be relied on");
        }
    }

    pub(super) fn damage(&self) -> Option<StoreError> {
        self.damage.get().map(|said| StoreError::Damaged(said.clone()))
    }
}

/// Commits that fail are told once in a while: a log that grows with every request helps nobody, least of all a disk that
/// is full.
#[derive(Default)]
pub(super) struct Told {
    last: Option<Instant>,
    since: usize,
}

impl Told {
    pub(super) fn tell(&mut self, error: Option<&StoreError>, units: usize) {
        let Some(error) = error else {
            if self.last.take().is_some() {
                tracing::info!("commits work again");
            }
            self.since = 0;
            return;
        };
        self.since += units;
        if self.last.is_none_or(|last| last.elapsed() > AGAIN) {
            tracing::error!(%error, units = self.since, "could not commit units of work; their callers were told so");
            (self.last, self.since) = (Some(Instant::now()), 0);
        }
    }
}
