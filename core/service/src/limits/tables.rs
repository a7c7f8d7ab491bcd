//! The buckets of all limits, a table for each: whoever crowds one does not crowd the others.

use chancery_store::{BucketAnswer, BucketWish};

use super::Limit;
use super::buckets::Buckets;

/// In the order of [`Limit::ALL`].
pub(super) struct Tables(Vec<Buckets>);

/// What is to be settled together, and which table it is of.
pub(super) struct Batch(Vec<(usize, Vec<BucketWish>)>);

impl Tables {
    pub(super) fn new(shared: bool) -> Self {
        Self((1..).take(Limit::ALL.len()).map(|mark| Buckets::new(shared, mark)).collect())
    }

    pub(super) fn of(&self, limit: Limit) -> &Buckets {
        let place = Limit::ALL.iter().position(|each| *each == limit);
        &self.0[place.expect("every limit is among all of them")]
    }

    /// What is to be settled now, so many at most.
    pub(super) fn wishes(&self, most: usize) -> Batch {
        let (mut batch, mut left) = (Vec::new(), most);
        for (place, buckets) in self.0.iter().enumerate() {
            let wishes = buckets.wishes(left);
            left -= wishes.len();
            if !wishes.is_empty() {
                batch.push((place, wishes));
            }
        }
        Batch(batch)
    }

    /// Takes note of what was settled.
    pub(super) fn settle(&self, batch: &Batch, answers: &[BucketAnswer]) {
        for buckets in &self.0 {
            buckets.end_trouble();
        }
        for (place, wishes) in &batch.0 {
            self.0[*place].settle(wishes, answers);
        }
    }

    /// The database did not answer: each is asked for again later, and meanwhile nobody waits.
    pub(super) fn give_up(&self, batch: &Batch, now: i64) {
        for buckets in &self.0 {
            buckets.give_up(&[], now);
        }
        for (place, wishes) in &batch.0 {
            self.0[*place].give_up(wishes, now);
        }
    }

    pub(super) fn tidy(&self, now: i64) {
        self.0.iter().for_each(|buckets| buckets.tidy(now));
    }

    pub(super) fn set_nodes(&self, nodes: u32) {
        self.0.iter().for_each(|buckets| buckets.set_nodes(nodes));
    }
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, for the database.
    pub(super) fn all(&self) -> Vec<BucketWish> {
        self.0.iter().flat_map(|(_, wishes)| wishes.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::super::buckets::Taken;
    use super::super::{Rate, key};
    use super::*;

    #[test]
    fn whoever_crowds_one_limit_squeezes_nobody_under_another() {
        let rate = Rate::per_second(NonZeroU32::MIN, NonZeroU32::new(2).unwrap());
        for shared in [false, true] {
            let tables = Tables::new(shared);
            let take = |limit, whom: &str| {
                matches!(tables.of(limit).take(key(limit, whom), 1, &rate, 0, false), Taken::Allowed { .. })
            };
            for number in 0..60_000 {
                take(Limit::Strangers, &format!("2001:db8:{number:x}::/64"));
            }
            let passed = (0..2000).filter(|number| take(Limit::Strangers, &format!("late {number}"))).count();
            assert!(passed < 2000, "{passed} of those who come late share some buckets");
            for number in 0..2000 {
                assert!(take(Limit::NewOrdersOfAccount, &format!("acme account {number}")), "{number}");
            }
        }
    }

    /// The database has one table for all: the buckets that are shared there are those of one limit, too.
    #[test]
    fn buckets_that_are_shared_are_of_one_limit() {
        let rate = Rate::per_second(NonZeroU32::MIN, NonZeroU32::MIN);
        let keys = |limit| {
            let tables = Tables(vec![Buckets::crowded(true, if limit == Limit::Requests { 1 } else { 2 })]);
            for number in 0..1000 {
                let _ = tables.0[0].take(key(limit, &number.to_string()), 1, &rate, 0, false);
            }
            tables.wishes(usize::MAX).all().into_iter().map(|wish| wish.key).collect::<std::collections::BTreeSet<_>>()
        };
        let (one, other) = (keys(Limit::Requests), keys(Limit::Diagnoses));
        assert!(!one.is_empty() && one.len() <= 256 && one.is_disjoint(&other), "{} {}", one.len(), other.len());
    }
}
