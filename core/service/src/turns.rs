//! Lists are read by turns: a reseller that asks for many at once waits for itself, and others do not wait for it. A connection to
//! the database is taken by whoever came first, and one that floods would have them all.

use std::num::NonZero;
use std::time::Duration;

use chancery_domain::{Page, ResellerId};
use chancery_fair::{FairPlaces, Place};
use chancery_store::Tx;
use tokio::time::timeout;

use crate::cursor::{ListName, Listed};
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// How many are read at a time.
const AT_ONCE: usize = 16;
/// Nothing waits for long.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who reads lists in this process; clones share it.
#[derive(Clone)]
pub struct Turns(FairPlaces);

impl Default for Turns {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self(FairPlaces::with_share(AT_ONCE, share(cores)))
    }
}

/// How many a reseller may read at a time: half as many as there are cores, so that the other half is left to others where the
/// database is on this machine as well. To wait for one's own lists costs nobody anything.
fn share(cores: usize) -> usize {
    (cores / 2).clamp(1, AT_ONCE / 2)
}

impl Turns {
    /// Waits for the turn of a reseller, which ends when it is dropped.
    pub async fn take(&self, reseller: ResellerId) -> Result<Place, ServiceError> {
        timeout(PATIENCE, self.0.acquire(&reseller.to_string())).await.map_err(|_| {
            metrics::counter!("chancery_http_overload_total", "reason" => "turn").increment(1);
            ServiceError::Busy
        })
    }
}

impl Kernel {
    /// A page of a list, in the turn of whoever it is of.
    pub(crate) async fn read_list<T, F>(&self, list: &ListName, read: F) -> Result<Listed<T>, ServiceError>
    where
        F: FnMut(&mut Tx<'_>) -> Result<Page<T>, ServiceError> + Send + 'static,
        T: Send + 'static,
    {
        Ok(self.cursors.close(list, self.read_in_turn(list.reseller, read).await?))
    }

    /// What may look at many rows.
    pub(crate) async fn read_in_turn<T, F>(&self, reseller: ResellerId, read: F) -> Result<T, ServiceError>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, ServiceError> + Send + 'static,
        T: Send + 'static,
    {
        let _turn = self.turns.take(reseller).await?;
        self.store.read(read).await
    }
}
