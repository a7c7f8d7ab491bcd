//! Limits failed sign-ins to the console on this node. Secrets are random, so guessing is hopeless; the limits keep guessing cheap
//! for the service.

use std::num::NonZeroU32;
use std::time::Duration;

use chancery_domain::Timestamp;
use chancery_overload::{Limit, LocalRateLimiter, Rate, client_network};

/// Failures are spread over this time.
const WINDOW: Duration = Duration::from_secs(5 * 60);
/// Failures for one client from one network.
const MAX_PER_CLIENT: NonZeroU32 = NonZeroU32::new(10).expect("not zero");
/// Failures from one network.
const MAX_PER_NETWORK: NonZeroU32 = NonZeroU32::new(100).expect("not zero");

pub(super) struct LoginThrottle {
    per_client: LocalRateLimiter,
    per_network: LocalRateLimiter,
}

/// The limit that refuses a sign-in, and how long it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Throttled {
    pub(super) limit: Limit,
    pub(super) wait: Duration,
}

impl Default for LoginThrottle {
    fn default() -> Self {
        let limiter = |limit: Limit, max| LocalRateLimiter::new(limit.as_str(), Rate::new(max, WINDOW));
        Self {
            per_client: limiter(Limit::SignInsPerClient, MAX_PER_CLIENT),
            per_network: limiter(Limit::SignInsPerAddress, MAX_PER_NETWORK),
        }
    }
}

impl LoginThrottle {
    /// Refuses an attempt after too many failures; takes nothing.
    pub(super) fn check(&self, address: &str, client: &str, now: Timestamp) -> Result<(), Throttled> {
        let network = client_network(address);
        let refused = |limit, wait: Option<Duration>| wait.map_or(Ok(()), |wait| Err(Throttled { limit, wait }));
        refused(Limit::SignInsPerClient, self.per_client.wait(&per_client_key(&network, client), now))?;
        refused(Limit::SignInsPerAddress, self.per_network.wait(&network, now))
    }

    /// Counts a failed attempt.
    pub(super) fn failed(&self, address: &str, client: &str, now: Timestamp) {
        let network = client_network(address);
        self.per_client.take(&per_client_key(&network, client), now);
        self.per_network.take(&network, now);
    }
}

fn per_client_key(network: &str, client: &str) -> String {
    format!("{network}\0{client}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_failures_for_one_client_block_it_and_no_other() {
        let (throttle, now) = (LoginThrottle::default(), Timestamp::from_secs(1_000));
        for _ in 0..10 {
            assert_eq!(throttle.check("192.0.2.1", "cli_1", now), Ok(()));
            throttle.failed("192.0.2.1", "cli_1", now);
        }
        let wait = Duration::from_secs(30);
        assert_eq!(throttle.check("192.0.2.1", "cli_1", now), Err(Throttled { limit: Limit::SignInsPerClient, wait }));
        assert_eq!(throttle.check("192.0.2.1", "cli_2", now), Ok(()));
        assert_eq!(throttle.check("192.0.2.2", "cli_1", now), Ok(()));
        assert_eq!(throttle.check("192.0.2.1", "cli_1", now.plus(wait)), Ok(()));
    }

    #[test]
    fn a_network_that_fails_for_many_clients_is_blocked_for_all() {
        let (throttle, now) = (LoginThrottle::default(), Timestamp::from_secs(1_000));
        for number in 0..100 {
            // One host has all addresses of its /64.
            throttle.failed(&format!("2001:db8::{number}"), &format!("cli_{number}"), now);
        }
        let refused = throttle.check("2001:db8::ffff", "cli_new", now).unwrap_err();
        assert_eq!(refused.limit, Limit::SignInsPerAddress);
        assert_eq!(throttle.check("2001:db8:0:1::1", "cli_new", now), Ok(()));
    }
}
