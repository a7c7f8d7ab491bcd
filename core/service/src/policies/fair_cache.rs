//! A cache that is bounded in bytes and shared fairly between resellers.
//!
//! A reseller uses at most a quarter of the capacity. When the cache is full, the reseller that uses most of it loses its least
//! recently used entry. So no number of entries of one reseller displaces those of another that uses less.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use chancery_domain::ResellerId;

/// How many resellers can use their whole share at the same time.
const SHARES: usize = 4;

pub(super) struct FairCache<K, V> {
    capacity: usize,
    bytes: usize,
    /// Counts uses; the number of an entry says when it was used last.
    uses: u64,
    shares: HashMap<ResellerId, Share<K, V>>,
    /// The resellers by the bytes that they use.
    by_size: BTreeSet<(usize, ResellerId)>,
}

struct Share<K, V> {
    bytes: usize,
    entries: HashMap<K, Entry<V>>,
    by_last_use: BTreeMap<u64, K>,
}

struct Entry<V> {
    value: V,
    bytes: usize,
    last_use: u64,
}

impl<K: Clone + Eq + Hash, V> FairCache<K, V> {
    /// A cache for this many bytes.
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, bytes: 0, uses: 0, shares: HashMap::new(), by_size: BTreeSet::new() }
    }

    pub(super) fn get(&mut self, reseller: ResellerId, key: &K) -> Option<&V> {
        let share = self.shares.get_mut(&reseller)?;
        let entry = share.entries.get_mut(key)?;
        if let Some(key) = share.by_last_use.remove(&entry.last_use) {
            self.uses += 1;
            entry.last_use = self.uses;
            share.by_last_use.insert(self.uses, key);
        }
        Some(&entry.value)
    }

    /// Adds or replaces an entry that takes this many bytes; one that exceeds a reseller's share is not stored.
    pub(super) fn insert(&mut self, reseller: ResellerId, key: K, value: V, bytes: usize) {
        self.remove(reseller, &key);
        let limit = self.capacity / SHARES;
        if bytes > limit {
            return;
        }
        while self.bytes_of(reseller) + bytes > limit {
            self.evict_from(reseller);
        }
        while self.bytes + bytes > self.capacity
            && let Some((_, largest)) = self.by_size.last().copied()
        {
            self.evict_from(largest);
        }
        self.uses += 1;
        let (last_use, used) = (self.uses, self.bytes_of(reseller));
        let empty = || Share { bytes: 0, entries: HashMap::new(), by_last_use: BTreeMap::new() };
        let share = self.shares.entry(reseller).or_insert_with(empty);
        share.by_last_use.insert(last_use, key.clone());
        share.entries.insert(key, Entry { value, bytes, last_use });
        self.resize(reseller, used + bytes);
    }

    pub(super) fn remove(&mut self, reseller: ResellerId, key: &K) {
        let Some(share) = self.shares.get_mut(&reseller) else { return };
        let Some(entry) = share.entries.remove(key) else { return };
        share.by_last_use.remove(&entry.last_use);
        let left = share.bytes - entry.bytes;
        self.resize(reseller, left);
    }

    fn evict_from(&mut self, reseller: ResellerId) {
        let oldest = self.shares.get(&reseller).and_then(|share| share.by_last_use.values().next().cloned());
        if let Some(key) = oldest {
            self.remove(reseller, &key);
        }
    }

    fn bytes_of(&self, reseller: ResellerId) -> usize {
        self.shares.get(&reseller).map_or(0, |share| share.bytes)
    }

    /// Records how much a reseller uses now.
    fn resize(&mut self, reseller: ResellerId, bytes: usize) {
        let Some(share) = self.shares.get_mut(&reseller) else { return };
        self.by_size.remove(&(share.bytes, reseller));
        self.bytes = self.bytes - share.bytes + bytes;
        share.bytes = bytes;
        match share.entries.is_empty() {
            true => drop(self.shares.remove(&reseller)),
            false => drop(self.by_size.insert((bytes, reseller))),
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn resellers<const N: usize>() -> [ResellerId; N] {
        std::array::from_fn(|number| ResellerId::from_uuid(Uuid::from_u128(number as u128)))
    }

    fn cached(cache: &mut FairCache<u32, u32>, reseller: ResellerId) -> Vec<u32> {
        (0..10_000).filter(|key| cache.get(reseller, key).is_some()).collect()
    }

    #[test]
    fn a_reseller_displaces_only_its_own_entries_beyond_its_share() {
        let [one, other] = resellers();
        let mut cache = FairCache::new(400);
        cache.insert(other, 1, 1, 90);
        for key in 0..1000 {
            cache.insert(one, key, key, 10);
        }
        assert_eq!(cached(&mut cache, one), (990..1000).collect::<Vec<_>>());
        assert_eq!(cached(&mut cache, other), [1]);
        assert_eq!(cache.bytes, 190);
    }

    #[test]
    fn many_resellers_that_fill_the_cache_leave_small_ones_their_entries() {
        let [small, large @ ..] = resellers::<9>();
        let mut cache = FairCache::new(400);
        cache.insert(small, 1, 1, 10);
        for key in 0..100 {
            for reseller in large {
                cache.insert(reseller, key, key, 10);
            }
        }
        assert_eq!(cached(&mut cache, small), [1]);
        assert!(cache.bytes <= 400);
        let counts = large.map(|reseller| cached(&mut cache, reseller).len());
        assert!(counts.iter().all(|count| (4..=6).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_least_recently_used_entry_goes_first() {
        let [one] = resellers();
        let mut cache = FairCache::new(120);
        for key in 0..3 {
            cache.insert(one, key, key, 10);
        }
        assert_eq!(cache.get(one, &0), Some(&0));
        cache.insert(one, 3, 3, 10);
        assert_eq!(cached(&mut cache, one), [0, 2, 3]);
    }

    #[test]
    fn what_is_larger_than_a_share_is_not_stored_and_replaces_nothing_else() {
        let [one] = resellers();
        let mut cache = FairCache::new(400);
        cache.insert(one, 1, 1, 100);
        cache.insert(one, 1, 2, 101);
        assert_eq!(cached(&mut cache, one), [0; 0], "the older value is not current any more");
        cache.insert(one, 2, 2, 60);
        cache.insert(one, 3, 3, 101);
        assert_eq!(cached(&mut cache, one), [2]);
        cache.remove(one, &2);
        cache.remove(one, &2);
        assert_eq!((cache.bytes, cache.shares.len(), cache.by_size.len()), (0, 0, 0));
    }
}
