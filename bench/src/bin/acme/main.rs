//! Measures full issuance by ACME, this service beside Debian's pebble: certificates a second, how long each took, what
//! CPU time and memory the server used.
//!
//! `cargo build --release && cargo run --release -p chancery-bench --bin acme -- [--quick] [--memory]
//! [--sqlite | --postgres | --pebble] [--binary PATH]`
//!
//! The load comes from `chancery bench acme` in a process of its own. PostgreSQL where `CHANCERY_TEST_POSTGRES` names a
//! server, pebble where it is installed. `--memory` gets 10,000 certificates twice and tells what they left in memory.

#![allow(clippy::unwrap_used, reason = "what fails here ends the measurement")]

mod load;
mod pebble;

use std::path::PathBuf;

use chancery_bench::{Server, print_table};
use chancery_client::wire::ResellerAccountRequest;
use chancery_testkit::postgres::TestDatabase;
use serde_json::Value;

use load::{Target, free_port};
use pebble::Pebble;

struct Plan {
    seconds: u64,
    memory: bool,
    sqlite: bool,
    postgres: bool,
    pebble: bool,
    binary: PathBuf,
}

fn main() {
    let Some(plan) = Plan::from_arguments(std::env::args().skip(1)) else {
        eprintln!("usage: acme [--quick] [--memory] [--sqlite | --postgres | --pebble] [--binary PATH]");
        std::process::exit(2);
    };
    // Made and dropped outside of the runtime: its driver blocks.
    let database = if plan.postgres { TestDatabase::create() } else { None };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    if plan.sqlite {
        runtime.block_on(measure("SQLite", &plan, None));
    }
    if let Some(database) = &database {
        runtime.block_on(measure("PostgreSQL", &plan, Some(database.url())));
    }
    if plan.pebble {
        runtime.block_on(measure_pebble(&plan));
    }
}

async fn measure(name: &str, plan: &Plan, database: Option<&str>) {
    let http01_port = free_port();
    let server = Server::start(&plan.binary, http01_port, database).await;
    let request = ResellerAccountRequest { customer_email: "load@example.com".to_owned(), ..Default::default() };
    let account = server.client.accounts().create(&request).await.unwrap();
    let target = Target {
        directory: format!("{}/acme/TLS-90d/directory", server.fact("acme_url")),
        ca_file: server.fact("ca_bundle").into(),
        credential: Some((account.kid, account.hmac_key.unwrap())),
        http01_port,
        process: server.id(),
    };
    if plan.memory {
        let rounds =
            ["1000", "10000", "10000"].map(|number| target.load(&plan.binary, &["64"], "certificates", number));
        show(&format!("chancery, {name}: memory"), rounds.into_iter().flatten().flatten());
        return;
    }
    let rounds = target.load(&plan.binary, &["1", "16", "64"], "seconds", &plan.seconds.to_string());
    show(&format!("chancery, {name}: EAB, durable commits, audit"), rounds.into_iter().flatten());
}

async fn measure_pebble(plan: &Plan) {
    let (http01_port, beside) = (free_port(), free_port());
    // For the certificate of its HTTPS, which pebble has none of its own.
    let server = Server::start(&plan.binary, beside, None).await;
    let Some(pebble) = Pebble::start(server.folder(), http01_port).await else {
        println!("pebble is not installed (Debian: apt-get install pebble)\n");
        return;
    };
    let target = Target {
        directory: pebble.directory.clone(),
        ca_file: server.fact("ca_bundle").into(),
        credential: None,
        http01_port,
        process: pebble.id(),
    };
    let mut rounds = Vec::new();
    for in_flight in ["1", "2", "16", "64"] {
        match target.load(&plan.binary, &[in_flight], "seconds", &plan.seconds.to_string()) {
            Some(round) => rounds.extend(round),
            None => {
                println!("pebble came to a standstill at {in_flight} in flight");
                break;
            }
        }
    }
    show("pebble: no EAB, in memory, no nonces rejected, no sleeping before validation", rounds.into_iter());
}

fn show(title: &str, rounds: impl Iterator<Item = Value>) {
    println!("{title}");
    let columns = [
        "in_flight",
        "certificates",
        "failed",
        "per_second",
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "cpu_ms_each",
        "memory_mb_before",
        "memory_mb_after",
    ];
    let cell =
        |round: &Value, column: &str| round[column].as_f64().map_or_else(String::new, |number| number.to_string());
    let rows: Vec<Vec<String>> =
        rounds.map(|round| columns.iter().map(|column| cell(&round, column)).collect()).collect();
    print_table(&columns.map(|column| column.replace('_', " ")).each_ref().map(String::as_str), &rows);
}

impl Plan {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let beside = std::env::current_exe().ok()?.with_file_name("chancery");
        let mut plan = Self { seconds: 15, memory: false, sqlite: true, postgres: true, pebble: true, binary: beside };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => plan.seconds = 2,
                "--memory" => (plan.memory, plan.pebble) = (true, false),
                "--sqlite" => (plan.postgres, plan.pebble) = (false, false),
                "--postgres" => (plan.sqlite, plan.pebble) = (false, false),
                "--pebble" => (plan.sqlite, plan.postgres) = (false, false),
                "--binary" => plan.binary = arguments.next()?.into(),
                _ => return None,
            }
        }
        Some(plan)
    }
}
