//! Measures full issuance by ACME, this service beside Debian's pebble and step-ca: certificates a second, how long each took,
//! what CPU time and memory the server used.
//!
//! `cargo build --release && cargo run --release -p chancery-bench --bin acme -- [--quick] [--memory | --turns N]
//! [--sqlite | --postgres | --pebble | --step-ca] [--binary PATH]`
//!
//! The load comes from `chancery bench acme` in a process of its own. PostgreSQL where `CHANCERY_TEST_POSTGRES` names a
//! server, pebble and step-ca where they are installed. `--memory` gets 10,000 certificates twice and tells what they left in
//! memory; `--turns` has everybody work in turns, where each is at its best.

#![allow(clippy::unwrap_used, reason = "what fails here ends the measurement")]

mod around;
mod contender;
mod load;
mod pebble;
mod step_ca;
mod turns;

use std::path::PathBuf;

use chancery_bench::print_table;
use chancery_testkit::postgres::TestDatabase;
use serde_json::Value;

use contender::Contender;

struct Plan {
    seconds: u64,
    memory: bool,
    turns: Option<u32>,
    only: Option<String>,
    binary: PathBuf,
}

fn main() {
    let Some(plan) = Plan::from_arguments(std::env::args().skip(1)) else {
        eprintln!(
            "usage: acme [--quick] [--memory | --turns N] [--sqlite | --postgres | --pebble | --step-ca] [--binary PATH]"
        );
        std::process::exit(2);
    };
    // Made and dropped outside of the runtime: its driver blocks.
    let database = if plan.has("--postgres") { TestDatabase::create() } else { None };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let ours = |name, database| runtime.block_on(Contender::ours(name, &plan.binary, database));
    let begin: [(&str, &dyn Fn() -> Option<Contender>); 4] = [
        ("--sqlite", &|| Some(ours("SQLite", None))),
        ("--postgres", &|| database.as_ref().map(|database| ours("PostgreSQL", Some(database.url())))),
        ("--pebble", &pebble::pebble),
        ("--step-ca", &step_ca::step_ca),
    ];
    let contenders = begin.iter().filter(|(option, _)| plan.has(option)).filter_map(|(option, begin)| {
        let contender = begin();
        if contender.is_none() {
            println!("{}: not here, see bench/README.md\n", option.trim_start_matches('-'));
        }
        contender
    });
    match plan.turns {
        Some(turns) => turns::take_turns(&contenders.collect::<Vec<_>>(), &plan.binary, turns),
        None => contenders.for_each(|contender| measure(&plan, &contender)),
    }
}

fn measure(plan: &Plan, contender: &Contender) {
    let Contender { name, how, target, in_flight, .. } = contender;
    if plan.memory {
        let rounds = ["1000", "10000", "10000"].map(|number| target.load(&plan.binary, "64", "certificates", number));
        show(&format!("{name}: memory"), rounds.into_iter().flatten());
        return;
    }
    let mut rounds = Vec::new();
    for in_flight in *in_flight {
        let Some(round) = contender.round(&plan.binary, in_flight, plan.seconds) else {
            println!("{name} came to a standstill at {in_flight} in flight");
            break;
        };
        rounds.push(round);
    }
    show(&format!("{name}: {how}"), rounds.into_iter());
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
        let mut plan = Self { seconds: 15, memory: false, turns: None, only: None, binary: beside };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => plan.seconds = 2,
                "--memory" => plan.memory = true,
                "--turns" => plan.turns = Some(arguments.next()?.parse().ok().filter(|turns| *turns > 0)?),
                "--sqlite" | "--postgres" | "--pebble" | "--step-ca" => plan.only = Some(argument),
                "--binary" => plan.binary = arguments.next()?.into(),
                _ => return None,
            }
        }
        Some(plan)
    }

    /// Whether somebody takes part; peers have nothing to tell of their memory.
    fn has(&self, contender: &str) -> bool {
        let ours = matches!(contender, "--sqlite" | "--postgres");
        self.only.as_deref().map_or(ours || !self.memory, |only| only == contender)
    }
}
