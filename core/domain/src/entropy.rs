//! Randomness that is handed in, so that tests can seed it.

use std::sync::atomic::{AtomicU64, Ordering};

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

    /// A UUID that sorts by creation, within one process even in the same millisecond, and keeps 62 random bits
    /// (RFC 9562 section 5.7).
    pub fn uuid_v7(&self, now: Timestamp) -> Uuid {
        let millis = u64::try_from(now.as_millis()).unwrap_or(0);
        let mut bytes: [u8; 10] = self.bytes();
        let turn = turn(millis, u16::from_be_bytes([bytes[0], bytes[1]])).to_be_bytes();
        bytes[..2].copy_from_slice(&turn);
        Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
    }

    /// A random UUID (RFC 9562 section 5.4).
    pub fn uuid_v4(&self) -> Uuid {
        Builder::from_random_bytes(self.bytes()).into_uuid()
    }
}

/// The 12 bits after the time: a counter that starts anywhere in the lower half with each millisecond (RFC 9562 section
/// 6.2, method 1). A millisecond in which it comes round has had 2048 ids, and its order is lost, not its uniqueness.
fn turn(millis: u64, random: u16) -> u16 {
    // One for the process, as what it puts in order are the ids of the process, whoever drew them.
    static LAST: AtomicU64 = AtomicU64::new(0);
    let next = |last: u64| {
        let same = last >> 12 == millis && last & 0xfff != 0xfff;
        Some(if same { last + 1 } else { millis << 12 | u64::from(random & 0x7ff) })
    };
    let (Ok(last) | Err(last)) = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    next(last).map_or(random, |turn| (turn & 0xfff) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Falling(AtomicU64);

    impl Entropy for Falling {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0.fetch_sub(1, Ordering::Relaxed) as u8);
        }
    }

    #[test]
    fn ids_of_one_millisecond_sort_as_they_were_drawn() {
        let entropy: &dyn Entropy = &Falling(AtomicU64::new(u64::MAX));
        // A time of its own: tests in other threads draw ids too.
        let now = Timestamp::from_millis(1_999_999_999_999);
        let drawn: Vec<_> = (0..1000).map(|_| entropy.uuid_v7(now)).collect();
        assert!(drawn.is_sorted(), "later ids are greater");
        assert!(drawn.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(drawn.iter().all(|id| id.get_version_num() == 7 && id.as_bytes()[8] >> 6 == 0b10));
        assert!(entropy.uuid_v7(Timestamp::from_millis(2_000_000_000_000)) > drawn[999]);
    }
}
