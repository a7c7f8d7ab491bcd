//! Measures whether it holds: with a million certificates stored as with ten thousand, with ten times the load that it can
//! bear, and beside a neighbour that floods.
//!
//! `cargo run --release -p chancery-bench --bin load -- [--stored 10000,1000000] [--minutes N]
//! [--postgres | --database-url URL] [--phases start,reads,steady,console,overload,neighbour] [--keep DIR]
//! [--binary PATH]`

#![allow(clippy::unwrap_used, reason = "what fails here ends the measurement")]

mod copies;
mod database;
mod fill;
mod neighbour;
mod overload;
mod pages;
mod place;
mod reads;
mod steady;
mod templates;
mod times;

use std::path::PathBuf;
use std::time::Duration;

use chancery_bench::print_table;
use chancery_load::Responder;
use chancery_testkit::postgres::postgres_url;

use place::Place;
use reads::Reader;
use steady::Site;

const PHASES: [&str; 6] = ["start", "reads", "steady", "console", "overload", "neighbour"];

struct Plan {
    stored: Vec<usize>,
    minutes: f64,
    /// A PostgreSQL server on which a database is made for each size.
    postgres: Option<String>,
    phases: Vec<String>,
    keep: Option<PathBuf>,
    flood: u32,
    binary: PathBuf,
}

fn main() {
    let Some(plan) = Plan::from_arguments(std::env::args().skip(1)) else {
        eprintln!(
            "usage: load [--stored N,N] [--minutes N] [--postgres | --database-url URL] [--phases {}] [--keep DIR] \
             [--flood N] [--binary PATH]",
            PHASES.join(",")
        );
        std::process::exit(2);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // The customers' web servers do not wait for what their clients have to do.
    let web = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let pages = web.block_on(Responder::start(0, false)).unwrap();
    let places: Vec<_> = plan
        .stored
        .iter()
        .map(|stored| {
            Place::prepare(&runtime, &plan.binary, &pages, *stored, plan.postgres.clone(), plan.keep.as_deref())
        })
        .collect();
    runtime.block_on(measure(&plan, &places, &pages));
}

async fn measure(plan: &Plan, places: &[Place], pages: &Responder) {
    let wanted = |phase: &str| plan.phases.iter().any(|wanted| wanted == phase);
    let time = Duration::from_secs_f64(plan.minutes * 60.0);
    // Enough for a p99 where there is time for it.
    let rounds = ((plan.minutes * 60.0) as usize).clamp(10, 200);
    let Some(largest) = places.last() else { return };
    if wanted("start") {
        starts(places, pages).await;
    }
    let mut sites = Vec::new();
    for place in places {
        sites.push(Site::new(place, place.start(pages, false).await).await);
    }
    if wanted("reads") {
        println!("Looking alone, {rounds} times, milliseconds");
        let mut of_sizes: Vec<_> = places.iter().map(|_| times::Times::default()).collect();
        let mut readers: Vec<_> = sites
            .iter()
            .map(|site| Reader::new(site.place.resellers[0].client(&site.server), &site.place.resellers[0], 0))
            .collect();
        for _ in 0..rounds {
            for (reader, times) in readers.iter_mut().zip(&mut of_sizes) {
                times.merge(reader.read_all(1).await);
            }
        }
        times::print(&plan.stored, &mut of_sizes, 1.5);
    }
    if wanted("steady") {
        steady::measure(&mut sites, pages, time).await;
    }
    if wanted("console") {
        let sites: Vec<_> = sites.iter().map(|site| (site.place, &site.server)).collect();
        pages::measure(&sites, rounds).await;
    }
    let last = sites.pop();
    drop(sites);
    if let (true, Some(site)) = (wanted("overload"), &last) {
        overload::measure(site, pages, time).await;
    }
    drop(last);
    if wanted("neighbour") {
        let server = largest.start(pages, true).await;
        neighbour::measure(largest, &server, time, plan.flood).await;
    }
}

/// From the start of the program until it says that it is ready, again and again.
async fn starts(places: &[Place], pages: &Responder) {
    let mut rows = Vec::new();
    for place in places {
        let mut times = Vec::new();
        for _ in 0..5 {
            let server = place.start(pages, false).await;
            times.push(server.took.as_secs_f64() * 1e3);
            drop(server);
        }
        let each: Vec<_> = times.iter().map(|millis| format!("{millis:.0}")).collect();
        rows.push(vec![place.stored.to_string(), each.join(" ")]);
    }
    println!("From start to ready, five times");
    print_table(&["stored", "ms"], &rows);
}

impl Plan {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let beside = std::env::current_exe().ok()?.with_file_name("chancery");
        let mut plan = Self {
            stored: vec![10_000, 1_000_000],
            minutes: 10.0,
            postgres: None,
            phases: PHASES.map(str::to_owned).into(),
            keep: None,
            flood: 2_000,
            binary: beside,
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--stored" => {
                    plan.stored = arguments.next()?.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
                }
                "--minutes" => plan.minutes = arguments.next()?.parse().ok()?,
                "--postgres" => plan.postgres = Some(postgres_url()?),
                "--database-url" => plan.postgres = Some(arguments.next()?),
                "--phases" => plan.phases = arguments.next()?.split(',').map(str::to_owned).collect(),
                "--keep" => plan.keep = Some(arguments.next()?.into()),
                "--flood" => plan.flood = arguments.next()?.parse().ok()?,
                "--binary" => plan.binary = arguments.next()?.into(),
                _ => return None,
            }
        }
        let known = plan.phases.iter().all(|phase| PHASES.contains(&phase.as_str()));
        // What is kept is a folder: a database on a server is not in it.
        (known && (plan.keep.is_none() || plan.postgres.is_none())).then_some(plan)
    }
}
