//! Permits for operations that wait in turn: a tenant that starts many delays itself and not the others.

use std::time::Duration;

use chancery_domain::ResellerId;
use chancery_fair::FairPlaces;
use tokio::time::timeout;

use crate::limit::Limit;

/// Longest wait for a permit.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A number of permits for one kind of operation; clones share them.
#[derive(Clone)]
pub struct FairPermits {
    limit: Limit,
    permits: FairPlaces,
}

/// A permit, returned when dropped.
pub struct FairPermit {
    _place: chancery_fair::Place,
}

impl FairPermits {
    /// Permits for list reads: at most half of the database connections, from 2 to 16. One reseller gets half of them, and no
    /// more than half as many as the machine has cores, since the database may share them.
    pub fn for_list_reads(connections: usize, cores: usize) -> Self {
        let (total, share) = list_reads(connections, cores);
        Self { limit: Limit::ListReads, permits: FairPlaces::with_share(total, share) }
    }

    /// Waits for a permit of this reseller, for at most five seconds.
    pub async fn acquire(&self, reseller: ResellerId) -> Result<FairPermit, Limit> {
        let permit = timeout(TIMEOUT, self.permits.acquire(&reseller.to_string())).await;
        permit.map(|place| FairPermit { _place: place }).map_err(|_| self.limit)
    }
}

fn list_reads(connections: usize, cores: usize) -> (usize, usize) {
    let total = (connections / 2).clamp(2, 16);
    (total, (cores / 2).min(total / 2).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::concurrency::tests::resellers;

    #[test]
    fn list_reads_leave_half_of_the_connections_to_other_work() {
        assert_eq!(list_reads(8, 2), (4, 1));
        assert_eq!(list_reads(8, 32), (4, 2));
        assert_eq!(list_reads(64, 32), (16, 8));
        assert_eq!(list_reads(1, 1), (2, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reseller_waits_for_its_own_permit_and_is_refused_in_the_end() {
        let [noisy, quiet, _] = resellers();
        let permits = FairPermits::for_list_reads(4, 2);
        let held = permits.acquire(noisy).await.unwrap();
        assert_eq!(permits.acquire(noisy).await.err(), Some(Limit::ListReads));
        assert!(permits.acquire(quiet).await.is_ok());
        drop(held);
        assert!(permits.acquire(noisy).await.is_ok());
    }
}
