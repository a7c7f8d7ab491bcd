//! What benchmarks share: the program under measurement, and how figures are shown.

#![allow(clippy::unwrap_used, reason = "what fails here ends the measurement")]

mod server;

use std::time::Duration;

pub use chancery_load::Samples;
pub use server::Server;

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
