//! A cap on how many of a thing each key holds at once.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

/// Counts what each key holds. Clones share the counts; keys that hold nothing take no memory.
#[derive(Clone)]
pub struct KeyedCap<K>(Arc<Mutex<HashMap<K, usize>>>);

/// One held unit, released when dropped.
pub struct KeyedCapGuard<K: Clone + Eq + Hash> {
    counts: KeyedCap<K>,
    key: K,
}

impl<K: Clone + Eq + Hash> KeyedCap<K> {
    /// Takes one unit unless `key` already holds `max`.
    pub fn acquire(&self, key: K, max: usize) -> Option<KeyedCapGuard<K>> {
        let mut counts = self.0.lock();
        let held = counts.get(&key).copied().unwrap_or(0);
        if held >= max {
            return None;
        }
        counts.insert(key.clone(), held + 1);
        Some(KeyedCapGuard { counts: self.clone(), key })
    }
}

impl<K> Default for KeyedCap<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Clone + Eq + Hash> Drop for KeyedCapGuard<K> {
    fn drop(&mut self) {
        release(&mut self.counts.0.lock(), &self.key);
    }
}

/// Counts one less of a key.
pub(crate) fn release<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    match counts.get_mut(key) {
        Some(count) if *count > 1 => *count -= 1,
        Some(_) | None => drop(counts.remove(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_at_its_cap_gets_no_more_until_one_is_released() {
        let cap = KeyedCap::default();
        let first = cap.acquire("a", 2).unwrap();
        let second = cap.acquire("a", 2).unwrap();
        assert!(cap.acquire("a", 2).is_none() && cap.acquire("b", 2).is_some());
        drop(first);
        assert!(cap.acquire("a", 2).is_some());
        drop(second);
        assert!(cap.0.lock().is_empty());
    }
}
