//! Many at once: bounded, and nobody waits for those who never answer.
//!
//! A binary of its own with a single test, because it counts what the whole process holds.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chancery_dcv::{Check, Dnssec, Timeouts, Validator, ValidatorConfig};
use chancery_domain::{ChallengeType, Identifier};
use chancery_testkit::dns::TestDns;
use chancery_testkit::web::TestWeb;
use chancery_testkit::{FrozenClock, SeededEntropy};
use tokio::task::JoinSet;

const HOLE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

struct Crowd {
    dns: TestDns,
    web: TestWeb,
    /// Never answers: the kernel takes some connections for it, and lets the rest wait.
    _hole: TcpListener,
}

impl Crowd {
    async fn new() -> Self {
        let web = TestWeb::http((Ipv4Addr::LOCALHOST, 0)).await;
        web.page("/.well-known/acme-challenge/token", "token.key");
        let hole = TcpListener::bind(SocketAddr::from((HOLE, web.port()))).unwrap();
        let dns = TestDns::start().await;
        dns.address_of("good.test", Ipv4Addr::LOCALHOST).address_of("hole.test", HOLE);
        Self { dns, web, _hole: hole }
    }

    fn validator(&self, max_in_flight: usize, look: Duration) -> Arc<Validator> {
        let config = ValidatorConfig {
            resolvers: vec![self.dns.address()],
            dnssec: Dnssec::Unchecked,
            http01_port: self.web.port(),
            allow_special_addresses: true,
            retry_window: Duration::ZERO,
            timeouts: Timeouts { look, connect: look, ..Timeouts::default() },
            max_in_flight,
            ..ValidatorConfig::default()
        };
        Arc::new(Validator::new(config, Arc::new(FrozenClock::default()), Arc::new(SeededEntropy::new(1))).unwrap())
    }
}

fn check(name: &str) -> Check {
    Check {
        identifier: Identifier::parse(name).unwrap(),
        kind: ChallengeType::Http01,
        token: "token".to_owned(),
        key_authorization: "token.key".to_owned(),
        account_uri: String::new(),
    }
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// In octets.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// The most that a figure was while the work went on.
fn watched(figure: fn() -> usize) -> (Arc<AtomicUsize>, tokio::task::JoinHandle<()>) {
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let task = tokio::spawn(async move {
        loop {
            seen.fetch_max(figure(), Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    (most, task)
}

/// What it has open itself is closed then.
async fn stop(watching: tokio::task::JoinHandle<()>) {
    watching.abort();
    drop(watching.await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_are_bounded_and_black_holes_delay_nobody() {
    no_more_are_under_way_than_there_is_room_for().await;
    black_holes_do_not_delay_the_others().await;
}

async fn black_holes_do_not_delay_the_others() {
    let crowd = Crowd::new().await;
    let look = Duration::from_secs(12);
    let validator = crowd.validator(500, look);
    let before = resident();
    let (most, watching) = watched(resident);
    let began = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..500 {
        let validator = Arc::clone(&validator);
        let good = number % 10 == 9;
        running.spawn(async move {
            let verified = validator.verify("", &check(if good { "good.test" } else { "hole.test" })).await;
            (good, verified, began.elapsed())
        });
    }
    let mut slowest_good = Duration::ZERO;
    while let Some(done) = running.join_next().await {
        let (good, verified, took) = done.unwrap();
        assert_eq!(verified.outcome.is_ok(), good, "{:?}", verified.attempts);
        if good {
            slowest_good = slowest_good.max(took);
        } else {
            assert!(took >= look, "a black hole was given up after {took:?}");
        }
    }
    stop(watching).await;
    assert!(slowest_good < look, "a good one took {slowest_good:?}, as long as the black holes");
    assert!(began.elapsed() < look * 2, "all together took {:?}", began.elapsed());
    let grown = most.load(Ordering::Relaxed).saturating_sub(before);
    println!("500 in flight: slowest good one {slowest_good:?}, memory +{} KiB", grown / 1024);
    assert!(grown < 64 * 1024 * 1024, "memory grew by {} KiB", grown / 1024);
}

async fn no_more_are_under_way_than_there_is_room_for() {
    const ROOM: usize = 20;
    let crowd = Crowd::new().await;
    let validator = crowd.validator(ROOM, Duration::from_millis(200));
    let before = open_files();
    let (most, watching) = watched(open_files);
    let began = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..100 {
        let validator = Arc::clone(&validator);
        running.spawn(async move { validator.verify("", &check("hole.test")).await });
    }
    while let Some(done) = running.join_next().await {
        assert!(done.unwrap().outcome.is_err());
    }
    stop(watching).await;
    assert!(began.elapsed() >= Duration::from_millis(1000), "five turns of 20 take longer than {:?}", began.elapsed());
    let opened = most.load(Ordering::Relaxed).saturating_sub(before);
    // Two questions to the DNS, or one connection; and the one that counts.
    println!("room for {ROOM}: at most {opened} files were open");
    assert!(opened <= 2 * ROOM + 5, "{opened} files were open");
    assert!(open_files() <= before, "some of them are still open");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_black_holes_of_one_party_do_not_take_the_room_of_another() {
    let crowd = Crowd::new().await;
    let look = Duration::from_secs(10);
    let validator = crowd.validator(10, look);
    let mut running = JoinSet::new();
    for _ in 0..100 {
        let validator = Arc::clone(&validator);
        running.spawn(async move { validator.verify("one", &check("hole.test")).await });
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let began = Instant::now();
    for _ in 0..20 {
        assert_eq!(validator.verify("another", &check("good.test")).await.outcome, Ok(()));
    }
    assert!(began.elapsed() < look, "it took {:?}", began.elapsed());
}
