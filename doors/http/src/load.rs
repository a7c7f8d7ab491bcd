//! How many requests are under way, in all and for each reseller. Beyond what a node can do, more are turned away at once
//! with 503 and the time to come again, before they wait for anything; and as it fills, nobody has more than their share.
//! Whoever begins something is turned away first, so that what was begun can be finished.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chancery_domain::ResellerId;

use crate::error::ApiError;

const REFUSED: &str = "chancery_http_overload_total";

/// The requests that a router has under way; clones share the count.
#[derive(Clone)]
pub struct Load {
    inner: Arc<Inner>,
}

struct Inner {
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    all: usize,
    of: HashMap<ResellerId, usize>,
}

/// One request that is under way, until dropped.
pub(crate) struct UnderWay {
    load: Load,
    of: Option<ResellerId>,
}

impl Load {
    /// So many at a time; none of them is counted by whose it is before that is known.
    pub fn new(most: usize) -> Self {
        Self { inner: Arc::new(Inner { most, state: Mutex::default() }) }
    }

    /// Counts one more, unless there are as many as there may be: of those that begin something, a quarter.
    pub(crate) fn begin(&self, something_new: bool) -> Result<UnderWay, ApiError> {
        let mut state = self.state();
        if state.all >= self.inner.most {
            return Err(refused("full"));
        }
        if something_new && state.all >= (self.inner.most / 4).max(1) {
            return Err(refused("new"));
        }
        state.all += 1;
        Ok(UnderWay { load: self.clone(), of: None })
    }

    /// Notes whose one of those is, unless that reseller has its share already and others want theirs: from half of the
    /// places on, those that are left are for those who have fewer.
    pub(crate) fn claim(&self, reseller: ResellerId) -> Result<UnderWay, ApiError> {
        let mut state = self.state();
        let mine = state.of.get(&reseller).copied().unwrap_or(0);
        let others = state.of.len() - usize::from(mine > 0);
        let share = self.inner.most / (others + 2);
        if state.all > self.inner.most / 2 && mine >= share.max(1) {
            return Err(refused("share"));
        }
        *state.of.entry(reseller).or_default() += 1;
        Ok(UnderWay { load: self.clone(), of: Some(reseller) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.load.state();
        match self.of {
            None => state.all -= 1,
            Some(reseller) => match state.of.get_mut(&reseller) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(state.of.remove(&reseller)),
            },
        }
    }
}

fn refused(reason: &'static str) -> ApiError {
    metrics::counter!(REFUSED, "reason" => reason).increment(1);
    ApiError::unavailable("The service has more to do than it can at the moment; try again.", 1)
}

#[cfg(test)]
mod tests {
    use chancery_domain::Timestamp;

    use super::*;

    struct Zeros(std::sync::atomic::AtomicU8);

    impl chancery_domain::Entropy for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        }
    }

    fn resellers() -> [ResellerId; 3] {
        let entropy: &dyn chancery_domain::Entropy = &Zeros(1.into());
        [1, 2, 3].map(|second| ResellerId::new(Timestamp::from_secs(second), entropy))
    }

    #[test]
    fn one_too_many_is_turned_away_until_another_is_done() {
        let load = Load::new(2);
        let (_first, second) = (load.begin(false).unwrap(), load.begin(false).unwrap());
        assert_eq!(load.begin(false).err().unwrap().status(), 503);
        drop(second);
        assert!(load.begin(false).is_ok());
    }

    #[test]
    fn what_was_begun_goes_on_where_nothing_new_is_taken() {
        let load = Load::new(8);
        let held: Vec<_> = (0..2).map(|_| load.begin(true).unwrap()).collect();
        assert_eq!(load.begin(true).err().unwrap().status(), 503);
        assert!(load.begin(false).is_ok());
        drop(held);
        assert!(load.begin(true).is_ok());
    }

    #[test]
    fn as_it_fills_nobody_has_more_than_their_share() {
        let (load, [noisy, quiet, third]) = (Load::new(100), resellers());
        let mut held = Vec::new();
        let mut enter = |who| {
            let place = load.begin(false)?;
            let whose = load.claim(who)?;
            held.push((place, whose));
            Ok::<_, ApiError>(())
        };
        let taken = (0..1000).filter(|_| enter(noisy).is_ok()).count();
        assert_eq!(taken, 50, "alone, half of it: the rest is for whoever comes");
        assert!(enter(quiet).is_ok());
        let second = (0..1000).filter(|_| enter(quiet).is_ok()).count();
        assert!((25..=40).contains(&second), "{second}");
        assert!(enter(noisy).is_err() && enter(third).is_ok());
        held.clear();
        assert!(load.state().of.is_empty() && load.state().all == 0);
    }

    #[test]
    fn while_there_is_room_nobody_counts_shares() {
        let (load, [one, ..]) = (Load::new(100), resellers());
        let held: Vec<_> = (0..50).map(|_| (load.begin(false).unwrap(), load.claim(one))).collect();
        assert!(held.iter().all(|(_, claimed)| claimed.is_ok()));
    }
}
