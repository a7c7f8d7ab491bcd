//! Measures order to certificate over the reseller API: how many a second, what each costs, and where the time goes.
//!
//! `cargo build --release && cargo run --release -p chancery-bench --bin issue -- [--quick] [--sqlite | --postgres]
//! [--binary PATH]`
//!
//! Starts the program that was built, in `dev`, on a database of its own, and plays the resellers and their customers'
//! web servers: account, order, codes, http-01 on loopback, finalize, download. Both databases, PostgreSQL where
//! `CHANCERY_TEST_POSTGRES` names a server.

#![allow(clippy::unwrap_used, reason = "what fails here ends the measurement")]

mod cost;
mod flow;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chancery_bench::{Samples, Server, print_table};
use chancery_load::Responder;
use chancery_testkit::postgres::TestDatabase;
use tokio::task::JoinSet;

use cost::Cost;
use flow::Customer;

const IN_FLIGHT: [usize; 3] = [1, 16, 64];

struct Plan {
    seconds: u64,
    sqlite: bool,
    postgres: bool,
    binary: PathBuf,
}

fn main() {
    let Some(plan) = Plan::from_arguments(std::env::args().skip(1)) else {
        eprintln!("usage: issue [--quick] [--sqlite | --postgres] [--binary PATH]");
        std::process::exit(2);
    };
    // Made and dropped outside of the runtime: its driver blocks.
    let database = if plan.postgres { TestDatabase::create() } else { None };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        if plan.sqlite {
            measure("SQLite", &plan, None).await;
        }
        if let Some(database) = &database {
            measure("PostgreSQL", &plan, Some(database.url())).await;
        }
    });
}

async fn measure(name: &str, plan: &Plan, database: Option<&str>) {
    let pages = Responder::start(0, false).await.unwrap();
    let server = Server::start(&plan.binary, pages.port(), database).await;
    println!("{name}, order to certificate over the reseller API, http-01 on loopback, {} s each", plan.seconds);
    let (mut rates, mut shares) = (Vec::new(), Vec::new());
    for in_flight in IN_FLIGHT {
        let Round { issued, took, mut latencies, cost } = round(&server, &pages, in_flight, plan.seconds).await;
        let each = |seconds: f64| format!("{:.2}", seconds * 1000.0 / issued as f64);
        rates.push(vec![
            in_flight.to_string(),
            issued.to_string(),
            format!("{:.1}", issued as f64 / took.as_secs_f64()),
            format!("{:.0}", latencies.quantile(0.5).as_secs_f64() * 1e3),
            format!("{:.0}", latencies.quantile(0.99).as_secs_f64() * 1e3),
            each(cost.cpu),
        ]);
        let share = |seconds: f64| format!("{} ({:.0} %)", each(seconds), 100.0 * seconds / cost.cpu);
        shares.push(vec![
            in_flight.to_string(),
            share(cost.store_cpu),
            share(cost.crypto),
            share(cost.cpu - cost.store_cpu - cost.crypto),
            each(cost.store_wait),
            each(cost.validation),
        ]);
    }
    print_table(&["in flight", "certificates", "a second", "p50 ms", "p99 ms", "CPU ms each"], &rates);
    println!("  CPU ms each, by where; and ms each that is waited for");
    let heading = ["in flight", "store", "crypto", "HTTP, TLS, the rest", "wait: store", "wait: validation"];
    print_table(&heading, &shares);
}

struct Round {
    issued: usize,
    took: Duration,
    latencies: Samples,
    cost: Cost,
}

/// So many customers at once, each ordering one certificate after the other until the time is over.
async fn round(server: &Server, pages: &Responder, in_flight: usize, seconds: u64) -> Round {
    let over = Arc::new(AtomicBool::new(false));
    let mut customers = Vec::new();
    for number in 0..in_flight {
        customers.push(Customer::new(server, pages, in_flight, number).await);
    }
    // The first orders fill caches and connections.
    for customer in &mut customers {
        customer.order().await;
    }
    let (before, began) = (Cost::of(server).await, Instant::now());
    let mut at_work = JoinSet::new();
    for mut customer in customers {
        let over = over.clone();
        at_work.spawn(async move {
            let mut latencies = Vec::new();
            while !over.load(Ordering::Relaxed) {
                latencies.push(customer.order().await);
            }
            latencies
        });
    }
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    over.store(true, Ordering::Relaxed);
    let all: Vec<Duration> = at_work.join_all().await.into_iter().flatten().collect();
    let (took, cost) = (began.elapsed(), Cost::of(server).await.since(&before));
    let mut latencies = Samples::default();
    all.iter().for_each(|latency| latencies.push(*latency));
    Round { issued: all.len(), took, latencies, cost }
}

impl Plan {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let beside = std::env::current_exe().ok()?.with_file_name("chancery");
        let mut plan = Self { seconds: 15, sqlite: true, postgres: true, binary: beside };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => plan.seconds = 2,
                "--sqlite" => plan.postgres = false,
                "--postgres" => plan.sqlite = false,
                "--binary" => plan.binary = arguments.next()?.into(),
                _ => return None,
            }
        }
        Some(plan)
    }
}
