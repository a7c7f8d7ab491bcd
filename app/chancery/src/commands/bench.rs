//! `chancery bench acme`: load for an ACME server, this one or any other, and what it made of it.

mod process;

use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use chancery_load::{Credential, Load, Outcome, Responder, Until};
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::print::{Printer, Record, complain, record};
use crate::threads::Threads;
use process::Process;

#[derive(Subcommand)]
pub enum BenchCommand {
    /// Get certificates by ACME, as many as the server gives, and tell how long it took
    ///
    /// Each account orders one certificate after the other, each for a new name, shown by http-01: order,
    /// authorization, challenge, finalize, download. The names must lead to this machine as the server sees them.
    Acme(AcmeArgs),
}

#[derive(Args)]
pub struct AcmeArgs {
    /// The directory of the server
    #[arg(long, value_name = "URL")]
    directory: String,
    /// Trust the server's HTTPS by this PEM file [default: what the system trusts]
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// The key id of an external account binding; it binds every account
    #[arg(long, value_name = "KID", requires = "eab_hmac_key")]
    eab_kid: Option<String>,
    /// The HMAC key of the external account binding
    #[arg(long, value_name = "KEY", requires = "eab_kid", env = "CHANCERY_BENCH_EAB_HMAC_KEY", hide_env_values = true)]
    eab_hmac_key: Option<String>,
    /// How many accounts order at the same time; several numbers are several rounds
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,16,64")]
    accounts: Vec<NonZero<usize>>,
    /// How long a round takes
    #[arg(long, value_name = "N", default_value_t = 15)]
    seconds: u64,
    /// End a round after this many certificates, however long it takes
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    certificates: Option<u64>,
    /// Answer http-01 on this port
    #[arg(long, value_name = "PORT", default_value_t = 5002)]
    http01_port: u16,
    /// Answer other machines as well, not only this one
    #[arg(long)]
    http01_everywhere: bool,
    /// Order names under this one
    #[arg(long, value_name = "NAME", default_value = "load.test")]
    suffix: String,
    /// Tell what CPU time and memory this process on the same machine, the server, used
    #[arg(long, value_name = "PID")]
    process: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(command: BenchCommand) -> Result<(), Failure> {
    match command {
        BenchCommand::Acme(args) => Threads::start()?.run(acme(args)),
    }
}

async fn acme(args: AcmeArgs) -> Result<(), Failure> {
    let ca_pem = args.ca_file.as_ref().map(std::fs::read).transpose();
    let ca_pem = ca_pem.map_err(|error| Failure::usage(format!("cannot read the CA file: {error}")))?;
    let responder = Responder::start(args.http01_port, args.http01_everywhere).await;
    let responder = responder.map_err(|error| {
        Failure::failed(format!("cannot answer http-01 on port {}: {error}", args.http01_port))
            .advise("choose another with --http01-port, the one where the server looks")
    })?;
    let credential = args.eab_kid.zip(args.eab_hmac_key).map(|(kid, hmac_key)| Credential { kid, hmac_key });
    let process = args.process.map(Process::of);
    let mut rounds = Vec::new();
    for accounts in args.accounts.into_iter().map(NonZero::get) {
        let load = Load {
            directory: args.directory.clone(),
            ca_pem: ca_pem.clone(),
            credential: credential.clone(),
            accounts,
            suffix: args.suffix.clone(),
            until: match args.certificates {
                Some(certificates) => Until::Certificates(certificates),
                None => Until::Time(Duration::from_secs(args.seconds)),
            },
        };
        let before = process.as_ref().map(Process::used).transpose()?;
        let outcome = load.run(&responder).await.map_err(Failure::failed)?;
        let after = process.as_ref().map(Process::used).transpose()?;
        if let Some(failure) = &outcome.first_failure {
            complain(&format!("{} orders at {accounts} in flight failed, the first: {failure}", outcome.failed));
        }
        rounds.push(shown(accounts, outcome, before.zip(after)));
    }
    let columns = ["in_flight", "certificates", "failed", "per_second", "p50_ms", "p95_ms", "p99_ms"];
    let of_process = ["cpu_ms_each", "memory_mb_before", "memory_mb_after"];
    let columns = [&columns[..], if process.is_some() { &of_process } else { &[] }].concat();
    Printer { json: args.json }.table(&columns, &rounds)
}

fn shown(accounts: usize, mut outcome: Outcome, used: Option<(process::Used, process::Used)>) -> Record {
    let rounded = |number: f64| (number * 100.0).round() / 100.0;
    let mut at = |share| rounded(outcome.latencies.quantile(share).as_secs_f64() * 1e3);
    let (p50, p95, p99) = (at(0.5), at(0.95), at(0.99));
    // The warming up is in the figures of the process as well, one certificate for each account.
    let all = outcome.latencies.count() + usize::try_from(outcome.failed).unwrap_or(0) + accounts;
    let cpu = used
        .as_ref()
        .map(|(before, after)| rounded(after.cpu.saturating_sub(before.cpu).as_secs_f64() * 1e3 / all as f64));
    record! {
        "in_flight" => accounts,
        "certificates" => outcome.latencies.count(),
        "failed" => outcome.failed,
        "per_second" => rounded(outcome.rate()),
        "p50_ms" => p50,
        "p95_ms" => p95,
        "p99_ms" => p99,
        "cpu_ms_each" => cpu,
        "memory_mb_before" => used.as_ref().map(|(before, _)| rounded(before.memory as f64 / 1e6)),
        "memory_mb_after" => used.as_ref().map(|(_, after)| rounded(after.memory as f64 / 1e6)),
    }
}
