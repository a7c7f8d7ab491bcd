//! As much as the machine holds: 64 ACME accounts that order one certificate after the other, and eight resellers that look
//! at what they have. The sizes take turns, so that what else the machine does falls on all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chancery_bench::{Samples, Server, print_table};
use chancery_client::wire::ResellerAccountRequest;
use chancery_load::{Credential, Load, Outcome, Responder, Until};
use tokio::task::JoinSet;

use crate::place::{Place, RESELLERS};
use crate::reads::Reader;
use crate::times::{self, Times};

/// Of each reseller, at the same time.
const ACCOUNTS: usize = 8;
/// A reseller asks one thing in this time: twenty a second, and 160 all of them.
pub(crate) const PACE: Duration = Duration::from_millis(50);
/// At most; every turn begins with new accounts.
const TURNS: u64 = 10;

/// A server on a store, and what is measured of it.
pub(crate) struct Site<'a> {
    pub(crate) place: &'a Place,
    pub(crate) server: Server,
    credentials: Vec<Credential>,
    reads: Times,
    issued: Samples,
    failed: u64,
    first_failure: Option<String>,
    took: Duration,
    memory: Vec<f64>,
}

impl<'a> Site<'a> {
    pub(crate) async fn new(place: &'a Place, server: Server) -> Self {
        let mut credentials = Vec::new();
        for reseller in &place.resellers {
            let at = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
            let customer_email = format!("load{at}@example.com");
            let request = ResellerAccountRequest { customer_email, ..Default::default() };
            let made = reseller.client(&server).accounts().create(&request).await.unwrap();
            credentials.push(Credential { kid: made.kid, hmac_key: made.hmac_key.unwrap() });
        }
        let (reads, issued, memory) = (Times::default(), Samples::default(), vec![server.memory()]);
        Self { place, server, credentials, reads, issued, failed: 0, first_failure: None, took: Duration::ZERO, memory }
    }

    pub(crate) fn directory(&self) -> String {
        format!("{}/acme/TLS-90d/directory", self.server.fact("acme_url"))
    }

    pub(crate) fn credential(&self, place: usize) -> &Credential {
        &self.credentials[place % self.credentials.len()]
    }

    /// Certificates a second.
    pub(crate) fn rate(&self) -> f64 {
        self.issued.count() as f64 / self.took.as_secs_f64().max(f64::EPSILON)
    }

    /// Customers and resellers at work for so long.
    async fn turn(&mut self, pages: &Responder, time: Duration) {
        let over = Arc::new(AtomicBool::new(false));
        let mut readers = JoinSet::new();
        for (number, reseller) in self.place.resellers.iter().enumerate() {
            let reader = Reader::new(reseller.client(&self.server), reseller, number + self.memory.len());
            readers.spawn(reader.read(PACE, over.clone()));
        }
        for outcome in self.issue(pages, time).await {
            self.failed += outcome.failed;
            self.first_failure = self.first_failure.take().or(outcome.first_failure.map(|error| error.to_string()));
            self.issued.merge(outcome.latencies);
        }
        over.store(true, Ordering::Relaxed);
        readers.join_all().await.into_iter().for_each(|times| self.reads.merge(times));
        self.took += time;
        self.memory.push(self.server.memory());
    }

    /// The customers alone.
    pub(crate) async fn issue(&self, pages: &Responder, time: Duration) -> Vec<Outcome> {
        let ca = self.server.ca_pem();
        let mut loads = JoinSet::new();
        for place in 0..RESELLERS {
            let load = Load {
                directory: self.directory(),
                ca_pem: Some(ca.clone()),
                credential: Some(self.credential(place).clone()),
                accounts: ACCOUNTS,
                suffix: format!("r{place}.load.test"),
                until: Until::Time(time),
            };
            let pages = pages.clone();
            loads.spawn(async move { load.run(&pages).await.unwrap() });
        }
        loads.join_all().await
    }
}

/// Runs and prints.
pub(crate) async fn measure(sites: &mut [Site<'_>], pages: &Responder, time: Duration) {
    let turns = u32::try_from((time.as_secs() / 3).clamp(1, TURNS)).unwrap_or(1);
    println!("Issuing and looking at once, {turns} turns of {:.1} s at each size", (time / turns).as_secs_f64());
    for _ in 0..turns {
        for site in sites.iter_mut() {
            site.turn(pages, time / turns).await;
        }
    }
    let mut rows = Vec::new();
    for site in sites.iter_mut() {
        let mut at = |share| format!("{:.1}", site.issued.quantile(share).as_secs_f64() * 1e3);
        let quantiles = [at(0.5), at(0.95), at(0.99)];
        if let Some(failure) = &site.first_failure {
            eprintln!("  the first failure at {}: {failure}", site.place.stored);
        }
        let mut row = vec![site.place.stored.to_string(), site.issued.count().to_string(), site.failed.to_string()];
        row.push(format!("{:.1}", site.rate()));
        row.extend(quantiles);
        row.push(site.memory.iter().map(|megabytes| format!("{megabytes:.0}")).collect::<Vec<_>>().join(" "));
        rows.push(row);
    }
    print_table(&["stored", "issued", "failed", "a second", "p50 ms", "p95 ms", "p99 ms", "memory MB, by turn"], &rows);
    if let ([first, .., last], true) = (&*sites, sites.len() > 1) {
        println!("  {:.2} times as many a second with few stored as with many\n", first.rate() / last.rate());
    }
    let sizes: Vec<_> = sites.iter().map(|site| site.place.stored).collect();
    let mut reads: Vec<_> = sites.iter_mut().map(|site| std::mem::take(&mut site.reads)).collect();
    times::print(&sizes, &mut reads, 1.5);
}
