//! Everybody in turns, where each is at its best: the machine is another from minute to minute, and they have the same minutes.

use std::path::Path;

use chancery_bench::print_table;
use serde_json::Value;

use crate::contender::Contender;

const SECONDS: u64 = 4;

pub(crate) fn take_turns(contenders: &[Contender], binary: &Path, turns: u32) {
    let turn = || -> Option<Vec<Value>> {
        let round = |contender: &Contender| {
            let round = contender.round(binary, contender.best_at, SECONDS);
            if round.is_none() {
                println!("{} came to a standstill", contender.name);
            }
            round
        };
        contenders.iter().map(round).collect()
    };
    // Once without counting: accounts are made, files grow to their size, caches fill.
    let warm = turn();
    let turns: Vec<Vec<Value>> = warm.into_iter().flat_map(|_| (0..turns).map_while(|_| turn())).collect();
    if turns.is_empty() {
        return;
    }
    let of = |which: usize, column: &str| turns.iter().map(|turn| number(&turn[which], column)).collect::<Vec<_>>();
    println!(
        "In turns of {SECONDS} s, the middle of {}; how many times as fast as the others, the middle of each turn's",
        turns.len()
    );
    let mut heading = vec!["", "in flight", "a second", "p50 ms", "p99 ms", "cpu ms each", "failed"];
    let against: Vec<String> = contenders.iter().map(|contender| format!("/ {}", contender.name)).collect();
    heading.extend(against.iter().map(String::as_str));
    let rows: Vec<Vec<String>> = contenders
        .iter()
        .enumerate()
        .map(|(which, contender)| {
            let mut row = vec![contender.name.to_owned(), contender.best_at.to_owned()];
            row.extend(
                ["per_second", "p50_ms", "p99_ms", "cpu_ms_each"].map(|column| shown(median(of(which, column)))),
            );
            row.push(of(which, "failed").iter().sum::<f64>().to_string());
            row.extend((0..contenders.len()).map(|other| {
                let ratios =
                    of(which, "per_second").into_iter().zip(of(other, "per_second")).map(|(one, other)| one / other);
                format!("{:.2}", median(ratios.collect()))
            }));
            row
        })
        .collect();
    print_table(&heading, &rows);
}

fn number(round: &Value, column: &str) -> f64 {
    round[column].as_f64().unwrap_or(f64::NAN)
}

fn shown(number: f64) -> String {
    if number < 10.0 { format!("{number:.2}") } else { format!("{number:.0}") }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures[figures.len() / 2]
}
