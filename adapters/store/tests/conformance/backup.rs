//! Copies of a SQLite database that is in use; PostgreSQL has its own ways.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use chancery_domain::{Account, Metadata, Timestamp};
use chancery_store::{DatabaseUrl, Options, Store, StoreError};
use chancery_testkit::{Builders, TestStore};

const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);
const BEFORE: usize = 2000;

/// The umask lets others read what a program creates without saying more.
#[test]
fn a_copy_is_its_owners_alone_from_its_first_byte() {
    let store = TestStore::sqlite();
    let chancery_testkit::Address::Sqlite(database) = store.address() else { unreachable!("it was made so") };
    let directory = tempfile::tempdir().unwrap();
    let [backup, copy] = ["backup.db", "copy.db"].map(|name| directory.path().join(name));
    Store::backup(&database, &backup, NOW).unwrap();
    Store::copy_file(&database, &copy).unwrap();
    for path in [&database, &backup, &copy] {
        // Nothing changes the mode of a copy after it is created.
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600, "{}", path.display());
    }
    let again = Store::copy_file(&database, &copy);
    assert!(matches!(again, Err(StoreError::Url(_))), "a file that is there is not written to: {again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_made_under_load_is_complete_and_opens() {
    let store = TestStore::sqlite();
    let make = Arc::new(Builders::seeded(1));
    let reseller = make.reseller();
    let (id, stored) = (reseller.id, reseller.clone());
    store.write(move |tx| tx.insert_reseller(&stored)).await.unwrap();
    // 60 MB, so that copying takes longer than many commits.
    let long = Metadata::from_stored([("note".to_owned(), "x".repeat(30_000))].into());
    let before: Vec<_> = (0..BEFORE).map(|_| Account { metadata: long.clone(), ..make.account(id) }).collect();
    let accounts = before.clone();
    store.write(move |tx| accounts.iter().try_for_each(|account| tx.insert_account(account).map(drop))).await.unwrap();

    let (busy, written) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let writers = [(); 4].map(|()| {
        let (store, make) = ((*store).clone(), Arc::clone(&make));
        let (busy, written) = (Arc::clone(&busy), Arc::clone(&written));
        tokio::spawn(async move {
            while busy.load(Ordering::SeqCst) {
                let account = make.account(id);
                store.write(move |tx| tx.insert_account(&account)).await.unwrap();
                written.fetch_add(1, Ordering::SeqCst);
            }
        })
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copy.db");
    let chancery_testkit::Address::Sqlite(database) = store.address() else { unreachable!("it was made so") };
    let (from, target, count) = (database.clone(), path.clone(), Arc::clone(&written));
    let copying = tokio::task::spawn_blocking(move || {
        let begun = count.load(Ordering::SeqCst);
        Store::backup(&from, &target, NOW).map(|()| (begun, count.load(Ordering::SeqCst)))
    });
    let (begun, ended) = copying.await.unwrap().unwrap();
    busy.store(false, Ordering::SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }

    let again = Store::backup(&database, &path, NOW);
    assert!(matches!(again, Err(StoreError::Url(_))), "an older copy must not be overwritten: {again:?}");

    let raw = rusqlite::Connection::open(&path).unwrap();
    let intact: String = raw.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(intact, "ok");
    let rows: i64 = raw.query_row("SELECT COUNT(*) FROM accounts", [], |row| row.get(0)).unwrap();
    let since = rows as usize - BEFORE;
    assert!(since >= begun, "{begun} were acknowledged before, the copy has {since}");
    // The copy is of the moment it began: one that began again after each commit might never have ended.
    assert!(since <= begun.midpoint(ended), "began at {begun}, ended at {ended}, the copy has {since}");

    let copy = Store::open(&DatabaseUrl::Sqlite(path), &Options { migrate: false, ..Options::default() }).unwrap();
    for account in before.into_iter().step_by(500) {
        let id = account.id;
        let found = copy.read(move |tx| tx.account(account.reseller, id)).await.unwrap();
        assert!(found == Some(account), "{id} is not in the copy as it was");
    }
}
