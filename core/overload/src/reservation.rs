//! Tokens set aside while it is not known yet whether a request has to pay.
//!
//! A request whose sender is unknown must find a token before any work is done for it, and returns the token if another rate turns
//! out to apply. A reservation is local to its node and never waits for the shared store. If it is dropped without
//! [`Reservation::release`], it costs the token, so a client cannot avoid the charge by hanging up.

use crate::limit::Limit;
use crate::rate::{Decision, Rate};
use crate::rate_limits::{Key, RateLimits, bucket_key};

/// A token that is set aside until the reservation is released or dropped.
#[must_use]
pub struct Reservation {
    limits: RateLimits,
    limit: Limit,
    rate: Rate,
    slot: Key,
    is_free: bool,
}

impl RateLimits {
    /// Sets a token aside, or returns the refusal. `None` means that no such rate is configured.
    pub fn reserve(&self, limit: Limit, key: &str) -> Result<Option<Reservation>, Decision> {
        let Some(rate) = self.settings().rate(limit) else { return Ok(None) };
        match self.inner.tables.of(limit).reserve(bucket_key(limit.as_str(), key), &rate, self.now()) {
            Ok(slot) => Ok(Some(Reservation { limits: self.clone(), limit, rate, slot, is_free: false })),
            Err(wait) => Err(Decision { limit, rate, remaining: 0, retry_after: Some(wait) }),
        }
    }
}

impl Reservation {
    /// Returns the token: the request does not count against this limit.
    pub fn release(mut self) {
        self.is_free = true;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let buckets = self.limits.inner.tables.of(self.limit);
        match self.is_free {
            true => buckets.release(self.slot),
            false => buckets.spend(self.slot, &self.rate, self.limits.now()),
        }
    }
}
