//! Request rates: a token bucket for each key, and the headers that tell clients how theirs stands.

use std::{
    hash::{BuildHasher, Hash, RandomState},
    num::NonZeroU32,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

use chancery_wire::ErrorCode;
use governor::{
    Quota,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
    state::keyed::DashMapStateStore,
};
use http::{HeaderMap, HeaderName, HeaderValue, header::RETRY_AFTER};

use crate::error::ApiError;

/// What is granted (draft-ietf-httpapi-ratelimit-headers: `q` requests in a window of `w` seconds).
const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// What is left of it (the same: `r` requests, for the next `t` seconds).
const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
const LIMITED: &str = "chancery_http_rate_limited_total";

/// Keys that are remembered before the idle ones are forgotten.
const MAX_KEYS: usize = 100_000;
/// How many checks pass between two looks at the number of keys.
const CHECKS_BETWEEN_LOOKS: u32 = 256;
/// Buckets that all keys share while too many keys are busy at once.
const SHARED_BUCKETS: u64 = 1024;

type Buckets<C> = governor::RateLimiter<u64, DashMapStateStore<u64>, C, StateInformationMiddleware>;

/// A token bucket for each key: so many requests a second, and so many at once.
///
/// Memory is bounded whatever keys come: an idle key is forgotten, and while too many are busy at once, keys share
/// buckets.
pub struct RateLimiter<C: Clock + Clone = DefaultClock> {
    buckets: Buckets<C>,
    clock: C,
    per_second: NonZeroU32,
    burst: NonZeroU32,
    max_keys: usize,
    /// Keys are remembered by their hash: an attacker who cannot guess the hasher's secret cannot make two of them meet.
    hasher: RandomState,
    checks: AtomicU32,
    crowded: AtomicBool,
}

/// What a limiter says of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Decision {
    /// For a refused request, how long to wait before the next can pass.
    pub retry_after: Option<Duration>,
    /// How many more requests can pass at once.
    pub remaining: u32,
    per_second: NonZeroU32,
    burst: NonZeroU32,
}

impl RateLimiter {
    /// A limiter that lets `burst` requests pass at once for each key, and `per_second` in the long run.
    pub fn new(per_second: NonZeroU32, burst: NonZeroU32) -> Self {
        Self::with_clock(per_second, burst, DefaultClock::default(), MAX_KEYS)
    }
}

impl<C: Clock + Clone> RateLimiter<C> {
    fn with_clock(per_second: NonZeroU32, burst: NonZeroU32, clock: C, max_keys: usize) -> Self {
        let quota = Quota::per_second(per_second).allow_burst(burst);
        let buckets = Buckets::new(quota, DashMapStateStore::default(), clock.clone());
        let (hasher, checks, crowded) = (RandomState::new(), AtomicU32::new(0), AtomicBool::new(false));
        Self { buckets, clock, per_second, burst, max_keys, hasher, checks, crowded }
    }

    /// Takes a token from the key's bucket, if there is one.
    pub fn check(&self, key: impl Hash) -> Decision {
        self.look_after_keys();
        let mut slot = self.hasher.hash_one(key);
        if self.crowded.load(Ordering::Relaxed) {
            slot %= SHARED_BUCKETS;
        }
        let (retry_after, remaining) = match self.buckets.check_key(&slot) {
            Ok(snapshot) => (None, snapshot.remaining_burst_capacity()),
            Err(refused) => (Some(refused.wait_time_from(self.clock.now())), 0),
        };
        Decision { retry_after, remaining, per_second: self.per_second, burst: self.burst }
    }

    fn look_after_keys(&self) {
        if !self.checks.fetch_add(1, Ordering::Relaxed).is_multiple_of(CHECKS_BETWEEN_LOOKS) {
            return;
        }
        if self.buckets.len() > self.max_keys {
            self.buckets.retain_recent();
            self.buckets.shrink_to_fit();
        }
        self.crowded.store(self.buckets.len() > self.max_keys, Ordering::Relaxed);
    }
}

impl Decision {
    /// Whether the request may go on.
    pub fn allowed(&self) -> bool {
        self.retry_after.is_none()
    }

    /// Puts `RateLimit-Policy` and `RateLimit` on a response, and `Retry-After` on a refusal.
    pub fn apply(&self, headers: &mut HeaderMap) {
        let window = self.burst.get().div_ceil(self.per_second.get());
        insert(headers, RATELIMIT_POLICY, &format!("\"default\";q={};w={window}", self.burst));
        // Until the bucket is full again; for a refusal, as `Retry-After`, until one request can pass.
        let spent = self.burst.get().saturating_sub(self.remaining);
        let reset = self.retry_seconds().unwrap_or(u64::from(spent.div_ceil(self.per_second.get())));
        insert(headers, RATELIMIT, &format!("\"default\";r={};t={reset}", self.remaining));
        if let Some(seconds) = self.retry_seconds() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
    }

    /// Refuses the request unless it may go on: 429 `rate_limited` with its headers.
    pub fn or_refuse(&self) -> Result<(), ApiError> {
        let Some(seconds) = self.retry_seconds() else { return Ok(()) };
        metrics::counter!(LIMITED).increment(1);
        let mut headers = HeaderMap::new();
        self.apply(&mut headers);
        let message = format!("Too many requests; {} a second are granted. Try again in {seconds} s.", self.per_second);
        let error = ApiError::too_many(ErrorCode::RateLimited, message, seconds);
        Err(headers.into_iter().fold(error, |error, (name, value)| match name {
            Some(name) => error.with_header(name, value),
            None => error,
        }))
    }

    /// Whole seconds, at least one: a client that waits so long will pass.
    fn retry_seconds(&self) -> Option<u64> {
        self.retry_after.map(|wait| (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1))
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, text: &str) {
    headers.insert(name, HeaderValue::from_str(text).expect("digits and ASCII punctuation only"));
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn limiter(per_second: u32, burst: u32, max_keys: usize) -> (RateLimiter<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        let number = |n| NonZeroU32::new(n).unwrap();
        (RateLimiter::with_clock(number(per_second), number(burst), clock.clone(), max_keys), clock)
    }

    fn headers(decision: Decision) -> (String, String) {
        let mut headers = HeaderMap::new();
        decision.apply(&mut headers);
        let text = |name| headers[name].to_str().unwrap().to_owned();
        (text("ratelimit-policy"), text("ratelimit"))
    }

    #[test]
    fn a_burst_passes_then_the_rate() {
        let (limiter, clock) = limiter(50, 200, 1000);
        for n in 0..200 {
            let decision = limiter.check("DEMO");
            assert!(decision.allowed());
            assert_eq!(decision.remaining, 199 - n);
        }
        assert!(!limiter.check("DEMO").allowed());
        assert!(limiter.check("OTHER").allowed(), "keys do not share a bucket");
        clock.advance(Duration::from_secs(1));
        assert_eq!((0..100).filter(|_| limiter.check("DEMO").allowed()).count(), 50);
    }

    #[test]
    fn the_headers_tell_how_the_bucket_stands() {
        let (limiter, _) = limiter(50, 200, 1000);
        let first = headers(limiter.check("a"));
        assert_eq!(first, (r#""default";q=200;w=4"#.into(), r#""default";r=199;t=1"#.into()));
        for _ in 0..198 {
            assert!(limiter.check("a").allowed());
        }
        assert_eq!(headers(limiter.check("a")).1, r#""default";r=0;t=4"#);
        assert_eq!(headers(limiter.check("a")).1, r#""default";r=0;t=1"#);
    }

    #[test]
    fn a_refusal_says_when_to_come_again() {
        let (limiter, clock) = limiter(1, 1, 1000);
        assert!(limiter.check("a").or_refuse().is_ok());
        let response = limiter.check("a").or_refuse().unwrap_err().into_response();
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "1");
        assert_eq!(response.headers()["ratelimit"], r#""default";r=0;t=1"#);
        clock.advance(Duration::from_secs(1));
        assert!(limiter.check("a").allowed());
    }

    #[test]
    fn idle_keys_are_forgotten_and_busy_ones_share_in_the_end() {
        let (limiter, clock) = limiter(1, 4, 1000);
        for key in 0..1000 {
            let _ = limiter.check(key);
        }
        clock.advance(Duration::from_secs(60));
        for key in 1000..2000 {
            let _ = limiter.check(key);
        }
        assert!(limiter.buckets.len() <= 1000 + 256, "{}", limiter.buckets.len());
        for key in 0..100_000 {
            let _ = limiter.check(key);
        }
        assert!(limiter.buckets.len() <= 1000 + 256 + 1024, "{}", limiter.buckets.len());
        clock.advance(Duration::from_secs(600));
        for _ in 0..512 {
            let _ = limiter.check("calm");
        }
        assert!(limiter.buckets.len() < 10, "{}", limiter.buckets.len());
    }
}
