//! Lists are read by turns: a reseller that asks for many at once waits for itself, and others do not wait for it. A connection to
//! the database is taken by whoever came first, and one that floods would have them all: half are left to everything else, from four on.

use std::num::NonZero;
use std::time::Duration;

use chancery_domain::{Page, ResellerId};
use chancery_fair::{FairPlaces, Place};
use chancery_store::Tx;
use tokio::time::timeout;

use crate::cursor::{ListName, Listed};
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// How many are read at a time, at most.
const AT_ONCE: usize = 16;
/// Nothing waits for long.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who reads lists in this process; clones share it.
#[derive(Clone)]
pub struct Turns(FairPlaces);

/// How many lists are read at a time.
#[derive(Debug, PartialEq, Eq)]
struct Places {
    all: usize,
    /// Of one reseller: half as many as there are cores, so that the other half is left to others where the database is on
    /// this machine as well. To wait for one's own lists costs nobody anything.
    each: usize,
}

impl Places {
    fn of(connections: usize, cores: usize) -> Self {
        let all = (connections / 2).clamp(2, AT_ONCE);
        Self { all, each: (cores / 2).min(all / 2).max(1) }
    }
}

impl Turns {
    /// For a store with so many connections.
    pub(crate) fn new(connections: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let Places { all, each } = Places::of(connections, cores);
        Self(FairPlaces::with_share(all, each))
    }

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

    /// Runs a read that may look at many rows, in the turn of its reseller.
    pub(crate) async fn read_in_turn<T, F>(&self, reseller: ResellerId, mut read: F) -> Result<T, ServiceError>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, ServiceError> + Send + 'static,
        T: Send + 'static,
    {
        let turn = self.turns.take(reseller).await?;
        // The turn goes with the unit: what has been begun is read to its end, whether anybody waits for it or not.
        let unit = move |tx: &mut Tx<'_>| {
            let _turn = &turn;
            read(tx)
        };
        self.store.read(unit).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_leave_half_of_the_connections_to_others_and_one_reseller_half_of_those() {
        assert_eq!(Places::of(8, 2), Places { all: 4, each: 1 });
        assert_eq!(Places::of(8, 32), Places { all: 4, each: 2 });
        assert_eq!(Places::of(64, 32), Places { all: 16, each: 8 });
        assert_eq!(Places::of(1, 1), Places { all: 2, each: 1 });
    }
}
