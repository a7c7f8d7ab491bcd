//! A rate, and the arithmetic of a token bucket stored as one number: the time at which it is full again.

use std::num::NonZeroU32;
use std::time::Duration;

/// At most `burst` events at once, and `count` events in each `per` in the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub burst: NonZeroU32,
    pub count: NonZeroU32,
    pub per: Duration,
}

impl Rate {
    /// `count` events in each `per`, possibly all at once.
    pub const fn new(count: NonZeroU32, per: Duration) -> Self {
        Self { burst: count, count, per }
    }

    /// `count` events a second, and at most `burst` at once.
    pub const fn per_second(count: NonZeroU32, burst: NonZeroU32) -> Self {
        Self { burst, count, per: Duration::from_secs(1) }
    }

    /// Half as many events, at least one at once.
    #[must_use]
    pub fn half(self) -> Self {
        let burst = NonZeroU32::new(self.burst.get() / 2).unwrap_or(NonZeroU32::MIN);
        Self { burst, per: self.per.saturating_mul(2), ..self }
    }

    /// Time to refill one token, in microseconds.
    pub(crate) fn step(&self) -> i64 {
        let step = self.per.as_micros() / u128::from(self.count.get());
        i64::try_from(step).unwrap_or(i64::MAX / 4).clamp(1, 30 * 86_400_000_000)
    }

    /// Time to refill an empty bucket, in microseconds.
    pub(crate) fn room(&self) -> i64 {
        self.step().saturating_mul(i64::from(self.burst.get()))
    }

    /// Tokens in a bucket that is full at `full_at`.
    pub(crate) fn free(&self, full_at: i64, now: i64) -> i64 {
        let empty_at = now.saturating_add(self.room());
        (empty_at.saturating_sub(full_at.max(now)) / self.step()).max(0)
    }

    /// Time until `tokens` tokens are available.
    pub(crate) fn wait(&self, full_at: i64, now: i64, tokens: i64) -> Duration {
        let missing = self.step().saturating_mul(tokens);
        let wait = full_at.max(now).saturating_add(missing).saturating_sub(now.saturating_add(self.room()));
        Duration::from_micros(u64::try_from(wait).unwrap_or(0))
    }

    /// Time to refill an empty bucket, in whole seconds.
    pub fn window_seconds(&self) -> u64 {
        Duration::from_micros(self.room().unsigned_abs()).as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
    }
}

/// The decision of a rate limit about one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Decision {
    pub limit: crate::limit::Limit,
    pub rate: Rate,
    /// Tokens left, as this node knows the bucket.
    pub remaining: u32,
    /// Time until the next event can pass, if this one is refused.
    pub retry_after: Option<Duration>,
}

impl Decision {
    /// Whether the event may happen.
    pub fn allowed(&self) -> bool {
        self.retry_after.is_none()
    }

    /// Whole seconds to wait, at least one, if the event is refused.
    pub fn retry_seconds(&self) -> Option<u64> {
        self.retry_after.map(|wait| (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1))
    }

    /// Whole seconds until the bucket is full again or, if the event is refused, until the next one can pass.
    pub fn reset_seconds(&self) -> u64 {
        let spent = self.rate.burst.get().saturating_sub(self.remaining);
        let full = Duration::from_micros(self.rate.step().unsigned_abs().saturating_mul(spent.into()));
        self.retry_seconds().unwrap_or(full.as_secs() + u64::from(full.subsec_nanos() > 0))
    }
}
