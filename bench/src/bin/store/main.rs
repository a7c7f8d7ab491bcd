//! Measures the store: durable writes with and without group commit, and how lists fare as the tables grow.
//!
//! `cargo run --release -p chancery-bench --bin store -- [--quick] [--writes | --lists] [--sqlite | --postgres]
//! [--accounts N]`
//!
//! Both databases, PostgreSQL where `CHANCERY_TEST_POSTGRES` names a server.

#![allow(clippy::unwrap_used, reason = "what fails here ends the measurement")]

mod lists;
mod load;
mod writes;

use chancery_testkit::TestStore;

/// What was asked for on the command line.
#[derive(Clone, Copy)]
struct Plan {
    /// Fewer samples and a smaller large database: to see that all works, not to publish.
    quick: bool,
    writes: bool,
    lists: bool,
    sqlite: bool,
    postgres: bool,
    /// Accounts in the large database.
    accounts: usize,
}

fn main() {
    let Some(plan) = Plan::from_arguments(std::env::args().skip(1)) else {
        eprintln!("usage: store [--quick] [--writes | --lists] [--sqlite | --postgres] [--accounts N]");
        std::process::exit(2);
    };
    if cfg!(debug_assertions) {
        println!("This is a debug build: its figures say nothing. Use --release.\n");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        if plan.writes && plan.sqlite {
            writes::sqlite(plan).await;
        }
        if plan.writes && plan.postgres {
            writes::postgres(plan).await;
        }
        if plan.lists && plan.sqlite {
            lists::measure("SQLite", plan, TestStore::sqlite(), TestStore::sqlite()).await;
        }
        if plan.lists
            && plan.postgres
            && let (Some(small), Some(large)) = (TestStore::postgres(), TestStore::postgres())
        {
            lists::measure("PostgreSQL", plan, small, large).await;
        }
    });
}

impl Plan {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut plan = Self { quick: false, writes: true, lists: true, sqlite: true, postgres: true, accounts: 0 };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => plan.quick = true,
                "--writes" => plan.lists = false,
                "--lists" => plan.writes = false,
                "--sqlite" => plan.postgres = false,
                "--postgres" => plan.sqlite = false,
                "--accounts" => plan.accounts = arguments.next()?.parse().ok()?,
                _ => return None,
            }
        }
        if plan.accounts == 0 {
            plan.accounts = if plan.quick { 100_000 } else { 1_000_000 };
        }
        Some(plan)
    }
}
