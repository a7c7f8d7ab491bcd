//! Token buckets for the configured rates, one bucket for each limit and key.
//!
//! A single node keeps its buckets in memory. Several nodes share them through [`SharedBuckets`]: each node prefetches tokens from
//! the shared bucket and settles with it in the background, many keys per statement. A request waits for that only if no prefetched
//! token is left and the bucket was last seen less than half full. While the shared store does not answer, each node enforces its
//! share of the limit.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use chancery_domain::{Clock, Timestamp};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

use crate::buckets::Taken;
use crate::limit::Limit;
use crate::rate::Decision;
use crate::settings::LimitSettings;
use crate::sync::SharedBuckets;
use crate::tables::Tables;

/// The buckets of all configured rates; clones share them.
#[derive(Clone)]
pub struct RateLimits {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    settings: LimitSettings,
    pub(crate) tables: Tables,
    pub(crate) clock: Arc<dyn Clock>,
    /// Present if several nodes share the buckets.
    pub(crate) shared: Option<Arc<dyn SharedBuckets>>,
    /// Wakes the synchronization because a request waits for it.
    pub(crate) urgent: Notify,
    /// Counts synchronizations; waiting requests watch it.
    pub(crate) synced: watch::Sender<u64>,
}

impl RateLimits {
    /// Buckets in memory, or shared with other nodes.
    pub fn new(settings: LimitSettings, shared: Option<Arc<dyn SharedBuckets>>, clock: Arc<dyn Clock>) -> Self {
        let tables = Tables::new(shared.is_some());
        let inner = Inner { settings, tables, clock, shared, urgent: Notify::new(), synced: watch::Sender::new(0) };
        Self { inner: Arc::new(inner) }
    }

    /// Takes one token. `None` means that no such rate is configured.
    pub async fn take(&self, limit: Limit, key: &str) -> Option<Decision> {
        self.take_many(limit, key, 1).await
    }

    /// Takes all of `count` tokens or none. More than the burst is never available.
    pub async fn take_many(&self, limit: Limit, key: &str, count: u32) -> Option<Decision> {
        let rate = self.inner.settings.rate(limit)?;
        let (buckets, key) = (self.inner.tables.of(limit), bucket_key(limit.as_str(), key));
        let end = Instant::now() + self.inner.settings.patience;
        let mut synced = self.inner.synced.subscribe();
        loop {
            synced.mark_unchanged();
            let may_wait = Instant::now() < end;
            let (remaining, retry_after) = match buckets.take(key, count, &rate, self.now(), may_wait) {
                Taken::Allowed { remaining } => (remaining, None),
                Taken::Refused { wait } => {
                    (buckets.peek(key, &rate, self.now()).0.min(count.saturating_sub(1)), Some(wait))
                }
                Taken::Unsure => {
                    let _waiter = buckets.wait(key, count);
                    self.inner.urgent.notify_one();
                    // Ignore a timeout; the next iteration decides without waiting.
                    let _ = timeout_at(end, synced.changed()).await;
                    continue;
                }
            };
            return Some(Decision { limit, rate, remaining, retry_after });
        }
    }

    /// The state of a bucket as this node knows it; takes nothing.
    pub fn peek(&self, limit: Limit, key: &str) -> Option<Decision> {
        let rate = self.inner.settings.rate(limit)?;
        let (remaining, wait) = self.inner.tables.of(limit).peek(bucket_key(limit.as_str(), key), &rate, self.now());
        Some(Decision { limit, rate, remaining, retry_after: (remaining == 0).then_some(wait) })
    }

    /// The refusal that taking a token now would be, as this node knows the bucket; takes nothing.
    pub fn refusal(&self, limit: Limit, key: &str) -> Option<Decision> {
        self.peek(limit, key).filter(|decision| !decision.allowed())
    }

    /// Takes a token for an event that has already happened.
    pub fn charge(&self, limit: Limit, key: &str) {
        if let Some(rate) = self.inner.settings.rate(limit) {
            // An empty bucket refuses the next event, not this one.
            self.inner.tables.of(limit).charge(bucket_key(limit.as_str(), key), &rate, self.now());
        }
    }

    /// The configured rates and caps.
    pub fn settings(&self) -> &LimitSettings {
        &self.inner.settings
    }

    /// The time in microseconds.
    pub(crate) fn now(&self) -> i64 {
        microseconds(self.inner.clock.now())
    }
}

pub(crate) type Key = [u8; 16];

pub(crate) fn microseconds(time: Timestamp) -> i64 {
    time.as_millis().saturating_mul(1000)
}

/// A hash: keys have one length and do not reveal whose they are.
pub(crate) fn bucket_key(name: &str, key: &str) -> Key {
    let whole = digest(&SHA256, format!("{name}\0{key}").as_bytes());
    let mut short = Key::default();
    short.copy_from_slice(&whole.as_ref()[..16]);
    short
}
