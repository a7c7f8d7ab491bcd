//! The files of a SQLite database that lose their names while it is in use.

use std::fs;
use std::path::Path;

use chancery_domain::Reseller;
use chancery_store::{DatabaseUrl, Options, Store, StoreError};
use chancery_testkit::Builders;

fn open(path: &Path) -> Store {
    Store::open(&DatabaseUrl::Sqlite(path.to_owned()), &Options { migrate: true, ..Options::default() }).unwrap()
}

async fn add(store: &Store, reseller: &Reseller) -> Result<(), StoreError> {
    let reseller = reseller.clone();
    store.write(move |tx| tx.insert_reseller(&reseller)).await.map(drop)
}

async fn has(store: &Store, reseller: &Reseller) -> bool {
    let id = reseller.id;
    store.read(move |tx| tx.reseller(id)).await.unwrap().is_some()
}

#[tokio::test]
async fn what_was_in_a_log_that_was_deleted_is_kept() {
    let (folder, make) = (tempfile::tempdir().unwrap(), Builders::seeded(1));
    let (path, log) = (folder.path().join("chancery.db"), folder.path().join("chancery.db-wal"));
    let (before, refused) = (make.reseller(), make.reseller());
    let store = open(&path);
    add(&store, &before).await.unwrap();
    fs::remove_file(&log).unwrap();
    for _ in 0..2 {
        let error = add(&store, &refused).await.unwrap_err().to_string();
        assert!(error.contains("chancery.db-wal is gone; all that was in it is in the file"), "{error}");
    }
    assert!(has(&store, &before).await);
    // As a process that ends with what it has open.
    let copy = folder.path().join("as-it-is.db");
    fs::copy(&path, &copy).unwrap();
    let again = open(&copy);
    assert!(has(&again, &before).await && !has(&again, &refused).await);
}

#[tokio::test]
async fn nothing_is_written_beside_a_file_or_a_log_that_is_another_or_away() {
    let (folder, make) = (tempfile::tempdir().unwrap(), Builders::seeded(1));
    let (path, log) = (folder.path().join("chancery.db"), folder.path().join("chancery.db-wal"));
    let away = folder.path().join("away");
    let store = open(&path);
    add(&store, &make.reseller()).await.unwrap();
    for moved in [&path, &log] {
        fs::rename(moved, &away).unwrap();
        fs::write(moved, "another").unwrap();
        let error = add(&store, &make.reseller()).await.unwrap_err();
        assert!(error.to_string().contains("are not the files any more that were opened"), "{error}");
        assert!(store.empty_log().is_err());
        assert_eq!(fs::read(moved).unwrap(), b"another");
        fs::rename(&away, moved).unwrap();
        add(&store, &make.reseller()).await.unwrap();
    }
}
