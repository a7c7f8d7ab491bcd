//! Copies of a SQLite database that is in use; PostgreSQL has its own ways.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chancery_domain::{Account, Metadata, PageRequest};
use chancery_store::{AccountFilter, DatabaseUrl, Options, Store, StoreError};
use chancery_testkit::{Builders, TestStore};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_made_under_load_is_complete_and_opens() {
    let store = TestStore::sqlite();
    let make = Arc::new(Builders::seeded(1));
    let reseller = make.reseller();
    let (id, stored) = (reseller.id, reseller.clone());
    store.write(move |tx| tx.insert_reseller(&stored)).await.unwrap();
    // Some megabytes, so that copying takes longer than a commit.
    let long = Metadata::from_stored([("note".to_owned(), "x".repeat(4000))].into());
    let before: Vec<_> = (0..3000).map(|_| Account { metadata: long.clone(), ..make.account(id) }).collect();
    let accounts = before.clone();
    store.write(move |tx| accounts.iter().try_for_each(|account| tx.insert_account(account).map(drop))).await.unwrap();

    let busy = Arc::new(AtomicBool::new(true));
    let writer = tokio::spawn({
        let (store, make, busy) = ((*store).clone(), Arc::clone(&make), Arc::clone(&busy));
        async move {
            while busy.load(Ordering::Relaxed) {
                let account = make.account(id);
                store.write(move |tx| tx.insert_account(&account)).await.unwrap();
            }
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copy.db");
    let (started, copied, target) = (Instant::now(), (*store).clone(), path.clone());
    let copying = tokio::task::spawn_blocking(move || copied.backup(&target));
    let copied = tokio::time::timeout(Duration::from_secs(20), copying).await;
    busy.store(false, Ordering::Relaxed);
    writer.await.unwrap();
    copied.unwrap_or_else(|_| panic!("not done after {:?}", started.elapsed())).unwrap().unwrap();

    let again = store.backup(&path);
    assert!(matches!(again, Err(StoreError::Url(_))), "an older copy must not be overwritten: {again:?}");

    let intact: String = rusqlite::Connection::open(&path)
        .and_then(|connection| connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
        .unwrap();
    assert_eq!(intact, "ok");
    let copy = Store::open(&DatabaseUrl::Sqlite(path), &Options { migrate: false, ..Options::default() }).unwrap();
    for account in before.into_iter().step_by(500) {
        let id = account.id;
        let found = copy.read(move |tx| tx.account(account.reseller, id)).await.unwrap();
        assert_eq!(found, Some(account));
    }
    let page = PageRequest { limit: 1, after: None };
    assert_eq!(copy.read(move |tx| tx.accounts(id, &AccountFilter::default(), &page)).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn a_postgres_database_is_left_to_its_own_tools() {
    let Some(store) = TestStore::postgres() else { return };
    let refused = store.backup(std::path::Path::new("copy.db"));
    assert!(matches!(&refused, Err(StoreError::Url(said)) if said.contains("pg_dump")), "{refused:?}");
}
