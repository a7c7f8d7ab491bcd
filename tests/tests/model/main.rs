//! Random sequences of calls at both doors, by two tenants, while the clock moves: made at the service and in a model of
//! it, which is written from the documents. After each call both must have answered the same and be in the same state,
//! so a refused call has changed nothing; after each sequence the trail must tell every change, and nothing else.
//!
//! The sequences are the same in every run. `CHANCERY_MODEL_SEED` makes them others, `CHANCERY_MODEL_CASES` more, and
//! `CHANCERY_MODEL_SECONDS` goes on with other ones for so long. What fails is cut down to a short sequence.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod acme;
mod calls;
mod checks;
mod driver;
mod orders;
mod parties;
mod real;
mod state;
mod work;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use chancery_testkit::TestStore;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use calls::{Call, sequences};
use driver::Driver;

/// How long a sequence is at most, in phrases.
const LONGEST: usize = 40;
/// Strategies are large before they are optimised.
const STACK: usize = 32 << 20;
/// How long a failing sequence is cut down.
const CUTTING: Duration = Duration::from_secs(60);

/// What was called, what of it was refused, and what certificates came of it.
static TOLD: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

mod slow {
    use super::*;

    #[test]
    fn the_service_does_what_the_model_says_on_sqlite() {
        run(10, || Some(TestStore::sqlite()));
    }

    #[test]
    fn the_service_does_what_the_model_says_on_postgres() {
        // Each has a database of its own, which takes longer to make there.
        run(4, TestStore::postgres);
    }
}

fn run(cases: u32, store: fn() -> Option<TestStore>) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || run_here(cases, store)).unwrap();
    thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why));
}

fn run_here(cases: u32, store: fn() -> Option<TestStore>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (begun, longer) = (Instant::now(), number("CHANCERY_MODEL_SECONDS").map(Duration::from_secs));
    let cases = number("CHANCERY_MODEL_CASES").map_or(cases, |cases| u32::try_from(cases).unwrap());
    let mut seed = number("CHANCERY_MODEL_SEED").unwrap_or(1);
    loop {
        let config = Config { cases, failure_persistence: None, max_shrink_time: 30_000, ..Config::default() };
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_be_bytes());
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        let outcome = runner.run(&sequences(LONGEST), |calls| runtime.block_on(sequence(store, &calls)));
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(_, calls)) => {
                let (calls, why) = shortest(calls, |calls| runtime.block_on(sequence(store, calls)).err());
                panic!("CHANCERY_MODEL_SEED={seed}: {why}\n{calls:#?}");
            }
            Err(TestError::Abort(why)) => panic!("{why}"),
        }
        if longer.is_none_or(|longer| begun.elapsed() >= longer) {
            break;
        }
        seed += 1;
    }
    let [calls, refused, certificates] = TOLD.each_ref().map(|told| told.load(Ordering::Relaxed));
    eprintln!("{calls} calls, {refused} of them refused; {certificates} certificates; {:?}", begun.elapsed());
}

/// Leaves calls out as long as it fails without them: proptest leaves out whole stories only.
fn shortest(mut calls: Vec<Call>, fails: impl Fn(&[Call]) -> Option<TestCaseError>) -> (Vec<Call>, String) {
    let (begun, mut place) = (Instant::now(), calls.len());
    while place > 0 && begun.elapsed() < CUTTING {
        place -= 1;
        let mut fewer = calls.clone();
        fewer.remove(place);
        if fails(&fewer).is_some() {
            calls = fewer;
        }
    }
    let why = fails(&calls).map_or("it did not fail again".to_owned(), |why| why.to_string());
    (calls, why)
}

async fn sequence(store: fn() -> Option<TestStore>, calls: &[Call]) -> Result<(), TestCaseError> {
    let Some(store) = store() else { return Ok(()) };
    let mut driver = Driver::new(store).await;
    let mut outcome = Ok(());
    for call in beginning().iter().chain(calls) {
        outcome = driver.step(call).await;
        if outcome.is_err() {
            break;
        }
    }
    if outcome.is_ok() {
        outcome = driver.finish().await;
    }
    for (told, count) in TOLD.iter().zip([driver.told.len(), driver.refused, driver.serials.len()]) {
        told.fetch_add(count, Ordering::Relaxed);
    }
    outcome.map_err(|why| TestCaseError::fail(format!("{why}\n{}", driver.told.join("\n"))))
}

/// Somebody to begin with, for each tenant.
fn beginning() -> Vec<Call> {
    let account = |tenant| Call::CreateAccount { tenant, email: 0 };
    let client = || Call::Register { credential: 0, right: true };
    vec![account(0), client(), account(1), client()]
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("it is a number"))
}
