//! Randomness that repeats, so that a test gives the same answer twice.

use std::sync::atomic::{AtomicU64, Ordering};

use chancery_domain::Entropy;

/// The same bytes for the same seed. They look random and are none: whoever knows the seed knows them all.
#[derive(Debug)]
pub struct SeededEntropy(AtomicU64);

impl SeededEntropy {
    pub fn new(seed: u64) -> Self {
        // Mixed once, so that neighbouring seeds do not give overlapping streams.
        Self(AtomicU64::new(mix(seed)))
    }

    /// The next number of the stream.
    pub fn number(&self) -> u64 {
        // The counter of SplitMix64 (Steele, Lea and Flood, 2014): an odd step, so it visits every state.
        mix(self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.number().to_le_bytes()[..chunk.len()]);
        }
    }
}

fn mix(mut state: u64) -> u64 {
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_seed_decides_and_nothing_else() {
        let draw = |seed| {
            let entropy = SeededEntropy::new(seed);
            let (mut first, mut second) = ([0; 21], [0; 21]);
            entropy.fill(&mut first);
            entropy.fill(&mut second);
            assert_ne!(first, second);
            (first, second)
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn neighbouring_seeds_do_not_overlap() {
        let drawn: HashSet<_> =
            (0..100).map(SeededEntropy::new).flat_map(|entropy| (0..100).map(move |_| entropy.number())).collect();
        assert_eq!(drawn.len(), 100 * 100);
    }
}
