//! Durable single-row writes: each is on the disk before its writer goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_bench::{print_table, ratio};
use chancery_store::{Options, Store};
use chancery_testkit::{Builders, TestStore};

use crate::Plan;

const WRITERS: [usize; 3] = [1, 16, 64];

/// With group commit and with a commit for each, in turns, so that both meet the same disk.
pub(crate) async fn sqlite(plan: Plan) {
    println!("SQLite, durable single-row writes per second");
    let options = |group| Options { group, ..Options::default() };
    let (grouped, alone) = (TestStore::sqlite_with(&options(256)), TestStore::sqlite_with(&options(1)));
    let make = Arc::new(Builders::seeded(1));
    let mut rows = Vec::new();
    for writers in WRITERS {
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..rounds(plan) {
            for (store, rates) in [&grouped, &alone].into_iter().zip(&mut rates) {
                rates.push(rate(store, &make, writers, plan).await);
            }
        }
        let [grouped, alone] = rates.map(median);
        let cells = [writers.to_string(), format!("{grouped:.0}"), format!("{alone:.0}"), ratio(grouped, alone)];
        rows.push(cells.to_vec());
    }
    print_table(&["writers", "group commit", "a commit each", "ratio"], &rows);
}

/// PostgreSQL groups commits by itself.
pub(crate) async fn postgres(plan: Plan) {
    let Some(store) = TestStore::postgres() else { return };
    println!("PostgreSQL, durable single-row writes per second");
    let make = Arc::new(Builders::seeded(1));
    let mut rows = Vec::new();
    for writers in WRITERS {
        let mut rates = Vec::new();
        for _ in 0..rounds(plan) {
            rates.push(rate(&store, &make, writers, plan).await);
        }
        rows.push(vec![writers.to_string(), format!("{:.0}", median(rates))]);
    }
    print_table(&["writers", "8 connections"], &rows);
}

/// Writers that each add a line to the audit trail, wait for its commit, and add the next.
async fn rate(store: &Store, make: &Arc<Builders>, writers: usize, plan: Plan) -> f64 {
    let length = if plan.quick { Duration::from_millis(300) } else { Duration::from_secs(2) };
    let started = Instant::now();
    let running: Vec<_> = (0..writers)
        .map(|_| {
            let (store, make) = (store.clone(), Arc::clone(make));
            tokio::spawn(async move {
                let mut written = 0_u32;
                while started.elapsed() < length {
                    let record = make.audit(None, "bench");
                    store.write(move |tx| tx.append_audit(&record)).await.unwrap();
                    written += 1;
                }
                written
            })
        })
        .collect();
    let mut written = 0;
    for writer in running {
        written += writer.await.unwrap();
    }
    f64::from(written) / started.elapsed().as_secs_f64()
}

fn rounds(plan: Plan) -> usize {
    if plan.quick { 1 } else { 5 }
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    rates[rates.len() / 2]
}
