//! How often somebody may try to sign in. Secrets here are drawn, not chosen, so nobody guesses one; this keeps those who
//! try from costing us anything.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chancery_domain::Timestamp;

/// Failures are forgotten after so long.
const WINDOW: Duration = Duration::from_secs(5 * 60);
/// So many of one address for one name, within the window.
const MOST: u32 = 10;
/// So many of one address for all names.
const MOST_OF_ADDRESS: u32 = 100;
/// So many are remembered; those who fail at more names than this within the window are not told apart.
const REMEMBERED: usize = 10_000;

/// The failures of this node.
#[derive(Default)]
pub(super) struct Attempts {
    failures: Mutex<HashMap<(String, String), Failures>>,
}

#[derive(Clone, Copy)]
struct Failures {
    since: Timestamp,
    count: u32,
}

impl Attempts {
    /// How long to wait before the next attempt, where there have been too many.
    pub(super) fn wait(&self, address: &str, name: &str, now: Timestamp) -> Option<Duration> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |name: &str, most: u32| {
            let found = failures.get(&(address.to_owned(), name.to_owned()))?;
            let left = WINDOW.checked_sub(now.since(found.since)).filter(|left| !left.is_zero())?;
            (found.count >= most).then_some(left)
        };
        of(name, MOST).or_else(|| of("", MOST_OF_ADDRESS))
    }

    pub(super) fn failed(&self, address: &str, name: &str, now: Timestamp) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= REMEMBERED {
            failures.retain(|_, found| now.since(found.since) < WINDOW);
        }
        // Who fills the memory within one window shares one place in it.
        let name = if failures.len() >= REMEMBERED { "" } else { name };
        for name in [name, ""] {
            let fresh = Failures { since: now, count: 0 };
            let found = failures.entry((address.to_owned(), name.to_owned())).or_insert(fresh);
            if now.since(found.since) >= WINDOW {
                *found = fresh;
            }
            found.count = found.count.saturating_add(1);
        }
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
    fn an_address_that_fails_at_many_names_has_to_wait_for_all() {
        let (attempts, now) = (Attempts::default(), Timestamp::from_secs(1_000));
        for number in 0..MOST_OF_ADDRESS {
            attempts.failed("192.0.2.1", &format!("cli_{number}"), now);
        }
        assert_eq!(attempts.wait("192.0.2.1", "cli_new", now), Some(WINDOW));
    }

    #[test]
    fn memory_is_bounded() {
        let (attempts, now) = (Attempts::default(), Timestamp::from_secs(1_000));
        for number in 0..2 * REMEMBERED {
            attempts.failed("192.0.2.1", &format!("cli_{number}"), now);
        }
        assert!(attempts.failures.lock().unwrap().len() <= REMEMBERED + 1);
    }
}
