//! One reseller floods, another goes on with its work: how much slower is it for that?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chancery_bench::{Server, print_table};
use chancery_client::Client;
use http::Method;
use tokio::time::MissedTickBehavior;

use crate::place::Place;
use crate::reads::Reader;
use crate::steady::PACE;
use crate::times::Times;

const TURNS: u32 = 5;
/// Requests of the flood that wait for an answer.
const AT_ONCE: u64 = 500;

#[derive(Default)]
struct Flood {
    under_way: AtomicU64,
    served: AtomicU64,
    refused: AtomicU64,
    not_sent: AtomicU64,
}

/// Runs and prints. The server has the rate limits of `serve`.
pub(crate) async fn measure(place: &Place, server: &Server, time: Duration, flood_rate: u32) {
    println!("A neighbour that floods, at {} stored: {flood_rate} requests a second are offered", place.stored);
    let [noisy, quiet, ..] = place.resellers.as_slice() else { return };
    let noisy = noisy.client(server);
    let (mut alone, mut beside) = (Times::default(), Times::default());
    let flood = Arc::new(Flood::default());
    let mut turn = 0;
    for _ in 0..TURNS {
        for flooded in [false, true] {
            let over = Arc::new(AtomicBool::new(false));
            turn += 1;
            let reader = tokio::spawn(Reader::new(quiet.client(server), quiet, turn).read(PACE, over.clone()));
            let flooder = flooded.then(|| tokio::spawn(flood.clone().run(noisy.clone(), flood_rate, over.clone())));
            tokio::time::sleep(time / (TURNS * 2)).await;
            over.store(true, Ordering::Relaxed);
            if let Some(flooder) = flooder {
                flooder.await.unwrap();
            }
            let times = reader.await.unwrap();
            if flooded { beside.merge(times) } else { alone.merge(times) }
        }
    }
    let mut rows = Vec::new();
    for (name, times) in [("alone", &mut alone), ("beside the flood", &mut beside)] {
        let mut at = |share| format!("{:.2}", times.overall(share).as_secs_f64() * 1e3);
        let quantiles = [at(0.5), at(0.95), at(0.99)];
        let mut row = vec![name.to_owned(), times.count().to_string()];
        row.extend(quantiles);
        rows.push(row);
    }
    print_table(&["the quiet one", "answers", "p50 ms", "p95 ms", "p99 ms"], &rows);
    let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let (served, refused, not_sent) = (of(&flood.served), of(&flood.refused), of(&flood.not_sent));
    println!("  the flood: {served} served, {refused} refused, {not_sent} not sent, as {AT_ONCE} were waiting");
    let ratio = |share| beside.overall(share).as_secs_f64() / alone.overall(share).as_secs_f64().max(f64::EPSILON);
    let mut ratio = ratio;
    println!("  ratio: p50 {:.2}, p99 {:.2}\n", ratio(0.5), ratio(0.99));
}

impl Flood {
    /// As many a second as it is told, whether they are answered or not.
    async fn run(self: Arc<Self>, client: Client, rate: u32, over: Arc<AtomicBool>) {
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let (began, mut sent) = (Instant::now(), 0_f64);
        while !over.load(Ordering::Relaxed) {
            ticks.tick().await;
            let due = began.elapsed().as_secs_f64() * f64::from(rate);
            while sent < due {
                sent += 1.0;
                if self.under_way.load(Ordering::Relaxed) >= AT_ONCE {
                    self.not_sent.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                self.under_way.fetch_add(1, Ordering::Relaxed);
                let (flood, client) = (self.clone(), client.clone());
                tokio::spawn(async move {
                    let answer = client.request(Method::GET, "/v1/certificates?limit=100", None).await;
                    let served = answer.is_ok_and(|answer| answer.status.is_success());
                    let counter = if served { &flood.served } else { &flood.refused };
                    counter.fetch_add(1, Ordering::Relaxed);
                    flood.under_way.fetch_sub(1, Ordering::Relaxed);
                });
            }
        }
    }
}
