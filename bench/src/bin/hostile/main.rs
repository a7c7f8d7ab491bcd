//! Measures what one hostile reseller costs a well-behaved one: for each expensive operation, the hostile reseller repeats it with
//! the largest permitted input, several at once, while the well-behaved reseller creates accounts and reads lists.
//!
//! `cargo run --release -p chancery-bench --bin hostile -- [--seconds N] [--in-flight N] [--postgres] [--binary PATH]
//! [--only TEXT]`
//!
//! Each operation is measured in turns of quiet and hostile seconds, so that both see the same machine. The goal is a p99 of at most
//! three times the quiet p99 or 50 ms, whichever is larger, and at most 64 MiB of memory growth.

#![allow(clippy::unwrap_used, reason = "a failure ends the measurement")]

mod attack;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chancery_bench::{Samples, Server, print_table};
use chancery_client::Client;
use chancery_testkit::postgres::postgres_url;
use http::Method;
use serde_json::{Value, json};

use attack::{Attack, Stage};

/// Turns of quiet and hostile time for each operation.
const TURNS: u32 = 3;
/// Time between two requests of the well-behaved reseller.
const PACE: Duration = Duration::from_millis(10);
const MAX_GROWTH_MIB: f64 = 64.0;
const MAX_P99: Duration = Duration::from_millis(50);

struct Plan {
    seconds: f64,
    in_flight: usize,
    postgres: Option<String>,
    binary: PathBuf,
    /// Attacks whose name contains this text.
    only: String,
}

impl Plan {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut plan = Self {
            seconds: 3.0,
            in_flight: 16,
            postgres: None,
            binary: "target/release/chancery".into(),
            only: String::new(),
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--seconds" => plan.seconds = arguments.next()?.parse().ok()?,
                "--in-flight" => plan.in_flight = arguments.next()?.parse().ok()?,
                "--postgres" => plan.postgres = Some(postgres_url().expect("run this by scripts/with-postgres")),
                "--only" => plan.only = arguments.next()?,
                "--binary" => plan.binary = arguments.next()?.into(),
                _ => return None,
            }
        }
        Some(plan)
    }
}

fn main() {
    let Some(plan) = Plan::from_arguments(std::env::args().skip(1)) else {
        eprintln!("usage: hostile [--seconds N] [--in-flight N] [--postgres] [--binary PATH] [--only TEXT]");
        std::process::exit(2);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(run(&plan));
}

async fn run(plan: &Plan) {
    let folder = tempfile::tempdir().unwrap();
    let database = plan.postgres.as_ref().map(|url| chancery_testkit::postgres::TestDatabase::create_on(url.clone()));
    let url = database.as_ref().map(|database| database.url());
    // Orders of the attack are never validated: nothing answers on this port.
    let server = Server::start_in(folder.path(), &plan.binary, 5002, url, false).await;
    let reseller = |code: &str| {
        operate(plan, folder.path(), &["reseller", "create", "--code", code, "--name", code]);
        let client = operate(plan, folder.path(), &["client", "create", "--reseller", code]);
        let text = |name: &str| client[name].as_str().unwrap().to_owned();
        server.client_of(&text("client_id"), &text("client_secret"))
    };
    let (hostile, quiet) = (reseller("HOSTILE"), reseller("QUIET"));
    println!("Filling the store of the hostile reseller to its caps …");
    let stage = Arc::new(Stage::fill(&hostile).await);
    // The first requests of each kind fill caches that stay.
    let _warm = work(&quiet, Duration::from_secs(1)).await;

    let mut rows = Vec::new();
    for attack in Attack::ALL.into_iter().filter(|attack| attack.name().contains(&plan.only)) {
        let before = server.memory();
        let (mut alone, mut beside) = (Samples::default(), Samples::default());
        let mut sent = 0;
        let mut peak = before;
        for _ in 0..TURNS {
            let turn = Duration::from_secs_f64(plan.seconds / f64::from(TURNS));
            alone.merge(work(&quiet, turn).await);
            let over = Arc::new(AtomicBool::new(false));
            let attackers: Vec<_> = (0..plan.in_flight)
                .map(|_| tokio::spawn(repeat(attack, hostile.clone(), stage.clone(), over.clone())))
                .collect();
            let watched = async {
                let mut peak = server.memory();
                while !over.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    peak = peak.max(server.memory());
                }
                peak
            };
            let worked = async {
                let samples = work(&quiet, turn).await;
                over.store(true, Ordering::Relaxed);
                samples
            };
            let (samples, highest) = tokio::join!(worked, watched);
            beside.merge(samples);
            peak = peak.max(highest);
            for attacker in attackers {
                sent += attacker.await.unwrap();
            }
        }
        let (quiet_p99, hostile_p99) = (alone.quantile(0.99), beside.quantile(0.99));
        let growth = peak - before;
        let met = hostile_p99 <= MAX_P99.max(quiet_p99 * 3) && growth <= MAX_GROWTH_MIB;
        let milliseconds = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
        rows.push(vec![
            attack.name().to_owned(),
            sent.to_string(),
            milliseconds(quiet_p99),
            milliseconds(hostile_p99),
            format!("{growth:.0}"),
            if met { "" } else { "missed" }.to_owned(),
        ]);
    }
    print_table(&["attack", "requests", "quiet p99 ms", "p99 ms beside it", "growth MiB", "goal"], &rows);
}

/// An operator command on the database of the running server.
fn operate(plan: &Plan, folder: &std::path::Path, arguments: &[&str]) -> Value {
    let output =
        Command::new(&plan.binary).args(arguments).arg("--json").arg("--data-dir").arg(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a well-behaved reseller does: it creates an account, reads it and lists accounts, in turn and at a steady pace.
async fn work(client: &Client, time: Duration) -> Samples {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let mut samples = Samples::default();
    let end = Instant::now() + time;
    while Instant::now() < end {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let began = Instant::now();
        let response = match number % 2 {
            0 => {
                let body = json!({"customer_email": format!("quiet-{number}@example.com")});
                client.request(Method::POST, "/v1/account", Some(body)).await
            }
            _ => client.request(Method::GET, "/v1/account?limit=20", None).await,
        };
        // A refusal counts as well: with its time, and a line if it is unexpected.
        if !response.as_ref().is_ok_and(|response| response.status.is_success()) {
            eprintln!("the well-behaved reseller was refused: {:?}", response.map(|response| response.status));
        }
        samples.push(began.elapsed());
        tokio::time::sleep(PACE).await;
    }
    samples
}

/// Sends the attack until it is over; returns the number of requests.
async fn repeat(attack: Attack, client: Client, stage: Arc<Stage>, over: Arc<AtomicBool>) -> u64 {
    let mut sent = 0;
    while !over.load(Ordering::Relaxed) {
        attack.send(&client, &stage).await;
        sent += 1;
    }
    sent
}
