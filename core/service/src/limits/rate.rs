//! A rate, and the arithmetic of a bucket that is kept as one number: when it is full again.

use std::num::NonZeroU32;
use std::time::Duration;

/// So many at once, and so many in a length of time in the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub burst: NonZeroU32,
    pub count: NonZeroU32,
    pub per: Duration,
}

impl Rate {
    /// `count` in each `per`, which may come all at once.
    pub const fn new(count: NonZeroU32, per: Duration) -> Self {
        Self { burst: count, count, per }
    }

    pub const fn per_second(count: NonZeroU32, burst: NonZeroU32) -> Self {
        Self { burst, count, per: Duration::from_secs(1) }
    }

    /// How long a token takes to come back, in microseconds.
    pub(super) fn step(&self) -> i64 {
        let step = self.per.as_micros() / u128::from(self.count.get());
        i64::try_from(step).unwrap_or(i64::MAX / 4).clamp(1, 30 * 86_400_000_000)
    }

    /// How long a whole bucket takes, in microseconds.
    pub(super) fn room(&self) -> i64 {
        self.step().saturating_mul(i64::from(self.burst.get()))
    }

    /// Tokens in a bucket that is full at `full_at`.
    pub(super) fn free(&self, full_at: i64, now: i64) -> i64 {
        let empty_at = now.saturating_add(self.room());
        (empty_at.saturating_sub(full_at.max(now)) / self.step()).max(0)
    }

    /// How long until there are so many tokens.
    pub(super) fn wait(&self, full_at: i64, now: i64, tokens: i64) -> Duration {
        let missing = self.step().saturating_mul(tokens);
        let wait = full_at.max(now).saturating_add(missing).saturating_sub(now.saturating_add(self.room()));
        Duration::from_micros(u64::try_from(wait).unwrap_or(0))
    }

    /// The time that a whole bucket takes, in whole seconds.
    pub fn window_seconds(&self) -> u64 {
        Duration::from_micros(self.room().unsigned_abs()).as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
    }
}

/// What a limit says of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Decision {
    pub limit: super::Limit,
    pub rate: Rate,
    /// How many more can pass at once, as far as this node knows.
    pub remaining: u32,
    /// For one that is refused, how long to wait before the next can pass.
    pub retry_after: Option<Duration>,
}

impl Decision {
    pub fn allowed(&self) -> bool {
        self.retry_after.is_none()
    }

    /// Whole seconds, at least one: whoever waits so long will pass.
    pub fn retry_seconds(&self) -> Option<u64> {
        self.retry_after.map(|wait| (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1))
    }

    /// Whole seconds until everything is there again; for one that is refused, until one can pass.
    pub fn reset_seconds(&self) -> u64 {
        let spent = self.rate.burst.get().saturating_sub(self.remaining);
        let full = Duration::from_micros(self.rate.step().unsigned_abs().saturating_mul(spent.into()));
        self.retry_seconds().unwrap_or(full.as_secs() + u64::from(full.subsec_nanos() > 0))
    }
}
