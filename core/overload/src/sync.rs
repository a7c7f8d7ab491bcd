//! Synchronizes prefetched tokens with the buckets that several nodes share, in the background.

use std::time::Duration;

use async_trait::async_trait;
use chancery_domain::Timestamp;
use tokio::time::{Instant, sleep, timeout};

use crate::rate_limits::RateLimits;

/// Pause between synchronizations while no request waits.
const IDLE_INTERVAL: Duration = Duration::from_millis(200);
/// Pause between synchronizations while requests wait.
const URGENT_INTERVAL: Duration = Duration::from_millis(5);
/// Buckets per statement.
const BATCH: usize = 500;
/// Interval of heartbeats and of dropping full buckets from memory.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);
/// A node without a heartbeat for this long no longer counts.
const STALE_AFTER: Duration = Duration::from_secs(20);
/// Interval of removing full buckets from the shared store.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);
/// Full buckets removed at a time; buckets are synchronized between two batches.
const SWEEP_BATCH: u32 = 5000;

/// What a node tells the shared store about one bucket. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefillRequest {
    pub key: String,
    /// Tokens used in advance; negative if the node returns tokens.
    pub spent: i64,
    /// When the first of the spent tokens began to refill.
    pub since: i64,
    /// Tokens that the node wants to prefetch.
    pub wanted: i64,
    /// Time to refill one token.
    pub step: i64,
    /// Time to refill an empty bucket.
    pub room: i64,
}

/// The state of a shared bucket after a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refill {
    pub key: String,
    /// When the bucket is full again, in microseconds.
    pub full_at: i64,
    pub granted: i64,
}

/// The shared store could not answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct BucketStoreError(pub String);

/// The store of the buckets that nodes share. Each call ends within a few seconds; a call that ends with an error has not been
/// applied and never will be.
#[async_trait]
pub trait SharedBuckets: Send + Sync {
    /// Settles debts and grants tokens, each key once.
    async fn exchange(&self, requests: Vec<RefillRequest>, now: i64) -> Result<Vec<Refill>, BucketStoreError>;

    /// Records that this node is alive and counts the nodes with a heartbeat since `stale_before`.
    async fn heartbeat(&self, now: Timestamp, stale_before: Timestamp) -> Result<u32, BucketStoreError>;

    /// Removes up to `max` buckets that are full at `now` (microseconds) and nodes without a heartbeat since `stale_before`.
    async fn sweep(&self, now: i64, stale_before: Timestamp, max: u32) -> Result<u64, BucketStoreError>;
}

impl RateLimits {
    /// Runs until dropped. While it does not run, nodes do not know of each other, and each enforces its share.
    pub async fn run(&self) {
        if self.inner.shared.is_none() {
            loop {
                sleep(HEARTBEAT_INTERVAL).await;
                self.inner.tables.sweep(self.now());
            }
        }
        let mut next_heartbeat = Instant::now();
        let mut next_sweep = Instant::now() + SWEEP_INTERVAL;
        loop {
            if next_heartbeat <= Instant::now() {
                self.heartbeat().await;
                self.inner.tables.sweep(self.now());
                next_heartbeat = Instant::now() + HEARTBEAT_INTERVAL;
            }
            if next_sweep <= Instant::now() {
                let more = self.sweep().await;
                next_sweep = Instant::now() + if more { Duration::ZERO } else { SWEEP_INTERVAL };
            }
            self.sync().await;
            sleep(URGENT_INTERVAL).await;
            let _woken = timeout(IDLE_INTERVAL, self.inner.urgent.notified()).await;
        }
    }

    /// Synchronizes all pending buckets, or as many as fit into one second: under load more are always pending, and heartbeats
    /// must not wait for that.
    pub async fn sync(&self) {
        let Some(shared) = &self.inner.shared else { return };
        let end = Instant::now() + HEARTBEAT_INTERVAL / 5;
        while Instant::now() < end {
            let batch = self.inner.tables.refill_requests(BATCH);
            if batch.is_empty() {
                return;
            }
            let result = shared.exchange(batch.requests(), self.now()).await;
            let failed = result.is_err();
            match result {
                Ok(refills) => self.inner.tables.apply(&batch, &refills),
                Err(error) => {
                    tracing::warn!(%error, "failed to synchronize rate limits; enforcing this node's share");
                    self.inner.tables.fail(&batch, self.now());
                }
            }
            self.inner.synced.send_modify(|count| *count += 1);
            if failed {
                return sleep(IDLE_INTERVAL).await;
            }
        }
    }

    /// Records that this node is alive, and counts the nodes.
    pub async fn heartbeat(&self) {
        let Some(shared) = &self.inner.shared else { return };
        let now = self.inner.clock.now();
        match shared.heartbeat(now, now.minus(STALE_AFTER)).await {
            Ok(nodes) => self.inner.tables.set_nodes(nodes),
            Err(error) => tracing::debug!(%error, "failed to record node heartbeat for rate limits"),
        }
    }

    /// Removes some full buckets; returns whether more may be left.
    async fn sweep(&self) -> bool {
        let Some(shared) = &self.inner.shared else { return false };
        match shared.sweep(self.now(), self.inner.clock.now().minus(STALE_AFTER), SWEEP_BATCH).await {
            Ok(removed) => removed >= u64::from(SWEEP_BATCH),
            Err(error) => {
                tracing::warn!(%error, "failed to remove full rate-limit buckets; retrying later");
                false
            }
        }
    }
}
