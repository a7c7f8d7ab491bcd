//! Settles with the buckets that nodes share, behind the requests' backs.

use std::time::Duration;

use chancery_domain::Timestamp;
use chancery_store::{Store, StoreError};
use tokio::time::{Instant, sleep, timeout};

use super::Limits;

/// How often it is settled while nobody waits, and while somebody does.
const AT_LEISURE: Duration = Duration::from_millis(200);
const IN_HASTE: Duration = Duration::from_millis(5);
/// Buckets that are settled by one statement.
const TOGETHER: usize = 500;
/// How long the database may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often nodes count each other and forget what nobody needs.
const ROUND: Duration = Duration::from_secs(5);
/// A node that was not heard of for so long is gone.
const GONE: Duration = Duration::from_secs(20);
/// How often full buckets are removed.
const SWEEP: Duration = Duration::from_secs(600);
/// Full buckets that are removed at a time; between such batches buckets are settled.
const BATCH: u32 = 5000;

impl Limits {
    /// Goes on until it is dropped. Without it nodes do not hear of each other, and each goes by its share.
    pub async fn run(&self) {
        if self.inner.shared.is_none() {
            loop {
                sleep(ROUND).await;
                self.inner.tables.tidy(self.now());
            }
        }
        let mut round = Instant::now();
        let mut sweep = Instant::now() + SWEEP;
        loop {
            if round <= Instant::now() {
                self.meet().await;
                self.inner.tables.tidy(self.now());
                round = Instant::now() + ROUND;
            }
            if sweep <= Instant::now() {
                let more = self.sweep().await;
                sweep = Instant::now() + if more { Duration::ZERO } else { SWEEP };
            }
            self.settle().await;
            sleep(IN_HASTE).await;
            let _at_leisure = timeout(AT_LEISURE, self.inner.urgent.notified()).await;
        }
    }

    /// Settles everything that waits to be, or as much of it as a moment allows: under load there is always more, and the other
    /// nodes are to be met as well.
    pub async fn settle(&self) {
        let Some((store, _)) = &self.inner.shared else { return };
        let enough = Instant::now() + ROUND / 5;
        while Instant::now() < enough {
            let wishes = self.inner.tables.wishes(TOGETHER);
            if wishes.is_empty() {
                return;
            }
            let (asked, now) = (wishes.all(), self.now());
            let answers = within(store, move |tx| tx.exchange_tokens(&asked, now)).await;
            let failed = answers.is_err();
            match answers {
                Ok(answers) => self.inner.tables.settle(&wishes, &answers),
                Err(error) => {
                    tracing::warn!(%error, "rate limits go by this node's share: the shared buckets cannot be asked");
                    self.inner.tables.give_up(&wishes, self.now());
                }
            }
            self.inner.settled.send_modify(|count| *count += 1);
            if failed {
                return sleep(AT_LEISURE).await;
            }
        }
    }

    /// Tells the other nodes that this one is there, and counts them.
    pub async fn meet(&self) {
        let Some((store, node)) = &self.inner.shared else { return };
        let (node, now) = (node.clone(), self.inner.clock.now());
        match within(store, move |tx| tx.meet_nodes(&node, now, now.minus(GONE))).await {
            Ok(nodes) => self.inner.tables.set_nodes(nodes),
            Err(error) => tracing::debug!(%error, "could not count the nodes"),
        }
    }

    /// Forgets some of the buckets that are full; says whether there may be more.
    async fn sweep(&self) -> bool {
        let Some((store, _)) = &self.inner.shared else { return false };
        let now: Timestamp = self.inner.clock.now();
        let full = now.as_millis().saturating_mul(1000);
        match within(store, move |tx| tx.forget_buckets(full, now.minus(GONE), BATCH)).await {
            Ok(gone) => gone >= u64::from(BATCH),
            Err(error) => {
                tracing::warn!(%error, "could not forget full buckets; trying again later");
                false
            }
        }
    }
}

async fn within<T: Send + 'static>(
    store: &Store,
    mut unit: impl FnMut(&mut chancery_store::Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let late = || StoreError::Unavailable(format!("no answer within {} s", PATIENCE.as_secs()));
    let end = Instant::now() + PATIENCE;
    // What has waited too long is asked for again: done as well, it would be counted twice.
    let in_time = move |tx: &mut chancery_store::Tx<'_>| if Instant::now() < end { unit(tx) } else { Err(late()) };
    timeout(PATIENCE, store.write(in_time)).await.unwrap_or_else(|_| Err(late()))
}
