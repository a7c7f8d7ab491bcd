//! Validations and issuances in flight on this node. Once they are more than the node can run at a time, resellers that have their
//! share may start nothing new: work in flight then ends while its clients still wait.

use std::collections::HashMap;
use std::sync::Arc;

use chancery_domain::ResellerId;
use parking_lot::Mutex;

use crate::keyed_cap::release;
use crate::limit::Limit;

/// Names that one node validates at a time. While more are in flight, resellers beyond their share are refused.
pub const MAX_IN_FLIGHT: usize = 1024;

/// The work in flight of each reseller; clones share the counts.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    total: usize,
    of: HashMap<ResellerId, usize>,
}

/// One validation or issuance in flight, until dropped.
pub struct InFlightGuard {
    counts: InFlight,
    reseller: ResellerId,
}

impl InFlight {
    /// Counts one more; never refuses, since the work was accepted before.
    pub fn start(&self, reseller: ResellerId) -> InFlightGuard {
        let mut counts = self.0.lock();
        counts.total += 1;
        *counts.of.entry(reseller).or_default() += 1;
        InFlightGuard { counts: self.clone(), reseller }
    }

    /// Refuses new work if the node is at its limit and the reseller has its fair share of it.
    pub fn check(&self, reseller: ResellerId) -> Result<(), Limit> {
        let counts = self.0.lock();
        let mine = counts.of.get(&reseller).copied().unwrap_or(0);
        let others = counts.of.len() - usize::from(mine > 0);
        if counts.total < MAX_IN_FLIGHT || mine < (MAX_IN_FLIGHT / (others + 1)).max(1) {
            return Ok(());
        }
        Err(Limit::WorkInFlight)
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock();
        counts.total -= 1;
        release(&mut counts.of, &self.reseller);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::concurrency::tests::resellers;

    #[test]
    fn a_reseller_with_its_share_is_refused_and_others_are_not() {
        let [noisy, other, quiet] = resellers();
        let in_flight = InFlight::default();
        let mut guards: Vec<_> = (0..MAX_IN_FLIGHT - 1).map(|_| in_flight.start(noisy)).collect();
        assert!(in_flight.check(noisy).is_ok());
        guards.push(in_flight.start(noisy));
        assert_eq!(in_flight.check(noisy), Err(Limit::WorkInFlight));
        assert!(in_flight.check(quiet).is_ok());
        let others: Vec<_> = (0..MAX_IN_FLIGHT / 2).map(|_| in_flight.start(other)).collect();
        assert!(in_flight.check(other).is_err(), "half is the share of one of two");
        assert!(in_flight.check(quiet).is_ok());
        drop(guards);
        assert!(in_flight.check(noisy).is_ok() && in_flight.check(other).is_ok());
        drop(others);
        let counts = in_flight.0.lock();
        assert_eq!((counts.total, counts.of.len()), (0, 0));
    }
}
