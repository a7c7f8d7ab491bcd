//! A channel in front of a [`FairQueue`]: many threads send, the threads that serve receive.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::queue::{FairQueue, QueueLimits, Tenant};

/// Creates a channel. Receivers report each item they have taken with [`FairReceiver::finish`].
pub fn fair_channel<T>(limits: QueueLimits) -> (FairSender<T>, FairReceiver<T>) {
    let state = State { queue: FairQueue::new(limits), is_open: true, receivers: 1 };
    let shared = Arc::new(Shared { state: Mutex::new(state), arrived: Condvar::new() });
    (FairSender(shared.clone()), FairReceiver(shared))
}

/// The sending end. When it is dropped, receivers take the items that still wait and then get none.
pub struct FairSender<T>(Arc<Shared<T>>);

/// A receiving end. When the last one is dropped, so are the items that wait, and nothing can be sent any more.
pub struct FairReceiver<T>(Arc<Shared<T>>);

/// The reason why an item was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// Too many items wait: of all tenants, or of this one.
    Full,
    /// No receiver is left.
    Closed,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
}

struct State<T> {
    queue: FairQueue<T>,
    /// Whether there is a sender.
    is_open: bool,
    receivers: usize,
}

impl<T> FairSender<T> {
    /// Adds an item at once, or refuses it.
    pub fn send(&self, tenant: Tenant, item: T) -> Result<(), SendError> {
        let mut state = self.0.state.lock();
        if state.receivers == 0 {
            return Err(SendError::Closed);
        }
        let pushed = state.queue.push(tenant, item);
        drop(state);
        // A refused item is dropped after the lock is released.
        pushed.map_err(|_| SendError::Full)?;
        self.0.arrived.notify_one();
        Ok(())
    }

    /// The number of waiting items.
    pub fn len(&self) -> usize {
        self.0.state.lock().queue.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> FairReceiver<T> {
    /// The next item, as soon as there is one that may run; none after the sender was dropped and there is none. What waits for a
    /// server of its tenant then is received by the servers that the tenant has.
    pub fn recv(&self) -> Option<(Tenant, T)> {
        let mut state = self.0.state.lock();
        loop {
            if let Some(next) = state.queue.pop() {
                return Some(next);
            }
            if !state.is_open {
                return None;
            }
            self.0.arrived.wait(&mut state);
        }
    }

    /// The next item, if one waits.
    pub fn try_recv(&self) -> Option<(Tenant, T)> {
        self.0.state.lock().queue.pop()
    }

    /// Waits for an item without taking it; `false` after the sender was dropped and nothing waits.
    pub fn wait(&self) -> bool {
        let mut state = self.0.state.lock();
        while state.queue.is_empty() && state.is_open {
            self.0.arrived.wait(&mut state);
        }
        !state.queue.is_empty()
    }

    /// The next item, if one arrives in time.
    pub fn recv_deadline(&self, deadline: Instant) -> Option<(Tenant, T)> {
        let mut state = self.0.state.lock();
        loop {
            if let Some(next) = state.queue.pop() {
                return Some(next);
            }
            if !state.is_open || self.0.arrived.wait_until(&mut state, deadline).timed_out() {
                return state.queue.pop();
            }
        }
    }

    /// Charges a tenant for an item that was received and has run for so long.
    pub fn finish(&self, tenant: Tenant, took: Duration) {
        self.0.state.lock().queue.finish(tenant, took);
    }

    /// Charges a tenant for time that was spent because of it.
    pub fn charge(&self, tenant: Tenant, time: Duration) {
        self.0.state.lock().queue.charge(tenant, time);
    }

    /// The number of waiting items.
    pub fn len(&self) -> usize {
        self.0.state.lock().queue.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Clone for FairReceiver<T> {
    fn clone(&self) -> Self {
        self.0.state.lock().receivers += 1;
        Self(self.0.clone())
    }
}

impl<T> Drop for FairSender<T> {
    fn drop(&mut self) {
        self.0.state.lock().is_open = false;
        self.0.arrived.notify_all();
    }
}

impl<T> Drop for FairReceiver<T> {
    fn drop(&mut self) {
        let mut left = Vec::new();
        let mut state = self.0.state.lock();
        state.receivers -= 1;
        if state.receivers == 0 {
            left.extend(state.queue.drain());
        }
        drop(state);
        // Dropping an item can run code of its owner, which must not find the lock taken.
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const A: Tenant = Tenant::Id(1);
    const HOURS: Duration = Duration::from_secs(7200);

    fn channel<T>(capacity: usize) -> (FairSender<T>, FairReceiver<T>) {
        fair_channel(QueueLimits { capacity, servers: 1 })
    }

    #[test]
    fn a_receiver_gets_items_that_come_while_it_waits() {
        let (sender, receiver) = channel(16);
        let receiving = thread::spawn(move || {
            let waited = receiver.wait();
            (waited, receiver.try_recv(), receiver.recv_deadline(Instant::now() + HOURS), receiver.recv())
        });
        for number in 0..3 {
            sender.send(A, number).unwrap();
        }
        assert_eq!(receiving.join().unwrap(), (true, Some((A, 0)), Some((A, 1)), Some((A, 2))));
    }

    #[test]
    fn what_waits_is_received_after_the_sender_has_gone() {
        let (sender, receiver) = channel(4);
        let other = receiver.clone();
        sender.send(A, 1).unwrap();
        drop(sender);
        assert!(receiver.wait());
        assert_eq!(other.recv(), Some((A, 1)));
        assert_eq!((receiver.recv(), other.recv(), receiver.wait()), (None, None, false));
        assert_eq!(receiver.recv_deadline(Instant::now() + HOURS), None);
    }

    #[test]
    fn a_receiver_that_waits_ends_with_the_sender() {
        let (sender, receiver) = channel::<()>(4);
        let receiving = thread::spawn(move || receiver.recv());
        drop(sender);
        assert_eq!(receiving.join().unwrap(), None);
    }

    #[test]
    fn nothing_is_kept_once_nobody_receives() {
        let (sender, receiver) = channel(4);
        let other = receiver.clone();
        let item = Arc::new(());
        sender.send(A, item.clone()).unwrap();
        drop(receiver);
        sender.send(A, item.clone()).unwrap();
        assert_eq!(Arc::strong_count(&item), 3);
        drop(other);
        assert_eq!(Arc::strong_count(&item), 1);
        assert_eq!(sender.send(A, item), Err(SendError::Closed));
    }

    #[test]
    fn a_full_channel_refuses() {
        let (sender, receiver) = channel(1);
        sender.send(A, ()).unwrap();
        assert_eq!(sender.send(A, ()), Err(SendError::Full));
        assert_eq!(sender.send(Tenant::System, ()), Err(SendError::Full));
        assert_eq!(receiver.recv_deadline(Instant::now()), Some((A, ())));
        assert_eq!(receiver.recv_deadline(Instant::now()), None);
    }

    #[test]
    fn every_item_is_received_once() {
        let (sender, receiver) = fair_channel(QueueLimits { capacity: 100_000, servers: 4 });
        let receivers: Vec<_> = (0..4)
            .map(|_| {
                let receiver = receiver.clone();
                thread::spawn(move || {
                    let mut got = Vec::new();
                    while let Some((tenant, number)) = receiver.recv() {
                        receiver.finish(tenant, Duration::from_nanos(number));
                        got.push(number);
                    }
                    got
                })
            })
            .collect();
        drop(receiver);
        thread::scope(|scope| {
            for part in 0..4_u64 {
                let sender = &sender;
                scope.spawn(move || {
                    for number in (part * 5000)..(part * 5000 + 5000) {
                        sender.send(Tenant::Id(u128::from(number % 7)), number).unwrap();
                    }
                });
            }
        });
        drop(sender);
        let mut all: Vec<_> = receivers.into_iter().flat_map(|receiver| receiver.join().unwrap()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..20_000).collect::<Vec<_>>());
    }
}
