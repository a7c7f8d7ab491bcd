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
    // Whoever opens it meanwhile makes an empty one.
    fs::write(&log, "").unwrap();
    assert!(has(&store, &before).await && !store.ends_with_reopening());
    for _ in 0..2 {
        let error = add(&store, &refused).await.unwrap_err().to_string();
        assert!(error.contains("was deleted; all that was in it is in the file: start the service again"), "{error}");
    }
    let error = store.ping().await.unwrap_err().to_string();
    assert!(error.contains("was deleted") && store.ends_with_reopening(), "nothing is read either: {error}");
    // Others have it open before this one ends, which must not do any harm to it.
    let again = open(&path);
    let after = make.reseller();
    add(&again, &after).await.unwrap();
    drop(store);
    add(&again, &make.reseller()).await.unwrap();
    let fresh = open(&path);
    assert!(has(&fresh, &before).await && has(&fresh, &after).await && !has(&fresh, &refused).await);
}

#[tokio::test]
async fn what_was_in_a_log_that_was_deleted_is_kept_once_nobody_reads_any_more() {
    let (folder, make) = (tempfile::tempdir().unwrap(), Builders::seeded(1));
    let (path, log) = (folder.path().join("chancery.db"), folder.path().join("chancery.db-wal"));
    let before = make.reseller();
    let store = open(&path);
    let reader = rusqlite::Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM resellers").unwrap();
    add(&store, &before).await.unwrap();
    fs::remove_file(&log).unwrap();
    let error = add(&store, &make.reseller()).await.unwrap_err().to_string();
    assert!(error.contains("do not stop the service before") && !store.ends_with_reopening(), "{error}");
    reader.execute_batch("COMMIT").unwrap();
    assert!(add(&store, &make.reseller()).await.is_err() && store.ends_with_reopening());
    drop((store, reader));
    assert!(has(&open(&path), &before).await);
}

#[tokio::test]
async fn an_index_that_was_deleted_is_made_anew() {
    for instead in [None, Some("another")] {
        let (folder, make) = (tempfile::tempdir().unwrap(), Builders::seeded(1));
        let (path, index) = (folder.path().join("chancery.db"), folder.path().join("chancery.db-shm"));
        let before = make.reseller();
        let store = open(&path);
        add(&store, &before).await.unwrap();
        fs::remove_file(&index).unwrap();
        instead.iter().for_each(|other| fs::write(&index, other).unwrap());
        let error = add(&store, &make.reseller()).await.unwrap_err().to_string();
        assert!(error.contains("the index of the log") && store.ends_with_reopening(), "{error}");
        // As another process finds it: in this one, connections to a file share their index.
        let elsewhere = tempfile::tempdir().unwrap();
        for name in ["chancery.db", "chancery.db-wal"] {
            fs::copy(folder.path().join(name), elsewhere.path().join(name)).unwrap();
        }
        drop(store);
        assert!(has(&open(&elsewhere.path().join("chancery.db")), &before).await);
    }
}

#[tokio::test]
async fn what_was_replaced_is_not_touched() {
    for replaced in ["chancery.db-wal", "chancery.db"] {
        let (folder, make) = (tempfile::tempdir().unwrap(), Builders::seeded(1));
        let (path, log) = (folder.path().join("chancery.db"), folder.path().join("chancery.db-wal"));
        let store = open(&path);
        add(&store, &make.reseller()).await.unwrap();
        fs::remove_file(&log).unwrap();
        // As `cp` does it: another content, and of the database the same file.
        fs::write(folder.path().join(replaced), "another").unwrap();
        let error = add(&store, &make.reseller()).await.unwrap_err().to_string();
        assert!(error.contains("has another log, or is another database"), "{replaced}: {error}");
        assert!(store.ping().await.is_err() && store.empty_log().is_err() && !store.ends_with_reopening());
        drop(store);
        assert_eq!(fs::read(folder.path().join(replaced)).unwrap(), b"another");
    }
}

#[tokio::test]
async fn nothing_is_written_into_a_file_that_is_away_until_it_is_back() {
    let (folder, make) = (tempfile::tempdir().unwrap(), Builders::seeded(1));
    let (path, away) = (folder.path().join("chancery.db"), folder.path().join("away"));
    let store = open(&path);
    add(&store, &make.reseller()).await.unwrap();
    fs::rename(&path, &away).unwrap();
    fs::write(&path, "another").unwrap();
    let error = add(&store, &make.reseller()).await.unwrap_err();
    assert!(error.to_string().contains("are not the files any more that were opened"), "{error}");
    assert!(store.empty_log().is_err());
    assert_eq!(fs::read(&path).unwrap(), b"another");
    fs::rename(&away, &path).unwrap();
    add(&store, &make.reseller()).await.unwrap();
}
