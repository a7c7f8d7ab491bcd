//! The token buckets of one limit as one node knows them. Memory is bounded for any set of keys: full buckets are dropped, and
//! while too many are in use, further keys share a few buckets.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use data_encoding::HEXLOWER;
use parking_lot::Mutex;

use crate::rate::Rate;
use crate::rate_limits::Key;
use crate::sync::{Refill, RefillRequest};

/// Keys stored before idle ones are dropped.
const MAX_KEYS: usize = 50_000;
/// Buckets that all further keys share while [`MAX_KEYS`] are in use.
const SHARED_BUCKETS: u8 = u8::MAX;
/// How long a node keeps prefetched tokens that it does not use, in microseconds.
const IDLE: i64 = 3_000_000;
/// How long requests do not wait for a shared store that has failed, in microseconds.
const BACKOFF: i64 = 2_000_000;

pub(crate) enum Taken {
    Allowed {
        remaining: u32,
    },
    Refused {
        wait: Duration,
    },
    /// Only the shared bucket can decide.
    Unsure,
}

pub(crate) struct Buckets {
    shared: bool,
    /// Distinguishes shared overflow buckets of this limit from those of other limits, in the shared store too.
    mark: u8,
    max_keys: usize,
    nodes: AtomicU32,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    all: HashMap<Key, Entry>,
    /// Keys to synchronize.
    queue: Vec<Key>,
    /// Requests do not wait for the shared store until then.
    backoff_until: i64,
    crowded: bool,
    checks: u32,
}

struct Entry {
    rate: Rate,
    /// When the bucket is full again, as this node knows it.
    full_at: i64,
    /// When this node's share of the bucket is full again; used if the shared store does not answer.
    share_full_at: i64,
    /// Tokens taken from the shared bucket in advance.
    prefetched: i64,
    /// Tokens used before the shared bucket granted them.
    debt: i64,
    /// When the first token of the debt was used; the tokens refill one after the other from then on.
    debt_since: i64,
    /// Tokens used since the last synchronization.
    recent: i64,
    waiting: i64,
    /// Tokens set aside for requests in flight.
    reserved: i64,
    /// Whether synchronization is wanted, queued and running.
    asked: bool,
    queued: bool,
    settling: bool,
    touched: i64,
}

/// A request that waits for tokens, until dropped.
pub(crate) struct WaiterGuard<'a> {
    buckets: &'a Buckets,
    key: Key,
    tokens: i64,
}

impl Buckets {
    pub(crate) fn new(shared: bool, mark: u8) -> Self {
        Self { shared, mark, max_keys: MAX_KEYS, nodes: AtomicU32::new(1), entries: Mutex::default() }
    }

    #[cfg(test)]
    pub(crate) fn small(shared: bool, max_keys: usize) -> Self {
        Self { max_keys, ..Self::new(shared, 0) }
    }

    /// Buckets in which all keys share the overflow buckets.
    #[cfg(test)]
    pub(crate) fn crowded(shared: bool, mark: u8) -> Self {
        let buckets = Self { max_keys: 0, ..Self::new(shared, mark) };
        buckets.entries.lock().crowded = true;
        buckets
    }

    /// Takes all tokens or none. `may_wait` is false for a caller that needs a decision at once.
    pub(crate) fn take(&self, key: Key, tokens: u32, rate: &Rate, now: i64, may_wait: bool) -> Taken {
        let mut entries = self.entries.lock();
        let (tokens, may_wait) = (i64::from(tokens), may_wait && now >= entries.backoff_until);
        let (slot, entry) = self.entry(&mut entries, key, rate, now);
        // Tokens that are set aside belong to others.
        if entry.reserved > 0 && i64::from(entry.remaining(now)) < entry.reserved + tokens {
            return Taken::Refused { wait: rate.wait(entry.full_at, now, entry.reserved + tokens - entry.prefetched) };
        }
        let taken = match self.shared {
            false => entry.take_local(tokens, now),
            true => entry.take_shared(tokens, now, i64::from(self.nodes()), may_wait),
        };
        entries.enqueue(slot);
        taken
    }

    /// The tokens left, and the time until one is available.
    pub(crate) fn peek(&self, key: Key, rate: &Rate, now: i64) -> (u32, Duration) {
        let mut entries = self.entries.lock();
        let slot = self.slot(&entries, key);
        let Some(entry) = entries.all.get_mut(&slot) else { return (rate.burst.get(), Duration::ZERO) };
        entry.clamp_to_clock(rate, now, self.nodes());
        (entry.remaining(now), rate.wait(entry.full_at, now, 1))
    }

    pub(crate) fn charge(&self, key: Key, rate: &Rate, now: i64) {
        let mut entries = self.entries.lock();
        let (slot, entry) = self.entry(&mut entries, key, rate, now);
        entry.charge(self.shared, now);
        entries.enqueue(slot);
    }

    /// Sets a token aside if this node knows of one that is not set aside yet. Returns the bucket that it is in, or the time
    /// until it has one.
    pub(crate) fn reserve(&self, key: Key, rate: &Rate, now: i64) -> Result<Key, Duration> {
        let mut entries = self.entries.lock();
        let (slot, entry) = self.entry(&mut entries, key, rate, now);
        if i64::from(entry.remaining(now)) <= entry.reserved {
            return Err(rate.wait(entry.full_at, now, entry.reserved + 1 - entry.prefetched));
        }
        entry.reserved += 1;
        Ok(slot)
    }

    /// Takes a token that was set aside. Nobody can take or reserve it in between.
    pub(crate) fn spend(&self, slot: Key, rate: &Rate, now: i64) {
        let mut entries = self.entries.lock();
        let (slot, entry) = self.entry(&mut entries, slot, rate, now);
        entry.reserved = (entry.reserved - 1).max(0);
        entry.charge(self.shared, now);
        entries.enqueue(slot);
    }

    /// Returns a token that was set aside to its bucket.
    pub(crate) fn release(&self, slot: Key) {
        if let Some(entry) = self.entries.lock().all.get_mut(&slot) {
            entry.reserved = (entry.reserved - 1).max(0);
        }
    }

    pub(crate) fn wait(&self, key: Key, tokens: u32) -> WaiterGuard<'_> {
        let mut entries = self.entries.lock();
        let (key, tokens) = (self.slot(&entries, key), i64::from(tokens));
        if let Some(entry) = entries.all.get_mut(&key) {
            entry.waiting += tokens;
        }
        WaiterGuard { buckets: self, key, tokens }
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Relaxed).max(1)
    }

    pub(crate) fn set_nodes(&self, nodes: u32) {
        self.nodes.store(nodes, Ordering::Relaxed);
    }

    /// Takes up to `max` buckets to synchronize.
    pub(crate) fn refill_requests(&self, max: usize) -> Vec<RefillRequest> {
        let nodes = i64::from(self.nodes());
        let mut entries = self.entries.lock();
        let rest = entries.queue.len().saturating_sub(max);
        let mut requests = Vec::new();
        for key in entries.queue.split_off(rest) {
            requests.extend(entries.all.get_mut(&key).map(|entry| entry.refill_request(&key, nodes)));
        }
        requests
    }

    /// The shared store answers again.
    pub(crate) fn end_backoff(&self) {
        self.entries.lock().backoff_until = 0;
    }

    /// Applies the result of a synchronization.
    pub(crate) fn apply(&self, requests: &[RefillRequest], refills: &[Refill]) {
        let mut entries = self.entries.lock();
        entries.backoff_until = 0;
        let refills: HashMap<_, _> = refills.iter().map(|refill| (refill.key.as_str(), refill)).collect();
        for request in requests {
            let Some(key) = read_key(&request.key) else { continue };
            let Some(entry) = entries.all.get_mut(&key) else { continue };
            entry.settling = false;
            if let Some(refill) = refills.get(request.key.as_str()) {
                entry.debt -= request.spent.max(0);
                entry.debt_since += request.spent.max(0) * request.step;
                entry.prefetched += refill.granted;
                // Tokens used since the request are paid from the grant; the rest stays a debt.
                let paid = entry.debt.clamp(0, entry.prefetched.max(0));
                (entry.debt, entry.prefetched) = (entry.debt - paid, entry.prefetched - paid);
                entry.full_at = refill.full_at + entry.debt * entry.rate.step();
                entry.asked = entry.debt > 0;
            }
            entries.enqueue(key);
        }
    }

    /// The shared store did not answer: the requests are repeated later, and no request waits until then.
    pub(crate) fn fail(&self, requests: &[RefillRequest], now: i64) {
        let mut entries = self.entries.lock();
        entries.backoff_until = now + BACKOFF;
        for request in requests {
            let Some(key) = read_key(&request.key) else { continue };
            let Some(entry) = entries.all.get_mut(&key) else { continue };
            (entry.settling, entry.asked) = (false, true);
            // Tokens that were to be returned stay prefetched.
            let kept = -request.spent.min(0);
            entry.prefetched += kept;
            entry.full_at += kept * request.step;
            entries.enqueue(key);
        }
    }

    /// Returns idle tokens and drops full buckets.
    pub(crate) fn sweep(&self, now: i64) {
        let mut entries = self.entries.lock();
        let idle = |entry: &Entry| entry.prefetched > 0 && now - entry.touched > IDLE;
        let idle: Vec<_> = entries.all.iter().filter(|(_, entry)| idle(entry)).map(|(key, _)| *key).collect();
        for key in idle {
            if let Some(entry) = entries.all.get_mut(&key) {
                entry.asked = true;
            }
            entries.enqueue(key);
        }
        entries.drop_full(now);
        entries.crowded = entries.all.len() > self.max_keys;
    }

    fn entry<'a>(&self, entries: &'a mut Entries, key: Key, rate: &Rate, now: i64) -> (Key, &'a mut Entry) {
        entries.checks = entries.checks.wrapping_add(1);
        if entries.checks.is_multiple_of(256) {
            if entries.all.len() > self.max_keys {
                entries.drop_full(now);
            }
            entries.crowded = entries.all.len() > self.max_keys;
        }
        let key = self.slot(entries, key);
        let entry = entries.all.entry(key).or_insert_with(|| Entry::full(*rate, now));
        entry.clamp_to_clock(rate, now, self.nodes());
        (entry.rate, entry.touched) = (*rate, now);
        (key, entry)
    }

    /// The key under which a bucket is stored: while too many are in use, new keys share a few.
    fn slot(&self, entries: &Entries, key: Key) -> Key {
        if !entries.crowded || entries.all.contains_key(&key) {
            return key;
        }
        let mut shared = [key[0] % SHARED_BUCKETS; 16];
        shared[15] = self.mark;
        shared
    }
}

impl Entries {
    fn enqueue(&mut self, key: Key) {
        let Some(entry) = self.all.get_mut(&key) else { return };
        if entry.asked && !entry.queued && !entry.settling {
            entry.queued = true;
            self.queue.push(key);
        }
    }

    fn drop_full(&mut self, now: i64) {
        self.all.retain(|_, entry| !entry.is_droppable(now));
        self.all.shrink_to(1024);
    }
}

impl Entry {
    fn full(rate: Rate, now: i64) -> Self {
        Self {
            rate,
            full_at: now,
            share_full_at: now,
            prefetched: 0,
            debt: 0,
            debt_since: now,
            recent: 0,
            waiting: 0,
            reserved: 0,
            asked: false,
            queued: false,
            settling: false,
            touched: now,
        }
    }

    /// After the clock was set back, no bucket may take longer to refill than an empty one.
    fn clamp_to_clock(&mut self, rate: &Rate, now: i64, nodes: u32) {
        let longest = rate.room().saturating_mul(2);
        let of_share = longest.max(rate.step().saturating_mul(i64::from(nodes)));
        self.full_at = self.full_at.min(now.saturating_add(longest));
        self.share_full_at = self.share_full_at.min(now.saturating_add(of_share));
    }

    /// Takes a token if there is one.
    fn charge(&mut self, shared: bool, now: i64) {
        match shared {
            false => drop(self.take_local(1, now)),
            true if self.prefetched > 0 => self.spend_prefetched(1, now),
            true if self.rate.free(self.full_at, now) > 0 => self.spend_credit(1, now),
            true => {}
        }
    }

    fn take_local(&mut self, tokens: i64, now: i64) -> Taken {
        if self.rate.free(self.full_at, now) < tokens {
            return Taken::Refused { wait: self.rate.wait(self.full_at, now, tokens) };
        }
        self.full_at = self.full_at.max(now) + self.rate.step() * tokens;
        Taken::Allowed { remaining: self.remaining(now) }
    }

    fn take_shared(&mut self, tokens: i64, now: i64, nodes: i64, may_wait: bool) -> Taken {
        let burst = i64::from(self.rate.burst.get());
        if self.prefetched >= tokens {
            self.spend_prefetched(tokens, now);
            return Taken::Allowed { remaining: self.remaining(now) };
        }
        let free = self.rate.free(self.full_at, now);
        if self.prefetched + free < tokens && !self.asked {
            // It had too few tokens at the last synchronization and cannot have more yet.
            return Taken::Refused { wait: self.rate.wait(self.full_at, now, tokens - self.prefetched) };
        }
        // While the bucket is at least half full, a few tokens may be used in advance, so that a first request does not wait.
        let credit = (burst / (10 * nodes)).max(1);
        if self.debt + tokens <= credit && free >= (burst / 2).max(tokens) {
            self.spend_credit(tokens, now);
            return Taken::Allowed { remaining: self.remaining(now) };
        }
        self.asked = true;
        if may_wait {
            return Taken::Unsure;
        }
        // The shared store does not answer: enforce this node's share.
        let room = self.rate.room().max(self.rate.step() * nodes);
        let step = self.rate.step().saturating_mul(nodes).saturating_mul(tokens);
        if self.share_full_at.max(now) + step > now + room {
            let wait = self.share_full_at + step - now - room;
            return Taken::Refused { wait: Duration::from_micros(wait.unsigned_abs()) };
        }
        self.share_full_at = self.share_full_at.max(now) + step;
        self.borrow(tokens, now);
        Taken::Allowed { remaining: self.remaining(now) }
    }

    fn spend_prefetched(&mut self, tokens: i64, now: i64) {
        self.prefetched -= tokens;
        self.recent += tokens;
        self.asked |= self.prefetched <= self.recent / 2 && self.rate.free(self.full_at, now) > 0;
    }

    fn spend_credit(&mut self, tokens: i64, now: i64) {
        self.borrow(tokens, now);
        self.recent += tokens;
        self.full_at = self.full_at.max(now) + self.rate.step() * tokens;
        self.asked = true;
    }

    fn borrow(&mut self, tokens: i64, now: i64) {
        // Tokens that have refilled in the meantime are not saved up.
        self.debt_since = self.debt_since.max(now - self.debt * self.rate.step());
        self.debt += tokens;
    }

    fn refill_request(&mut self, key: &Key, nodes: i64) -> RefillRequest {
        let (step, room) = (self.rate.step(), self.rate.room());
        let idle = self.recent == 0 && self.waiting == 0 && self.debt == 0;
        let max = (i64::from(self.rate.burst.get()) / (4 * nodes)).max(1);
        let (spent, wanted) = match idle {
            true => (-self.prefetched, 0),
            false => (self.debt, (self.waiting + (self.recent * 2).clamp(1, max) - self.prefetched).max(0)),
        };
        if idle {
            // Until the shared store confirms, readers see the returned tokens in the bucket.
            self.full_at -= self.prefetched * step;
            self.prefetched = 0;
        }
        (self.settling, self.queued, self.recent) = (true, false, 0);
        RefillRequest { key: HEXLOWER.encode(key), spent, since: self.debt_since, wanted, step, room }
    }

    fn remaining(&self, now: i64) -> u32 {
        let all = (self.prefetched + self.rate.free(self.full_at, now)).min(i64::from(self.rate.burst.get()));
        u32::try_from(all).unwrap_or(0)
    }

    fn is_droppable(&self, now: i64) -> bool {
        let in_use = self.waiting > 0 || self.reserved > 0;
        let busy = self.asked || self.settling || in_use || self.prefetched > 0 || self.debt > 0;
        !busy && self.full_at <= now && self.share_full_at <= now
    }
}

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.buckets.entries.lock().all.get_mut(&self.key) {
            entry.waiting = (entry.waiting - self.tokens).max(0);
        }
    }
}

fn read_key(text: &str) -> Option<Key> {
    HEXLOWER.decode(text.as_bytes()).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests;
