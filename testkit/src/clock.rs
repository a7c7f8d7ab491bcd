//! A clock that stands still until a test moves it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chancery_domain::{Clock, Timestamp};

/// Shows the same time until it is set or advanced. Share it in an `Arc`: whoever holds it sees it move.
#[derive(Debug)]
pub struct FrozenClock(AtomicI64);

impl FrozenClock {
    /// Where a clock stands that was not told otherwise: 2026-01-01T00:00:00Z.
    pub const START: Timestamp = Timestamp::from_secs(1_767_225_600);

    pub fn at(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.as_millis()))
    }

    /// Moves it to a time, forward or back.
    pub fn set(&self, to: Timestamp) {
        self.0.store(to.as_millis(), Ordering::SeqCst);
    }

    /// Moves it forward, and says what it shows then.
    pub fn advance(&self, by: Duration) -> Timestamp {
        let by = i64::try_from(by.as_millis()).expect("tests stay within a few million years");
        Timestamp::from_millis(self.0.fetch_add(by, Ordering::SeqCst) + by)
    }
}

impl Default for FrozenClock {
    fn default() -> Self {
        Self::at(Self::START)
    }
}

impl Clock for FrozenClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_only_when_it_is_moved() {
        let clock = FrozenClock::default();
        assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(clock.now(), clock.now());
        assert_eq!(clock.advance(Duration::from_secs(61)), clock.now());
        assert_eq!(clock.now().to_string(), "2026-01-01T00:01:01Z");
        clock.set(FrozenClock::START);
        assert_eq!(clock.now(), FrozenClock::START);
    }
}
