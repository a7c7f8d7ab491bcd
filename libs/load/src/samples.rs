//! Samples of time.

use std::time::Duration;

/// How long the same thing took, again and again.
#[derive(Debug, Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// One more.
    pub fn push(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// Those of another as well.
    pub fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Duration> {
        self.0.iter().copied()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The time that this share of the samples did not exceed: 0.5 is the median. Nothing where there is no sample.
    pub fn quantile(&mut self, share: f64) -> Duration {
        self.0.sort_unstable();
        let place = (self.0.len() as f64 * share).ceil() as usize;
        let place = place.clamp(1, self.0.len().max(1)) - 1;
        self.0.get(place).copied().unwrap_or_default()
    }
}

impl Extend<Duration> for Samples {
    fn extend<I: IntoIterator<Item = Duration>>(&mut self, more: I) {
        self.0.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_sample_that_so_many_did_not_exceed() {
        let mut samples = Samples::default();
        assert_eq!(samples.quantile(0.5), Duration::ZERO);
        samples.extend((1..=100).rev().map(Duration::from_millis));
        let quantiles = [0.0, 0.5, 0.99, 1.0].map(|share| samples.quantile(share).as_millis());
        assert_eq!(quantiles, [1, 50, 99, 100]);
    }
}
