//! The rate-limit buckets that nodes share, in the database.

use std::time::Duration;

use async_trait::async_trait;
use chancery_domain::Timestamp;
use chancery_overload::{BucketStoreError, Refill, RefillRequest, SharedBuckets};
use chancery_store::{BucketAnswer, BucketWish, Store, StoreError, Tx};
use tokio::time::{Instant, timeout};

/// Longest time for one call.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The shared buckets as one node uses them.
pub(crate) struct DatabaseBuckets {
    pub(crate) store: Store,
    pub(crate) node: String,
}

impl DatabaseBuckets {
    async fn within_timeout<T: Send + 'static>(
        &self,
        mut unit: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, BucketStoreError> {
        let late = || StoreError::Unavailable(format!("no answer within {} s", TIMEOUT.as_secs()));
        let end = Instant::now() + TIMEOUT;
        // A unit that starts too late does nothing, since the caller will repeat it.
        let in_time = move |tx: &mut Tx<'_>| if Instant::now() < end { unit(tx) } else { Err(late()) };
        let result = timeout(TIMEOUT, self.store.write(in_time)).await.unwrap_or_else(|_| Err(late()));
        result.map_err(|error| BucketStoreError(error.to_string()))
    }
}

#[async_trait]
impl SharedBuckets for DatabaseBuckets {
    async fn exchange(&self, requests: Vec<RefillRequest>, now: i64) -> Result<Vec<Refill>, BucketStoreError> {
        let wishes: Vec<_> = requests.into_iter().map(wish).collect();
        let answers = self.within_timeout(move |tx| tx.exchange_tokens(&wishes, now)).await?;
        Ok(answers.into_iter().map(refill).collect())
    }

    async fn heartbeat(&self, now: Timestamp, stale_before: Timestamp) -> Result<u32, BucketStoreError> {
        let node = self.node.clone();
        self.within_timeout(move |tx| tx.meet_nodes(&node, now, stale_before)).await
    }

    async fn sweep(&self, now: i64, stale_before: Timestamp, max: u32) -> Result<u64, BucketStoreError> {
        self.within_timeout(move |tx| tx.forget_buckets(now, stale_before, max)).await
    }
}

fn wish(request: RefillRequest) -> BucketWish {
    let RefillRequest { key, spent, since, wanted, step, room } = request;
    BucketWish { key, spent, since, wanted, step, room }
}

fn refill(answer: BucketAnswer) -> Refill {
    let BucketAnswer { key, full_at, granted } = answer;
    Refill { key, full_at, granted }
}
