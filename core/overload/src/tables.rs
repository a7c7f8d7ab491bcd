//! One table of buckets for each rate: keys that crowd one limit do not affect the others.

use crate::buckets::Buckets;
use crate::limit::Limit;
use crate::sync::{Refill, RefillRequest};

/// The tables, in the order of [`Limit::rates`].
pub(crate) struct Tables(Vec<(Limit, Buckets)>);

/// Requests to the shared store, each with the index of its table.
pub(crate) struct Batch(Vec<(usize, Vec<RefillRequest>)>);

impl Tables {
    pub(crate) fn new(shared: bool) -> Self {
        Self(Limit::rates().zip(1..).map(|(limit, mark)| (limit, Buckets::new(shared, mark))).collect())
    }

    /// The buckets of a rate.
    pub(crate) fn of(&self, limit: Limit) -> &Buckets {
        let found = self.0.iter().find(|(each, _)| *each == limit);
        &found.expect("only rates have buckets, and every rate has a table").1
    }

    /// Up to `max` buckets to synchronize now.
    pub(crate) fn refill_requests(&self, max: usize) -> Batch {
        let (mut batch, mut left) = (Vec::new(), max);
        for (index, (_, buckets)) in self.0.iter().enumerate() {
            let requests = buckets.refill_requests(left);
            left -= requests.len();
            if !requests.is_empty() {
                batch.push((index, requests));
            }
        }
        Batch(batch)
    }

    /// Applies the result of a synchronization.
    pub(crate) fn apply(&self, batch: &Batch, refills: &[Refill]) {
        for (_, buckets) in &self.0 {
            buckets.end_backoff();
        }
        for (index, requests) in &batch.0 {
            self.0[*index].1.apply(requests, refills);
        }
    }

    /// The shared store did not answer: the requests are repeated later, and no request waits until then.
    pub(crate) fn fail(&self, batch: &Batch, now: i64) {
        for (_, buckets) in &self.0 {
            buckets.fail(&[], now);
        }
        for (index, requests) in &batch.0 {
            self.0[*index].1.fail(requests, now);
        }
    }

    pub(crate) fn sweep(&self, now: i64) {
        self.0.iter().for_each(|(_, buckets)| buckets.sweep(now));
    }

    pub(crate) fn set_nodes(&self, nodes: u32) {
        self.0.iter().for_each(|(_, buckets)| buckets.set_nodes(nodes));
    }
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All requests, for the shared store.
    pub(crate) fn requests(&self) -> Vec<RefillRequest> {
        self.0.iter().flat_map(|(_, requests)| requests.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::buckets::Taken;
    use crate::rate::Rate;
    use crate::rate_limits::{Key, bucket_key};

    fn key(limit: Limit, whose: &str) -> Key {
        bucket_key(limit.as_str(), whose)
    }

    #[test]
    fn keys_that_crowd_one_limit_do_not_affect_another() {
        let rate = Rate::per_second(NonZeroU32::MIN, NonZeroU32::new(2).unwrap());
        let crowded = Limit::AnonymousRequestsPerAddress;
        for shared in [false, true] {
            let tables = Tables::new(shared);
            let take = |limit, whose: &str| {
                matches!(tables.of(limit).take(key(limit, whose), 1, &rate, 0, false), Taken::Allowed { .. })
            };
            for number in 0..60_000 {
                take(crowded, &format!("2001:db8:{number:x}::/64"));
            }
            let passed = (0..2000).filter(|number| take(crowded, &format!("late {number}"))).count();
            assert!(passed < 2000, "{passed}: late keys share buckets");
            for number in 0..2000 {
                assert!(take(Limit::NewOrdersPerAccount, &format!("account {number}")), "{number}");
            }
        }
    }

    /// The shared store has one table for all limits, so overflow buckets must differ too.
    #[test]
    fn overflow_buckets_belong_to_one_limit() {
        let rate = Rate::per_second(NonZeroU32::MIN, NonZeroU32::MIN);
        let keys = |limit| {
            let mark = if limit == Limit::Requests { 1 } else { 2 };
            let tables = Tables(vec![(limit, Buckets::crowded(true, mark))]);
            for number in 0..1000 {
                let _ = tables.of(limit).take(key(limit, &number.to_string()), 1, &rate, 0, false);
            }
            let requests = tables.refill_requests(usize::MAX).requests();
            requests.into_iter().map(|request| request.key).collect::<std::collections::BTreeSet<_>>()
        };
        let (one, other) = (keys(Limit::Requests), keys(Limit::Diagnoses));
        assert!(!one.is_empty() && one.len() <= 256 && one.is_disjoint(&other), "{} {}", one.len(), other.len());
    }
}
