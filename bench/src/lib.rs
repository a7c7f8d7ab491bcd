//! What benchmarks share: samples of time, and how they are shown.

use std::time::Duration;

/// How long the same thing took, again and again.
#[derive(Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    pub fn push(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// The time that this share of the samples did not exceed: 0.5 is the median.
    ///
    /// # Panics
    /// When there is no sample.
    pub fn quantile(&mut self, share: f64) -> Duration {
        self.0.sort_unstable();
        let place = (self.0.len() as f64 * share).ceil() as usize;
        self.0[place.clamp(1, self.0.len()) - 1]
    }
}

/// One in so many: `1.23x`.
pub fn ratio(of: f64, to: f64) -> String {
    format!("{:.2}x", of / to)
}

/// Microseconds, as wide as the others.
pub fn micros(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1e6)
}

/// Prints columns: the first to the left, the others to the right.
pub fn print_table(heading: &[&str], rows: &[Vec<String>]) {
    let lines = || std::iter::once(heading.iter().map(ToString::to_string).collect()).chain(rows.iter().cloned());
    let widths: Vec<usize> = (0..heading.len())
        .map(|column| lines().map(|line: Vec<String>| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    for line in lines() {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        println!("  {}", cells.collect::<Vec<_>>().join("  "));
    }
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_sample_that_so_many_did_not_exceed() {
        let mut samples = Samples::default();
        for millis in (1..=100).rev() {
            samples.push(Duration::from_millis(millis));
        }
        let quantiles = [0.0, 0.5, 0.99, 1.0].map(|share| samples.quantile(share).as_millis());
        assert_eq!(quantiles, [1, 50, 99, 100]);
    }
}
