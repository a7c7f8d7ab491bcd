//! Randomness that is handed in, so that tests can seed it.

use uuid::{Builder, Uuid};

use crate::time::Timestamp;

/// A source of cryptographically strong random bytes.
pub trait Entropy: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);
}

impl dyn Entropy + '_ {
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// A UUID that sorts by creation and keeps 74 random bits (RFC 9562 section 5.7).
    pub fn uuid_v7(&self, now: Timestamp) -> Uuid {
        let millis = u64::try_from(now.as_millis()).unwrap_or(0);
        Builder::from_unix_timestamp_millis(millis, &self.bytes()).into_uuid()
    }

    /// A random UUID (RFC 9562 section 5.4).
    pub fn uuid_v4(&self) -> Uuid {
        Builder::from_random_bytes(self.bytes()).into_uuid()
    }
}
