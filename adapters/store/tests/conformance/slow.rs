//! Cases that take long by nature; a quick run leaves them out.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use chancery_store::{Options, Store, StoreError, Tx, migrations};
use chancery_testkit::Address;

use crate::common::{Database, Gate, Result};

/// Somebody who forgets an open transaction in a database shell stops us, but has not broken anything.
pub(crate) async fn a_lock_that_is_not_given_back_is_no_mistake_of_ours(db: Database) {
    let reseller = db.reseller().await;
    let (locked, told) = std::sync::mpsc::channel();
    let (finish, finished) = std::sync::mpsc::channel::<()>();
    let address = db.address();
    let holder = thread::spawn(move || match address {
        Address::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            locked.send(()).unwrap();
            finished.recv().unwrap();
        }
        Address::Postgres(url) => {
            let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
            client.batch_execute("BEGIN; SELECT 1 FROM resellers FOR UPDATE").unwrap();
            locked.send(()).unwrap();
            finished.recv().unwrap();
        }
    });
    told.recv_timeout(Duration::from_secs(10)).unwrap();
    let changed = reseller.with_suspended(true, db.make.now());
    let stopped = changed.clone();
    let stopped = db.write(move |tx| tx.save_reseller(&stopped)).await;
    assert!(matches!(stopped, Err(StoreError::Unavailable(_))), "{stopped:?}");
    if let Address::Postgres(_) = db.address() {
        db.ping().await.expect("the server can write, and others are to be sent here");
    }
    finish.send(()).unwrap();
    holder.join().unwrap();
    db.put(move |tx| tx.save_reseller(&changed)).await;
}

/// A node that migrates a large database keeps the others waiting for longer than any request waits.
pub(crate) async fn a_migration_waits_for_another_that_takes_long(db: Database) {
    let blank = db.blank();
    let Address::Postgres(url) = &blank.address else { return };
    let (locked, told) = std::sync::mpsc::channel();
    let (finish, finished) = std::sync::mpsc::channel::<()>();
    let done = thread::scope(|scope| {
        scope.spawn(move || {
            let mut other = postgres::Client::connect(url, postgres::NoTls).unwrap();
            other.execute("SELECT pg_advisory_lock($1)", &[&0x0C4A_17CE_i64]).unwrap();
            locked.send(()).unwrap();
            finished.recv().unwrap();
        });
        told.recv_timeout(Duration::from_secs(10)).unwrap();
        let migrating = scope.spawn(|| Store::migrate(&blank.url, &Options::default()));
        thread::sleep(Duration::from_secs(11));
        finish.send(()).unwrap();
        migrating.join().unwrap().unwrap()
    });
    assert_eq!(done.len(), migrations().len());
}

/// It is the queue that refuses a unit whose turn does not come, and the database is there.
pub(crate) async fn a_unit_that_waits_too_long_for_its_turn_finds_the_queue_full(db: Database) {
    // The threads of a SQLite database are never without a connection.
    if !db.is_shared() {
        return;
    }
    let store = db.another(&Options { connections: 2, ..Options::default() }).unwrap();
    let gate = Arc::new(Gate::default());
    let occupying: Vec<_> = (0..2)
        .map(|_| {
            let (store, gate) = (store.clone(), gate.clone());
            let wait = move |_: &mut Tx<'_>| -> Result {
                gate.pass();
                Ok(())
            };
            tokio::spawn(async move { store.write(wait).await })
        })
        .collect();
    gate.reached_by(2).await;
    let refused = store.read(|tx| tx.identity_epoch()).await;
    assert!(matches!(refused, Err(StoreError::QueueFull)), "{refused:?}");
    gate.open();
    for unit in occupying {
        unit.await.unwrap().unwrap();
    }
    store.ping().await.unwrap();
}
