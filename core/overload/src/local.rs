//! Rates that every node enforces by itself and that have no setting.

use std::time::Duration;

use chancery_domain::Timestamp;

use crate::buckets::{Buckets, Taken};
use crate::rate::Rate;
use crate::rate_limits::{bucket_key, microseconds};

/// Buckets of one fixed rate, in memory.
pub struct LocalRateLimiter {
    name: &'static str,
    rate: Rate,
    buckets: Buckets,
}

impl LocalRateLimiter {
    pub fn new(name: &'static str, rate: Rate) -> Self {
        Self { name, rate, buckets: Buckets::new(false, 0) }
    }

    /// Takes a token, if one is left.
    pub fn take(&self, key: &str, now: Timestamp) -> bool {
        match self.buckets.take(bucket_key(self.name, key), 1, &self.rate, microseconds(now), false) {
            Taken::Allowed { .. } => true,
            Taken::Refused { .. } | Taken::Unsure => false,
        }
    }

    /// How long until a token is available, if none is.
    pub fn wait(&self, key: &str, now: Timestamp) -> Option<Duration> {
        let (remaining, wait) = self.buckets.peek(bucket_key(self.name, key), &self.rate, microseconds(now));
        (remaining == 0).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn an_empty_bucket_says_how_long_to_wait_and_keys_are_independent() {
        let rate = Rate::new(NonZeroU32::new(10).unwrap(), Duration::from_secs(300));
        let (limiter, now) = (LocalRateLimiter::new("test", rate), Timestamp::from_secs(1_000));
        for _ in 0..10 {
            assert_eq!(limiter.wait("a", now), None);
            assert!(limiter.take("a", now));
        }
        assert_eq!(limiter.wait("a", now), Some(Duration::from_secs(30)));
        assert!(!limiter.take("a", now) && limiter.take("b", now));
        assert!(limiter.take("a", now.plus(Duration::from_secs(30))));
    }
}
