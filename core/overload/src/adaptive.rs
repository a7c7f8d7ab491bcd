//! A concurrency limit that follows latency: it shrinks by a tenth while new work takes too long to accept, and grows by an eighth
//! while it does not. So it finds what the machine and its database can do.

use std::time::{Duration, Instant};

/// The limit never falls below this.
const MIN: usize = 128;
/// Accepting new work should take less.
const TARGET_LATENCY: Duration = Duration::from_millis(150);
/// Time between two adjustments. A burst is served before the limit has shrunk much.
const ADJUST_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct AdaptiveLimit {
    max: usize,
    limit: usize,
    latency_ewma: Duration,
    adjusted_at: Option<Instant>,
}

impl AdaptiveLimit {
    pub(crate) fn new(max: usize) -> Self {
        Self { max, limit: max, latency_ewma: Duration::ZERO, adjusted_at: None }
    }

    /// Whether a tenant with `mine` of all requests `in_flight` may start one more: the limit is not reached, or the tenant has less
    /// than its max-min fair share. A tenant that needs less than an even share leaves the rest to the others.
    pub(crate) fn admits(&self, mine: usize, in_flight: impl Iterator<Item = usize> + Clone) -> bool {
        if in_flight.clone().sum::<usize>() < self.limit {
            return true;
        }
        let mut counts: Vec<_> = in_flight.collect();
        counts.sort_unstable();
        let mut left = self.limit;
        let mut sharing = counts.len();
        let mut share = self.limit;
        for count in counts {
            share = left / sharing;
            if count >= share {
                break;
            }
            left -= count;
            sharing -= 1;
        }
        mine < share.max(1)
    }

    /// Records how long it took to accept new work. A single extreme value counts as four times the target.
    pub(crate) fn observe(&mut self, latency: Duration, now: Instant) {
        self.latency_ewma = (self.latency_ewma * 7 + latency.min(TARGET_LATENCY * 4)) / 8;
        if self.adjusted_at.is_some_and(|at| now.duration_since(at) < ADJUST_INTERVAL) {
            return;
        }
        self.limit = match (self.latency_ewma < TARGET_LATENCY, latency < TARGET_LATENCY) {
            (true, _) => (self.limit + self.limit / 8 + 1).min(self.max),
            (false, false) => (self.limit * 9 / 10).max(MIN.min(self.max)),
            // The average is high and falling.
            (false, true) => return,
        };
        self.adjusted_at = Some(now);
    }

    /// Forgets all observations.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.max);
    }

    /// Whether the limit was adjusted since the last reset.
    pub(crate) fn is_adjusted(&self) -> bool {
        self.adjusted_at.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observes the same latency several times, ten milliseconds apart.
    fn observe(limit: &mut AdaptiveLimit, from: Instant, times: u32, latency: Duration) -> Instant {
        let at = |time| from + Duration::from_millis(10) * time;
        (1..=times).for_each(|time| limit.observe(latency, at(time)));
        at(times)
    }

    #[test]
    fn the_limit_shrinks_under_high_latency_and_grows_under_low_latency() {
        let (mut adaptive, now) = (AdaptiveLimit::new(1000), Instant::now());
        let now = observe(&mut adaptive, now, 40, TARGET_LATENCY * 2);
        assert!((600..1000).contains(&adaptive.limit), "a burst passes: {}", adaptive.limit);
        let now = observe(&mut adaptive, now, 1000, TARGET_LATENCY * 2);
        assert_eq!(adaptive.limit, MIN);
        let now = observe(&mut adaptive, now, 50, TARGET_LATENCY / 2);
        assert!((MIN + 20..MIN * 2).contains(&adaptive.limit), "{}", adaptive.limit);
        observe(&mut adaptive, now, 300, TARGET_LATENCY / 2);
        assert_eq!(adaptive.limit, 1000);
        observe(&mut adaptive, now, 1000, TARGET_LATENCY * 2);
        adaptive.reset();
        assert!(adaptive.limit == 1000 && !adaptive.is_adjusted());
    }

    #[test]
    fn one_extreme_latency_changes_little() {
        let (mut adaptive, now) = (AdaptiveLimit::new(1000), Instant::now());
        let now = observe(&mut adaptive, now, 10, TARGET_LATENCY / 10);
        let now = observe(&mut adaptive, now, 1, TARGET_LATENCY * 1000);
        observe(&mut adaptive, now, 100, TARGET_LATENCY / 10);
        assert_eq!(adaptive.limit, 1000);
    }

    #[test]
    fn a_fast_request_does_not_shrink_the_limit() {
        let (mut adaptive, now) = (AdaptiveLimit::new(1000), Instant::now());
        let now = observe(&mut adaptive, now, 10, TARGET_LATENCY * 4);
        let before = adaptive.limit;
        assert!(adaptive.latency_ewma > TARGET_LATENCY);
        adaptive.observe(TARGET_LATENCY / 10, now + ADJUST_INTERVAL);
        assert_eq!(adaptive.limit, before);
    }

    #[test]
    fn a_small_limit_is_never_adjusted() {
        let mut adaptive = AdaptiveLimit::new(8);
        observe(&mut adaptive, Instant::now(), 1000, TARGET_LATENCY * 2);
        assert_eq!(adaptive.limit, 8);
    }

    #[test]
    fn at_the_limit_only_tenants_below_their_fair_share_are_admitted() {
        let adaptive = AdaptiveLimit::new(100);
        let admits = |mine, others: &[usize]| {
            let all = others.iter().copied().chain((mine > 0).then_some(mine));
            adaptive.admits(mine, all)
        };
        assert!(admits(99, &[]) && !admits(100, &[]));
        assert!(admits(0, &[100]) && admits(49, &[101]));
        assert!(!admits(50, &[100]) && !admits(100, &[50]));
        assert!(admits(40, &[10, 70]) && !admits(55, &[10, 70]), "a small tenant leaves the rest of its share");
        assert!(admits(0, &[2; 500]) && !admits(1, &[2; 500]));
    }
}
