//! Trouble with the file of a database: remembered where it does not pass, and told without filling the log.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::StoreError;

/// How often the same trouble is told.
const AGAIN: Duration = Duration::from_secs(10);

/// Damage, which no waiting mends: once it was met, it is known for as long as the process runs.
#[derive(Default)]
pub(super) struct Trouble {
    damage: OnceLock<String>,
    /// Raised before it is known what can be kept: who begins to read would be in the way.
    is_lost: AtomicBool,
    loss: Mutex<Option<(String, Kept)>>,
}

/// Whether all that was acknowledged is in the file of a database that has lost its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    All,
    NotYet,
    Unsure,
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

    /// The database has lost its log: nothing is read or written any more, since others see it otherwise.
    pub(super) fn lose(&self) {
        self.is_lost.store(true, Ordering::Release);
    }

    /// Says what has become of what was in it.
    pub(super) fn tell_loss(&self, said: String, kept: Kept) {
        let mut loss = self.loss.lock();
        if loss.as_ref().is_none_or(|(told, _)| *told != said) {
            tracing::error!("{said}");
        }
        *loss = Some((said, kept));
    }

    /// Whether more can be kept than has been.
    pub(super) fn may_keep_more(&self) -> bool {
        self.loss.lock().as_ref().is_none_or(|(_, kept)| *kept == Kept::NotYet)
    }

    pub(super) fn require_log(&self) -> Result<(), StoreError> {
        if !self.is_lost.load(Ordering::Acquire) {
            return Ok(());
        }
        let said = self.loss.lock().as_ref().map(|(said, _)| said.clone());
        Err(StoreError::Unavailable(said.unwrap_or_else(|| "the log of the database is gone".to_owned())))
    }

    /// Whether all is well again once the database is opened anew.
    pub(super) fn ends_with_reopening(&self) -> bool {
        self.loss.lock().as_ref().is_some_and(|(_, kept)| *kept == Kept::All)
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
