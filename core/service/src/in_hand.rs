//! What this process has begun and not finished: looks at names, and orders that are being issued. When that is more than it
//! can do at a time, those who have their share of it begin nothing new: what was begun is then finished while whoever asked
//! for it still waits, and when the rush is over so is its work.

use std::collections::HashMap;
use std::sync::Arc;

use chancery_domain::ResellerId;
use parking_lot::Mutex;

use crate::error::ServiceError;

/// Names that one process looks at at a time. While more are in hand, resellers beyond their share are refused.
pub const LOOKS_AT_A_TIME: usize = 1024;
const MOST: usize = LOOKS_AT_A_TIME;

#[derive(Clone, Default)]
pub(crate) struct InHand(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    all: usize,
    of: HashMap<ResellerId, usize>,
}

/// One thing in hand, until dropped.
pub struct Hand {
    counts: InHand,
    reseller: ResellerId,
}

impl InHand {
    pub(crate) fn take(&self, reseller: ResellerId) -> Hand {
        let mut counts = self.0.lock();
        counts.all += 1;
        *counts.of.entry(reseller).or_default() += 1;
        Hand { counts: self.clone(), reseller }
    }

    /// That a reseller may begin something: there is room, or they have less than their fair share.
    pub(crate) fn require_room(&self, reseller: ResellerId) -> Result<(), ServiceError> {
        let counts = self.0.lock();
        let mine = counts.of.get(&reseller).copied().unwrap_or(0);
        let others = counts.of.len() - usize::from(mine > 0);
        if counts.all < MOST || mine < (MOST / (others + 1)).max(1) {
            return Ok(());
        }
        metrics::counter!("chancery_http_overload_total", "reason" => "backlog").increment(1);
        Err(ServiceError::Busy)
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock();
        counts.all -= 1;
        match counts.of.get_mut(&self.reseller) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => drop(counts.of.remove(&self.reseller)),
        }
    }
}

#[cfg(test)]
mod tests {
    use chancery_domain::{Entropy, Timestamp};

    use super::*;

    struct Numbers(std::sync::atomic::AtomicU8);

    impl Entropy for Numbers {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        }
    }

    #[test]
    fn who_has_their_share_waits_and_others_go_on() {
        let entropy = Numbers(1.into());
        let [noisy, other, quiet] = [1, 2, 3].map(|second| ResellerId::new(Timestamp::from_secs(second), &entropy));
        let in_hand = InHand::default();
        let mut hands: Vec<_> = (0..MOST - 1).map(|_| in_hand.take(noisy)).collect();
        assert!(in_hand.require_room(noisy).is_ok());
        hands.push(in_hand.take(noisy));
        assert!(matches!(in_hand.require_room(noisy), Err(ServiceError::Busy)));
        assert!(in_hand.require_room(quiet).is_ok());
        let others: Vec<_> = (0..MOST / 2).map(|_| in_hand.take(other)).collect();
        assert!(in_hand.require_room(other).is_err(), "half is the share of one of two");
        assert!(in_hand.require_room(quiet).is_ok());
        drop(hands);
        assert!(in_hand.require_room(noisy).is_ok() && in_hand.require_room(other).is_ok());
        drop(others);
        let counts = in_hand.0.lock();
        assert_eq!((counts.all, counts.of.len()), (0, 0));
    }
}
