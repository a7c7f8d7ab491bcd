//! Every target, from its kept corpus and through mutations of it: the same ones in every run.
//!
//! When a test fails it says how to have the same input again. `CHANCERY_FUZZ_SEED` makes it begin elsewhere,
//! `CHANCERY_FUZZ_ROUNDS` makes it longer, and `CHANCERY_FUZZ_ROUND` runs one round alone.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use chancery_fuzz::mutate::{Dice, mutated};
use chancery_fuzz::{TARGETS, Target, target};

/// No input may take longer. Generous, as the machine may have other things to do: it is for loops without an end.
const LONGEST_INPUT: Duration = Duration::from_secs(2);
/// How long the mutations of a target go on at most.
const LONGEST_RUN: Duration = Duration::from_millis(2500);
/// How many there are at most. A fast machine is done before its time is over.
const ROUNDS: u64 = 20_000;
/// Seeds are small, so what they lead to is too.
const MOST_MEMORY: u64 = 512 << 20;

macro_rules! every_target {
    ($($name:ident)*) => {
        $(#[test] fn $name() { run(target(stringify!($name))); })*

        #[test]
        fn no_target_is_left_out() {
            let tested = BTreeSet::from([$(stringify!($name)),*]);
            assert_eq!(tested, TARGETS.iter().map(|target| target.name).collect());
        }
    };
}

every_target! {
    acme_payload acme_request caa certificate chain csr cursor dns eab form forwarded http_response identifier json_body
    jwk jws jwt lookup ocsp pattern persist policy private_key proxied public_key query redirect renewal sealed text
    tls_alpn token_request webhook_url
}

#[test]
fn every_target_has_seeds_words_and_a_libfuzzer_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = |under: &str, end: &str| -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder.join(under)).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap().trim_end_matches(end).to_owned())
            .collect()
    };
    let targets: BTreeSet<_> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(names("corpus", ""), targets);
    assert_eq!(names("words", ".dict"), targets);
    assert_eq!(names("libfuzzer/fuzz_targets", ".rs"), targets);
    let manifest = std::fs::read_to_string(folder.join("libfuzzer/Cargo.toml")).unwrap();
    for target in TARGETS {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{}.rs\"", target.name)), "{}", target.name);
        assert!(corpus(target).len() >= 2, "{} has too few seeds", target.name);
        let _ = target.words();
    }
}

#[test]
fn the_corpus_is_small() {
    let sizes = TARGETS.iter().flat_map(corpus).map(|(_, seed)| seed.len());
    assert!(sizes.sum::<usize>() < 1 << 20);
}

fn run(target: &'static Target) {
    let seeds = corpus(target);
    let only = number("CHANCERY_FUZZ_ROUND");
    if only.is_none() {
        for (path, seed) in &seeds {
            one(target, seed, &format!("the seed {}", path.display()));
        }
    }
    let seeds: Vec<_> = seeds.into_iter().map(|(_, seed)| seed).collect();
    let (seed, words, begun) = (number("CHANCERY_FUZZ_SEED").unwrap_or(1), target.words(), Instant::now());
    let rounds = number("CHANCERY_FUZZ_ROUNDS");
    for round in only.map_or(0..rounds.unwrap_or(ROUNDS), |only| only..only + 1) {
        let input = mutated(target.form, &words, &seeds, &mut Dice::new(seed, round));
        let name = target.name;
        let again = format!("CHANCERY_FUZZ_SEED={seed} CHANCERY_FUZZ_ROUND={round} cargo test -p chancery-fuzz {name}");
        one(target, &input, &again);
        if rounds.is_none() && begun.elapsed() > LONGEST_RUN {
            break;
        }
    }
    let peak = peak_memory();
    assert!(peak.is_none_or(|peak| peak < MOST_MEMORY), "{} used {peak:?} bytes of memory", target.name);
}

/// Runs one input. What it was is told if it panics, and if it does not end.
fn one(target: &'static Target, input: &[u8], origin: &str) {
    struct Tell<'a>(&'a str, &'a [u8]);
    impl Drop for Tell<'_> {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("failed: {}\ninput: {}", self.0, self.1.escape_ascii());
            }
        }
    }
    let _tell = Tell(origin, input);
    watch(origin);
    let begun = Instant::now();
    (target.run)(input);
    let took = begun.elapsed();
    assert!(took < LONGEST_INPUT, "it took {took:?}");
}

/// Ends the whole process when an input never ends: a test cannot end another thread.
fn watch(origin: &str) {
    thread_local! { static WATCHED: Watched = Watched::start(); }
    WATCHED.with(|watched| watched.next(origin));
}

struct Watched(std::sync::Arc<(AtomicU64, std::sync::Mutex<String>)>);

impl Watched {
    fn start() -> Self {
        let shared = std::sync::Arc::new((AtomicU64::new(0), std::sync::Mutex::new(String::new())));
        let weak = std::sync::Arc::downgrade(&shared);
        std::thread::spawn(move || {
            let mut last = 0;
            loop {
                std::thread::sleep(LONGEST_INPUT * 15);
                let Some(shared) = weak.upgrade() else { return };
                let now = shared.0.load(Ordering::Relaxed);
                if now == last {
                    eprintln!("failed, as it does not end: {}", shared.1.lock().unwrap());
                    std::process::abort();
                }
                last = now;
            }
        });
        Self(shared)
    }

    fn next(&self, origin: &str) {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        origin.clone_into(&mut self.0.1.lock().unwrap());
    }
}

/// The seeds, in an order that does not depend on the file system.
fn corpus(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("it is a number"))
}

/// The most memory that this process ever had, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}
