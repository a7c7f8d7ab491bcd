//! I5: what `write` has answered with `Ok` survives `kill -9`, and what was under way is there whole or not at all.
//!
//! A child process lets 200 writers loose on a database and says of each unit of work when it was acknowledged; it is
//! killed in the middle, 50 times on the same database, and each time the database must hold every acknowledged unit.

#![allow(clippy::unwrap_used, reason = "what fails here fails a test")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use chancery_domain::{PageRequest, ResellerId};
use chancery_store::{AccountFilter, AuditFilter, DatabaseUrl, Options, Store, StoreError};
use chancery_testkit::{Address, Builders, SeededEntropy, TestStore};

const ROUNDS: u32 = 50;
const WRITERS: usize = 200;
/// Where the child finds its database, which round it is, and for whom it writes.
const DATABASE: &str = "CHANCERY_KILL_DATABASE";
const ROUND: &str = "CHANCERY_KILL_ROUND";
const RESELLER: &str = "CHANCERY_KILL_RESELLER";
/// What stands before each acknowledgement, apart from what the test runner prints.
const ACKNOWLEDGED: &str = "acknowledged ";

mod slow {
    use chancery_testkit::TestStore;

    #[test]
    fn i5_a_killed_sqlite_loses_no_acknowledged_write_and_keeps_no_half_of_one() {
        let store = TestStore::sqlite();
        super::kill_again_and_again(&store);
        let chancery_testkit::Address::Sqlite(path) = store.address() else { unreachable!("it was made so") };
        let intact: String = rusqlite::Connection::open(path)
            .and_then(|connection| connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
            .unwrap();
        assert_eq!(intact, "ok");
    }

    #[test]
    fn i5_a_killed_node_on_postgres_loses_no_acknowledged_write_and_keeps_no_half_of_one() {
        if let Some(store) = TestStore::postgres() {
            super::kill_again_and_again(&store);
        }
    }
}

/// The process that is killed, where one of the tests above has started it; else there is nothing to do.
#[test]
fn child() {
    let Ok(url) = std::env::var(DATABASE) else { return };
    let url: DatabaseUrl = url.parse().unwrap();
    let reseller = std::env::var(RESELLER).unwrap().parse().unwrap();
    // Another seed for each round, and none of them the parent's.
    let make = Arc::new(Builders::seeded(1 + std::env::var(ROUND).unwrap().parse::<u32>().unwrap()));
    let store = Store::open(&url, &Options { migrate: false, ..Options::default() }).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        let writers: Vec<_> =
            (0..WRITERS).map(|_| tokio::spawn(write_for_ever(store.clone(), reseller, Arc::clone(&make)))).collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

/// One unit after the other, three rows each, each said aloud once the store has said `Ok`.
async fn write_for_ever(store: Store, reseller: ResellerId, make: Arc<Builders>) {
    loop {
        let account = make.account(reseller);
        let (credential, record) = (make.root_credential(&account), make.audit(Some(reseller), account.id));
        let id = account.id;
        let written: Result<(), StoreError> = store
            .write(move |tx| {
                let mut account = account.clone();
                account.number = tx.next_account_number()?;
                assert!(tx.insert_account(&account)?);
                let mut credential = credential.clone();
                credential.number = tx.next_account_number()?;
                tx.insert_credential(&credential, b"sealed")?;
                tx.append_audit(&record)
            })
            .await;
        written.unwrap();
        // One write to the pipe, so that lines of several threads do not mix.
        std::io::stdout().lock().write_all(format!("{ACKNOWLEDGED}{id}\n").as_bytes()).unwrap();
    }
}

fn kill_again_and_again(store: &TestStore) {
    let url = match store.address() {
        Address::Sqlite(path) => format!("sqlite://{}", path.display()),
        Address::Postgres(url) => url,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let patience = SeededEntropy::new(u64::from(ROUNDS));
    let (make, mut rounds) = (Builders::seeded(0), Vec::new());
    for round in 0..ROUNDS {
        let reseller = make.reseller();
        let id = reseller.id;
        assert!(runtime.block_on(store.write(move |tx| tx.insert_reseller(&reseller))).unwrap());
        let wait = Duration::from_micros(patience.number() % 250_000);
        let acknowledged = kill_one(&url, round, id, wait);
        // At once, while PostgreSQL may still be at what it was sent; and through a handle of its own, opened after the
        // kill: what the database says then, not what this process remembers.
        runtime.block_on(check(store, id, &acknowledged));
        runtime.block_on(check(&store.another(&Options::default()).unwrap(), id, &acknowledged));
        rounds.push((id, acknowledged));
    }
    // And no later crash has taken away what an earlier round was promised.
    for (id, acknowledged) in &rounds {
        runtime.block_on(check(store, *id, acknowledged));
    }
    let units: usize = rounds.iter().map(|(_, acknowledged)| acknowledged.len()).sum();
    println!("{units} acknowledged units in {ROUNDS} rounds, all there");
    assert!(units > ROUNDS as usize * 2, "the writers hardly wrote: {units}");
}

/// Starts a child, lets it write, kills it, and gives what it had acknowledged.
fn kill_one(url: &str, round: u32, reseller: ResellerId, wait: Duration) -> BTreeSet<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture"])
        .env(DATABASE, url)
        .env(ROUND, round.to_string())
        .env(RESELLER, reseller.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let (first, began) = mpsc::channel();
    let listener = thread::spawn(move || {
        let (mut acknowledged, mut line) = (BTreeSet::new(), String::new());
        // A last line without its end was cut by the kill: then nobody was told.
        while lines.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
            if let Some(id) = line.trim_end().strip_prefix(ACKNOWLEDGED) {
                acknowledged.insert(id.to_owned());
                // Only the first is waited for.
                let _ = first.send(());
            }
            line.clear();
        }
        acknowledged
    });
    began.recv_timeout(Duration::from_secs(30)).expect("the child writes");
    thread::sleep(wait);
    child.kill().unwrap();
    assert!(child.wait().unwrap().code().is_none(), "the child was killed and did not end by itself");
    listener.join().unwrap()
}

/// All three rows of every acknowledged unit are there, and of every other unit all three or none.
///
/// All of it is read on one snapshot: what a killed node had sent off, PostgreSQL may still commit while this looks.
async fn check(store: &Store, reseller: ResellerId, acknowledged: &BTreeSet<String>) {
    let everything = AccountFilter { include_deleted: true, ..AccountFilter::default() };
    let of_reseller = AuditFilter { reseller: Some(reseller), ..AuditFilter::default() };
    let [accounts, credentials, records] = store
        .read(move |tx| {
            let accounts = all(|page| {
                let page = tx.accounts(reseller, &everything, page)?;
                Ok((page.items.iter().map(|account| account.id.to_string()).collect(), page.next))
            })?;
            let credentials = all(|page| {
                let page = tx.credentials_of_reseller(reseller, page)?;
                Ok((page.items.iter().map(|credential| credential.account.to_string()).collect(), page.next))
            })?;
            let records = all(|page| {
                let page = tx.audit(&of_reseller, page)?;
                Ok((page.items.into_iter().map(|record| record.subject).collect(), page.next))
            })?;
            Ok::<_, StoreError>([accounts, credentials, records])
        })
        .await
        .unwrap();
    assert_eq!(accounts, credentials, "half a unit was kept");
    assert_eq!(accounts, records, "half a unit was kept");
    let mut lost = acknowledged.difference(&accounts);
    let (first, more) = (lost.next(), lost.count());
    assert!(first.is_none(), "of {} were lost {first:?} and {more} more", acknowledged.len());
}

/// The accounts that a list speaks of, to its end.
fn all(
    mut list: impl FnMut(&PageRequest) -> Result<(Vec<String>, Option<String>), StoreError>,
) -> Result<BTreeSet<String>, StoreError> {
    let (mut found, mut after) = (BTreeSet::new(), None);
    loop {
        let (accounts, next) = list(&PageRequest { limit: 1000, after })?;
        found.extend(accounts);
        after = next;
        if after.is_none() {
            return Ok(found);
        }
    }
}
