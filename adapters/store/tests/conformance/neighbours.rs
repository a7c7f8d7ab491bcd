//! A second process on the same database: another node, or an operator's command beside the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chancery_domain::PageRequest;
use chancery_store::{AccountFilter, Options};

use crate::common::Database;

pub(crate) async fn two_handles_write_to_one_database(db: Database) {
    let reseller = db.reseller().await.id;
    let handles = [(**db).clone(), db.another(&Options::default()).unwrap()];
    let mut writers = Vec::new();
    for place in 0..60 {
        let (store, account) = (handles[place % 2].clone(), db.make.account(reseller));
        writers.push(tokio::spawn(async move { store.write(move |tx| tx.insert_account(&account)).await }));
    }
    for writer in writers {
        assert!(writer.await.unwrap().unwrap());
    }
    for handle in handles {
        let everything = PageRequest { limit: 100, after: None };
        let page = handle.read(move |tx| tx.accounts(reseller, &AccountFilter::default(), &everything)).await;
        assert_eq!(page.unwrap().items.len(), 60);
    }
}

/// An operator's command is one unit in a process of its own; the server may be busy without a pause.
pub(crate) async fn a_neighbour_gets_its_turn_while_the_store_is_busy(db: Database) {
    let reseller = db.reseller().await.id;
    let (make, busy) = (Arc::new(chancery_testkit::Builders::seeded(2)), Arc::new(AtomicBool::new(true)));
    let mut writers = Vec::new();
    for _ in 0..32 {
        let (store, make, busy) = ((**db).clone(), Arc::clone(&make), Arc::clone(&busy));
        writers.push(tokio::spawn(async move {
            while busy.load(Ordering::Relaxed) {
                let account = make.account(reseller);
                assert!(store.write(move |tx| tx.insert_account(&account)).await.unwrap());
            }
        }));
    }
    let neighbour = db.another(&Options { connections: 1, ..Options::default() }).unwrap();
    let mut refused = Vec::new();
    for _ in 0..10 {
        let other = db.make.reseller();
        if let Err(error) = neighbour.write(move |tx| tx.insert_reseller(&other)).await {
            refused.push(error);
        }
    }
    busy.store(false, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    // Who waits for too long is.
    assert!(refused.is_empty(), "{refused:?}");
}

pub(crate) async fn a_handle_sees_what_another_has_written(db: Database) {
    let other = db.another(&Options { migrate: false, ..Options::default() }).unwrap();
    let reseller = db.reseller().await;
    let id = reseller.id;
    // At once: an operator who has just suspended a reseller expects it to be so.
    let changed = reseller.with_suspended(true, db.make.now());
    other.write(move |tx| tx.save_reseller(&changed)).await.unwrap();
    assert!(db.get(move |tx| tx.reseller(id)).await.unwrap().suspended);
}
