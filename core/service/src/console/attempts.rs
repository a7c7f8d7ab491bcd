//! How often somebody may try to sign in. Secrets here are drawn, not chosen, so nobody guesses one; this keeps those who
//! try from costing us anything.

use std::collections::HashMap;
use std::time::Duration;

use chancery_domain::Timestamp;
use parking_lot::Mutex;

use crate::limits::client_network;

/// Failures are forgotten after so long.
const WINDOW: Duration = Duration::from_secs(5 * 60);
/// So many of one network for one name, within the window.
const MOST: u32 = 10;
/// So many of one network for all names.
const MOST_OF_NETWORK: u32 = 100;
/// So many of all networks together that came when the memory was full.
const MOST_OF_REST: u32 = 1000;
/// So many are remembered; those who come after that are not told apart.
const REMEMBERED: usize = 10_000;
/// How often a full memory is looked through for what may be forgotten.
const PAUSE: Duration = Duration::from_secs(1);
/// In place of a network: all that came when the memory was full.
const REST: &str = "*";
/// In place of a name: all of them.
const ALL: &str = "";

/// The failures of this node.
#[derive(Default)]
pub(super) struct Attempts {
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    failures: HashMap<(String, String), Failures>,
    looked_through: Option<Timestamp>,
}

#[derive(Clone, Copy)]
struct Failures {
    since: Timestamp,
    count: u32,
}

impl Attempts {
    /// How long to wait before the next attempt, where there have been too many.
    pub(super) fn wait(&self, address: &str, name: &str, now: Timestamp) -> Option<Duration> {
        let (network, memory) = (client_network(address), self.memory.lock());
        let of = |network: &str, name: &str, most: u32| {
            let found = memory.failures.get(&(network.to_owned(), name.to_owned()))?;
            let left = WINDOW.checked_sub(now.since(found.since)).filter(|left| !left.is_zero())?;
            (found.count >= most).then_some(left)
        };
        if !memory.knows(&network) && memory.is_full() {
            return of(REST, ALL, MOST_OF_REST);
        }
        of(&network, name, MOST).or_else(|| of(&network, ALL, MOST_OF_NETWORK))
    }

    pub(super) fn failed(&self, address: &str, name: &str, now: Timestamp) {
        let (network, mut memory) = (client_network(address), self.memory.lock());
        memory.make_room(now);
        if !memory.knows(&network) && memory.is_full() {
            return memory.count(REST, ALL, now);
        }
        memory.count(&network, ALL, now);
        // Who fills the memory with names has only what is counted for all of them.
        if !memory.is_full() || memory.failures.contains_key(&(network.clone(), name.to_owned())) {
            memory.count(&network, name, now);
        }
    }
}

impl Memory {
    fn is_full(&self) -> bool {
        self.failures.len() >= REMEMBERED
    }

    fn knows(&self, network: &str) -> bool {
        self.failures.contains_key(&(network.to_owned(), ALL.to_owned()))
    }

    /// Forgets what is over, where that is needed; not with every failure, or those who fail would have us busy with it.
    fn make_room(&mut self, now: Timestamp) {
        let lately = self.looked_through.is_some_and(|then| now >= then && now.since(then) < PAUSE);
        if self.is_full() && !lately {
            self.failures.retain(|_, found| now.since(found.since) < WINDOW);
            self.looked_through = Some(now);
        }
    }

    fn count(&mut self, network: &str, name: &str, now: Timestamp) {
        let fresh = Failures { since: now, count: 0 };
        let found = self.failures.entry((network.to_owned(), name.to_owned())).or_insert(fresh);
        if now.since(found.since) >= WINDOW {
            *found = fresh;
        }
        found.count = found.count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_failures_at_one_name_have_to_wait_and_others_need_not() {
        let (attempts, now) = (Attempts::default(), Timestamp::from_secs(1_000));
        for _ in 0..MOST {
            assert_eq!(attempts.wait("192.0.2.1", "cli_1", now), None);
            attempts.failed("192.0.2.1", "cli_1", now);
        }
        assert_eq!(attempts.wait("192.0.2.1", "cli_1", now), Some(WINDOW));
        assert_eq!(attempts.wait("192.0.2.1", "cli_2", now), None);
        assert_eq!(attempts.wait("192.0.2.2", "cli_1", now), None);
        assert_eq!(attempts.wait("192.0.2.1", "cli_1", now.plus(WINDOW)), None);
    }

    #[test]
    fn a_network_that_fails_at_many_names_has_to_wait_for_all() {
        let (attempts, now) = (Attempts::default(), Timestamp::from_secs(1_000));
        for number in 0..MOST_OF_NETWORK {
            // One host has all addresses of its network.
            attempts.failed(&format!("2001:db8::{number}"), &format!("cli_{number}"), now);
        }
        assert_eq!(attempts.wait("2001:db8::ffff", "cli_new", now), Some(WINDOW));
        assert_eq!(attempts.wait("2001:db8:0:1::1", "cli_new", now), None);
    }

    #[test]
    fn memory_is_bounded_whatever_names_come() {
        let (attempts, now) = (Attempts::default(), Timestamp::from_secs(1_000));
        for number in 0..2 * REMEMBERED {
            attempts.failed("192.0.2.1", &format!("cli_{number}"), now);
        }
        assert!(attempts.memory.lock().failures.len() <= REMEMBERED + 1);
        assert_eq!(attempts.wait("192.0.2.1", "cli_new", now), Some(WINDOW));
    }

    #[test]
    fn memory_is_bounded_whatever_addresses_come_and_they_share_what_is_left() {
        let (attempts, now) = (Attempts::default(), Timestamp::from_secs(1_000));
        let address = |number: usize| format!("2001:db8:{:x}:{:x}::1", number >> 16, number & 0xffff);
        for number in 0..10 * REMEMBERED {
            attempts.failed(&address(number), "cli_1", now);
        }
        assert!(attempts.memory.lock().failures.len() <= REMEMBERED + 1);
        assert_eq!(attempts.wait("192.0.2.9", "cli_2", now), Some(WINDOW), "one of many new addresses");
        assert_eq!(attempts.wait(&address(0), "cli_1", now), None, "one that is known, with one failure");
        // All of it is forgotten in time, and those who are new are told apart again.
        let later = now.plus(WINDOW);
        assert_eq!(attempts.wait("192.0.2.9", "cli_2", later), None);
        attempts.failed("192.0.2.9", "cli_2", later);
        assert_eq!(attempts.memory.lock().failures.len(), 2);
    }

    #[test]
    fn a_full_memory_is_looked_through_once_a_second() {
        let (attempts, now) = (Attempts::default(), Timestamp::from_secs(1_000));
        for number in 0..REMEMBERED {
            attempts.failed(&format!("2001:db8:0:{number:x}::1"), "cli_1", now);
        }
        let looked_through = || attempts.memory.lock().looked_through;
        assert_eq!(looked_through(), Some(now));
        attempts.failed("192.0.2.1", "cli_1", now.plus(PAUSE / 2));
        assert_eq!(looked_through(), Some(now));
        attempts.failed("192.0.2.1", "cli_1", now.plus(PAUSE));
        assert_eq!(looked_through(), Some(now.plus(PAUSE)));
    }
}
