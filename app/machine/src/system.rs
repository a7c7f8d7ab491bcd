//! The system's clock and randomness: the only place that asks for them.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand;
use chancery_domain::{Clock, Entropy, Timestamp};

/// The clock of the machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "everything else takes the time from here")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The randomness of aws-lc, which the operating system seeds.
#[derive(Clone, Copy, Debug)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        rand::fill(bytes).expect("aws-lc's randomness does not fail");
    }
}
