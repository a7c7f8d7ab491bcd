//! The buckets of one limit as one node knows them. Memory is bounded whatever keys come: what is full is forgotten, and while too
//! many are busy at once, keys share buckets.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use chancery_store::{BucketAnswer, BucketWish};
use data_encoding::HEXLOWER;
use parking_lot::Mutex;

use super::{Key, Rate};

/// Keys that are remembered before the idle ones are forgotten.
const MOST_KEYS: usize = 50_000;
/// Buckets that all other keys share while too many keys are busy at once.
const SHARED_BUCKETS: u8 = u8::MAX;
/// How long tokens stay in the pocket of a node that has no use for them.
const IDLE: i64 = 3_000_000;
/// How long nobody waits for a database that has not answered.
const TROUBLE: i64 = 2_000_000;

pub(super) enum Taken {
    Allowed {
        remaining: u32,
    },
    Refused {
        wait: Duration,
    },
    /// The shared bucket has to be asked.
    Unsure,
}

pub(super) struct Buckets {
    shared: bool,
    /// Tells the buckets that keys share from those of other limits, in the database too.
    mark: u8,
    most_keys: usize,
    nodes: AtomicU32,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    all: HashMap<Key, Entry>,
    /// Those that are to be settled.
    queue: Vec<Key>,
    /// Until when nobody waits for the database.
    trouble_until: i64,
    crowded: bool,
    checks: u32,
}

struct Entry {
    rate: Rate,
    /// When the bucket is full again, as far as is known here.
    full_at: i64,
    /// When this node's share of the bucket is full again, for when nothing is known of the whole.
    share_full_at: i64,
    /// Tokens that were taken from the shared bucket beforehand.
    pocket: i64,
    /// Tokens that were taken on credit.
    owed: i64,
    /// When the first of those that are owed was taken; they come back one after the other from then on.
    owed_since: i64,
    /// Tokens that were taken since it was last settled.
    lately: i64,
    waiting: i64,
    /// Whether it is to be settled, and whether it is being.
    asked: bool,
    queued: bool,
    settling: bool,
    touched: i64,
}

/// One more that waits, until dropped.
pub(super) struct Waits<'a> {
    buckets: &'a Buckets,
    key: Key,
    tokens: i64,
}

impl Buckets {
    pub(super) fn new(shared: bool, mark: u8) -> Self {
        Self { shared, mark, most_keys: MOST_KEYS, nodes: AtomicU32::new(1), entries: Mutex::default() }
    }

    #[cfg(test)]
    pub(super) fn small(shared: bool, most_keys: usize) -> Self {
        Self { most_keys, ..Self::new(shared, 0) }
    }

    /// One in which all keys share buckets.
    #[cfg(test)]
    pub(super) fn crowded(shared: bool, mark: u8) -> Self {
        let buckets = Self { most_keys: 0, ..Self::new(shared, mark) };
        buckets.entries.lock().crowded = true;
        buckets
    }

    /// Takes so many tokens, or none.
    pub(super) fn take(&self, key: Key, tokens: u32, rate: &Rate, now: i64, patient: bool) -> Taken {
        let mut entries = self.entries.lock();
        let (tokens, patient) = (i64::from(tokens), patient && now >= entries.trouble_until);
        let (slot, entry) = self.entry(&mut entries, key, rate, now);
        let taken = match self.shared {
            false => entry.take_alone(tokens, now),
            true => entry.take_shared(tokens, now, i64::from(self.nodes()), patient),
        };
        entries.enqueue(slot);
        taken
    }

    /// How many tokens there are, and how long until there is one.
    pub(super) fn peek(&self, key: Key, rate: &Rate, now: i64) -> (u32, Duration) {
        let mut entries = self.entries.lock();
        let slot = self.slot(&entries, key);
        let Some(entry) = entries.all.get_mut(&slot) else { return (rate.burst.get(), Duration::ZERO) };
        entry.set_right(rate, now, self.nodes());
        (entry.remaining(now), rate.wait(entry.full_at, now, 1))
    }

    pub(super) fn charge(&self, key: Key, rate: &Rate, now: i64) {
        let mut entries = self.entries.lock();
        let (slot, entry) = self.entry(&mut entries, key, rate, now);
        match self.shared {
            false => drop(entry.take_alone(1, now)),
            true if entry.pocket > 0 => entry.spend_pocket(1, now),
            true if rate.free(entry.full_at, now) > 0 => entry.spend_credit(1, now),
            true => {}
        }
        entries.enqueue(slot);
    }

    pub(super) fn wait(&self, key: Key, tokens: u32) -> Waits<'_> {
        let mut entries = self.entries.lock();
        let (key, tokens) = (self.slot(&entries, key), i64::from(tokens));
        if let Some(entry) = entries.all.get_mut(&key) {
            entry.waiting += tokens;
        }
        Waits { buckets: self, key, tokens }
    }

    pub(super) fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Relaxed).max(1)
    }

    pub(super) fn set_nodes(&self, nodes: u32) {
        self.nodes.store(nodes, Ordering::Relaxed);
    }

    /// What is to be settled now, so many at most.
    pub(super) fn wishes(&self, most: usize) -> Vec<BucketWish> {
        let nodes = i64::from(self.nodes());
        let mut entries = self.entries.lock();
        let rest = entries.queue.len().saturating_sub(most);
        let mut wishes = Vec::new();
        for key in entries.queue.split_off(rest) {
            wishes.extend(entries.all.get_mut(&key).map(|entry| entry.wish(&key, nodes)));
        }
        wishes
    }

    /// The database answers again.
    pub(super) fn end_trouble(&self) {
        self.entries.lock().trouble_until = 0;
    }

    /// Takes note of what was settled.
    pub(super) fn settle(&self, wishes: &[BucketWish], answers: &[BucketAnswer]) {
        let mut entries = self.entries.lock();
        entries.trouble_until = 0;
        let answers: HashMap<_, _> = answers.iter().map(|answer| (answer.key.as_str(), answer)).collect();
        for wish in wishes {
            let Some(key) = read_key(&wish.key) else { continue };
            let Some(entry) = entries.all.get_mut(&key) else { continue };
            entry.settling = false;
            if let Some(answer) = answers.get(wish.key.as_str()) {
                entry.owed -= wish.spent.max(0);
                entry.owed_since += wish.spent.max(0) * wish.step;
                entry.pocket += answer.granted;
                // What was taken on credit since it was asked for is paid from what was granted; the rest is still to come off.
                let paid = entry.owed.clamp(0, entry.pocket.max(0));
                (entry.owed, entry.pocket) = (entry.owed - paid, entry.pocket - paid);
                entry.full_at = answer.full_at + entry.owed * entry.rate.step();
                entry.asked = entry.owed > 0;
            }
            entries.enqueue(key);
        }
    }

    /// The database did not answer: each is asked for again later, and meanwhile nobody waits.
    pub(super) fn give_up(&self, wishes: &[BucketWish], now: i64) {
        let mut entries = self.entries.lock();
        entries.trouble_until = now + TROUBLE;
        for wish in wishes {
            let Some(key) = read_key(&wish.key) else { continue };
            let Some(entry) = entries.all.get_mut(&key) else { continue };
            (entry.settling, entry.asked) = (false, true);
            // What was to be given back stays in the pocket.
            let kept = -wish.spent.min(0);
            entry.pocket += kept;
            entry.full_at += kept * wish.step;
            entries.enqueue(key);
        }
    }

    /// Gives back what nobody has use for, and forgets what is full.
    pub(super) fn tidy(&self, now: i64) {
        let mut entries = self.entries.lock();
        let idle = |entry: &Entry| entry.pocket > 0 && now - entry.touched > IDLE;
        let idle: Vec<_> = entries.all.iter().filter(|(_, entry)| idle(entry)).map(|(key, _)| *key).collect();
        for key in idle {
            if let Some(entry) = entries.all.get_mut(&key) {
                entry.asked = true;
            }
            entries.enqueue(key);
        }
        entries.forget_full(now);
        entries.crowded = entries.all.len() > self.most_keys;
    }

    fn entry<'a>(&self, entries: &'a mut Entries, key: Key, rate: &Rate, now: i64) -> (Key, &'a mut Entry) {
        entries.checks = entries.checks.wrapping_add(1);
        if entries.checks.is_multiple_of(256) {
            if entries.all.len() > self.most_keys {
                entries.forget_full(now);
            }
            entries.crowded = entries.all.len() > self.most_keys;
        }
        let key = self.slot(entries, key);
        let entry = entries.all.entry(key).or_insert_with(|| Entry::full(*rate, now));
        entry.set_right(rate, now, self.nodes());
        (entry.rate, entry.touched) = (*rate, now);
        (key, entry)
    }

    /// Where a key is kept: while it is crowded, those that are not known yet share a few places.
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

    fn forget_full(&mut self, now: i64) {
        self.all.retain(|_, entry| !entry.is_forgettable(now));
        self.all.shrink_to(1024);
    }
}

impl Entry {
    fn full(rate: Rate, now: i64) -> Self {
        Self {
            rate,
            full_at: now,
            share_full_at: now,
            pocket: 0,
            owed: 0,
            owed_since: now,
            lately: 0,
            waiting: 0,
            asked: false,
            queued: false,
            settling: false,
            touched: now,
        }
    }

    /// A clock that was set back must not keep anybody waiting for longer than an empty bucket does.
    fn set_right(&mut self, rate: &Rate, now: i64, nodes: u32) {
        let longest = rate.room().saturating_mul(2);
        let of_share = longest.max(rate.step().saturating_mul(i64::from(nodes)));
        self.full_at = self.full_at.min(now.saturating_add(longest));
        self.share_full_at = self.share_full_at.min(now.saturating_add(of_share));
    }

    fn take_alone(&mut self, tokens: i64, now: i64) -> Taken {
        if self.rate.free(self.full_at, now) < tokens {
            return Taken::Refused { wait: self.rate.wait(self.full_at, now, tokens) };
        }
        self.full_at = self.full_at.max(now) + self.rate.step() * tokens;
        Taken::Allowed { remaining: self.remaining(now) }
    }

    fn take_shared(&mut self, tokens: i64, now: i64, nodes: i64, patient: bool) -> Taken {
        let burst = i64::from(self.rate.burst.get());
        if self.pocket >= tokens {
            self.spend_pocket(tokens, now);
            return Taken::Allowed { remaining: self.remaining(now) };
        }
        let free = self.rate.free(self.full_at, now);
        if self.pocket + free < tokens && !self.asked {
            // It had too little when it was last seen, and cannot have more yet.
            return Taken::Refused { wait: self.rate.wait(self.full_at, now, tokens - self.pocket) };
        }
        // While there is plenty, a little is taken on credit: no request waits for the database because it is the first.
        let credit = (burst / (10 * nodes)).max(1);
        if self.owed + tokens <= credit && free >= (burst / 2).max(tokens) {
            self.spend_credit(tokens, now);
            return Taken::Allowed { remaining: self.remaining(now) };
        }
        self.asked = true;
        if patient {
            return Taken::Unsure;
        }
        // Nobody can tell: by this node's share.
        let room = self.rate.room().max(self.rate.step() * nodes);
        let step = self.rate.step().saturating_mul(nodes).saturating_mul(tokens);
        if self.share_full_at.max(now) + step > now + room {
            let wait = self.share_full_at + step - now - room;
            return Taken::Refused { wait: Duration::from_micros(wait.unsigned_abs()) };
        }
        self.share_full_at = self.share_full_at.max(now) + step;
        self.owe(tokens, now);
        Taken::Allowed { remaining: self.remaining(now) }
    }

    fn spend_pocket(&mut self, tokens: i64, now: i64) {
        self.pocket -= tokens;
        self.lately += tokens;
        self.asked |= self.pocket <= self.lately / 2 && self.rate.free(self.full_at, now) > 0;
    }

    fn spend_credit(&mut self, tokens: i64, now: i64) {
        self.owe(tokens, now);
        self.lately += tokens;
        self.full_at = self.full_at.max(now) + self.rate.step() * tokens;
        self.asked = true;
    }

    fn owe(&mut self, tokens: i64, now: i64) {
        // What has come back meanwhile is not saved up for what comes later.
        self.owed_since = self.owed_since.max(now - self.owed * self.rate.step());
        self.owed += tokens;
    }

    fn wish(&mut self, key: &Key, nodes: i64) -> BucketWish {
        let (step, room) = (self.rate.step(), self.rate.room());
        let idle = self.lately == 0 && self.waiting == 0 && self.owed == 0;
        let most = (i64::from(self.rate.burst.get()) / (4 * nodes)).max(1);
        let (spent, wanted) = match idle {
            true => (-self.pocket, 0),
            false => (self.owed, (self.waiting + (self.lately * 2).clamp(1, most) - self.pocket).max(0)),
        };
        if idle {
            // Whoever looks meanwhile sees them where they go.
            self.full_at -= self.pocket * step;
            self.pocket = 0;
        }
        (self.settling, self.queued, self.lately) = (true, false, 0);
        BucketWish { key: HEXLOWER.encode(key), spent, since: self.owed_since, wanted, step, room }
    }

    fn remaining(&self, now: i64) -> u32 {
        let all = (self.pocket + self.rate.free(self.full_at, now)).min(i64::from(self.rate.burst.get()));
        u32::try_from(all).unwrap_or(0)
    }

    fn is_forgettable(&self, now: i64) -> bool {
        let busy = self.asked || self.settling || self.waiting > 0 || self.pocket > 0 || self.owed > 0;
        !busy && self.full_at <= now && self.share_full_at <= now
    }
}

impl Drop for Waits<'_> {
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
