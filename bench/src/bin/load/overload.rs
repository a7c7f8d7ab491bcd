//! Ten times as much as the machine holds, offered whether it is answered or not. What is turned away is to be so at once,
//! what was taken is to be finished, memory is to stay bounded, and afterwards all is to be as before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chancery_bench::{Samples, print_table};
use chancery_load::{Account, LoadError, Responder, Server, request};
use chancery_pki::{KeyAlgorithm, PrivateKey};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::steady::Site;

/// Each with a connection of its own, with room for its share of what is under way: nothing is to wait on this side.
const ACCOUNTS: usize = 512;
/// Orders that this side has under way: files and ports are not endless.
const AT_ONCE: u64 = 8_000;
/// How long it is looked at before and after, at most.
const BESIDE: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Tally {
    under_way: AtomicU64,
    not_sent: AtomicU64,
    refused: Mutex<Samples>,
    without_retry_after: AtomicU64,
    finished: Mutex<Samples>,
    lost: Mutex<Vec<String>>,
    not_reached: Mutex<Vec<String>>,
}

/// Runs and prints.
pub(crate) async fn measure(site: &Site<'_>, pages: &Responder, time: Duration) {
    let beside = BESIDE.min(time);
    site.server.give_way();
    let before = usual(site, pages, beside).await;
    let rate = before.0 * 10.0;
    println!(
        "Overload, at {} stored: {rate:.0} orders a second are offered for {:.0} s",
        site.place.stored,
        time.as_secs_f64()
    );
    let accounts = Arc::new(accounts(site).await);
    let (tally, resting) = (Arc::new(Tally::default()), site.server.memory());
    let (began, mut sent, mut memory, mut at_work) = (Instant::now(), 0_u64, Vec::new(), JoinSet::new());
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    while began.elapsed() < time {
        ticks.tick().await;
        let due = (began.elapsed().as_secs_f64() * rate) as u64;
        while sent < due {
            sent += 1;
            if tally.under_way.load(Ordering::Relaxed) >= AT_ONCE {
                tally.not_sent.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            tally.under_way.fetch_add(1, Ordering::Relaxed);
            at_work.spawn(one(accounts.clone(), tally.clone(), pages.clone(), sent));
        }
        while at_work.try_join_next().is_some() {}
        if memory.len() < began.elapsed().as_secs() as usize + 1 {
            memory.push(site.server.memory());
        }
    }
    let finished_by_then = tally.finished.lock().await.count();
    let (ended, left) = (Instant::now(), tally.under_way.load(Ordering::Relaxed));
    at_work.join_all().await;
    let drained = ended.elapsed();
    let after = usual(site, pages, beside).await;
    print(&tally, (sent, finished_by_then, left, drained), time).await;
    let most = memory.iter().copied().fold(0.0, f64::max);
    println!("  memory: {resting:.0} MB before, {most:.0} MB at most, {:.0} MB after", site.server.memory());
    println!(
        "  without it: {:.1} a second with p99 {:.0} ms before, {:.1} with {:.0} ms from the first second after\n",
        before.0, before.1, after.0, after.1
    );
}

/// What is usual: certificates a second, and their p99 in milliseconds.
async fn usual(site: &Site<'_>, pages: &Responder, time: Duration) -> (f64, f64) {
    let mut all = Samples::default();
    for outcome in site.issue(pages, time).await {
        all.merge(outcome.latencies);
    }
    (all.count() as f64 / time.as_secs_f64(), all.quantile(0.99).as_secs_f64() * 1e3)
}

async fn accounts(site: &Site<'_>) -> Vec<(Account, PrivateKey)> {
    let mut accounts = Vec::new();
    for place in 0..ACCOUNTS {
        let at = Server::connect_for_many(&site.directory(), Some(&site.server.ca_pem())).await.unwrap();
        let account = Account::register(at, Some(site.credential(place))).await.unwrap();
        accounts.push((account, PrivateKey::generate(KeyAlgorithm::EcP256).unwrap()));
    }
    accounts
}

/// Orders; what is taken is seen through to its end.
async fn one(accounts: Arc<Vec<(Account, PrivateKey)>>, tally: Arc<Tally>, pages: Responder, number: u64) {
    let (account, key) = &accounts[number as usize % accounts.len()];
    let (name, began) = (format!("n{number}.over.load.test"), Instant::now());
    match account.order(&name).await {
        Ok(ordered) => match account.complete(ordered, &request(&name, key).unwrap(), &pages).await {
            Ok(took) => tally.finished.lock().await.push(took),
            Err(error) => tally.lost.lock().await.push(error.to_string()),
        },
        Err(LoadError::Refused { status: 429 | 503, retry_after, .. }) => {
            tally.refused.lock().await.push(began.elapsed());
            tally.without_retry_after.fetch_add(u64::from(retry_after.is_none()), Ordering::Relaxed);
        }
        Err(error) => tally.not_reached.lock().await.push(error.to_string()),
    }
    tally.under_way.fetch_sub(1, Ordering::Relaxed);
}

async fn print(tally: &Tally, (offered, by_then, left, drained): (u64, usize, u64, Duration), time: Duration) {
    let mut rows = Vec::new();
    for (name, samples) in [("refused", &tally.refused), ("taken and finished", &tally.finished)] {
        let mut samples = samples.lock().await;
        let mut at = |share| format!("{:.1}", samples.quantile(share).as_secs_f64() * 1e3);
        let quantiles = [at(0.5), at(0.95), at(0.99)];
        let mut row = vec![name.to_owned(), samples.count().to_string()];
        row.extend(quantiles);
        rows.push(row);
    }
    print_table(&["", "orders", "p50 ms", "p95 ms", "p99 ms"], &rows);
    let (lost, not_reached) = (tally.lost.lock().await, tally.not_reached.lock().await);
    println!(
        "  of {offered} offered {} were not sent, as {AT_ONCE} were waiting; {} refusals said not when to come again",
        tally.not_sent.load(Ordering::Relaxed),
        tally.without_retry_after.load(Ordering::Relaxed)
    );
    println!("  taken and lost: {}; not answered: {}", lost.len(), not_reached.len());
    for example in lost.first().iter().chain(&not_reached.first()) {
        println!("    such as: {example}");
    }
    println!(
        "  {:.1} certificates a second meanwhile; the {left} that were waiting at the end were done {:.1} s later",
        by_then as f64 / time.as_secs_f64(),
        drained.as_secs_f64()
    );
}
