//! Lets a request wait a little for what a worker of the same process is about to finish.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Who waits for what in this process.
pub(crate) struct Waiting<K>(Mutex<HashMap<K, Vec<oneshot::Sender<()>>>>);

/// Somebody who waits. Whatever is told after this was made is heard.
pub(crate) struct Watch<'a, K: Copy + Eq + Hash> {
    waiting: &'a Waiting<K>,
    key: K,
    told: oneshot::Receiver<()>,
}

impl<K> Default for Waiting<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Copy + Eq + Hash> Waiting<K> {
    pub(crate) fn watch(&self, key: K) -> Watch<'_, K> {
        let (tell, told) = oneshot::channel();
        self.0.lock().entry(key).or_default().push(tell);
        Watch { waiting: self, key, told }
    }

    /// Wakes everybody who waits for this.
    pub(crate) fn tell(&self, key: K) {
        for waiting in self.0.lock().remove(&key).unwrap_or_default() {
            // One who has stopped waiting needs no telling.
            let _ = waiting.send(());
        }
    }
}

impl<K: Copy + Eq + Hash> Watch<'_, K> {
    /// Waits until it is told, or for so long. What has happened is for the one who waited to look up: another node may
    /// have done it.
    pub(crate) async fn at_most(mut self, time: Duration) {
        let _ = tokio::time::timeout(time, &mut self.told).await;
    }
}

impl<K: Copy + Eq + Hash> Drop for Watch<'_, K> {
    fn drop(&mut self) {
        self.told.close();
        let mut all = self.waiting.0.lock();
        if let Some(waiting) = all.get_mut(&self.key) {
            waiting.retain(|other| !other.is_closed());
            if waiting.is_empty() {
                all.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everybody_who_waits_for_it_is_told_and_nobody_else() {
        let waiting = Waiting::default();
        let (one, two, other) = (waiting.watch(1), waiting.watch(1), waiting.watch(2));
        waiting.tell(1);
        // Far longer than a test may take.
        one.at_most(Duration::from_secs(3600)).await;
        two.at_most(Duration::from_secs(3600)).await;
        let mut other = other;
        assert!(other.told.try_recv().is_err());
        waiting.tell(2);
        assert!(other.told.try_recv().is_ok());
    }

    #[test]
    fn nothing_is_left_of_those_who_have_gone() {
        let waiting = Waiting::default();
        let (one, two) = (waiting.watch(1), waiting.watch(1));
        drop(one);
        assert_eq!(waiting.0.lock().get(&1).map(Vec::len), Some(1));
        drop(two);
        assert!(waiting.0.lock().is_empty());
    }
}
