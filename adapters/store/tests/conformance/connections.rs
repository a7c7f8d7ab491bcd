//! PostgreSQL can go away and come back: what was idle is connected anew, what was under way is run again.

use std::sync::Arc;

use chancery_store::{DatabaseUrl, Options, Store, StoreError};
use chancery_testkit::{Builders, TestStore};

use crate::common::{Gate, raw, raw_texts};

const CUT: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_that_was_cut_is_made_anew() {
    let Some(store) = TestStore::postgres() else { return };
    let make = Builders::seeded(1);
    for _ in 0..3 {
        // As many units as there are connections, so that each is opened, then cut.
        for _ in 0..16 {
            store.ping().await.unwrap();
        }
        raw(&store.address(), CUT).unwrap();
        let reseller = make.reseller();
        assert!(store.write(move |tx| tx.insert_reseller(&reseller)).await.unwrap());
    }
}

/// Without TLS, whatever the URL says: there is none on a socket.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_on_the_same_machine_is_reached_by_its_socket() {
    let Some(store) = TestStore::postgres() else { return };
    let said = "SELECT 'host=' || split_part(current_setting('unix_socket_directories'), ',', 1)
                || '&port=' || current_setting('port') || '&user=' || current_user";
    let place = raw_texts(&store.address(), said).remove(0);
    let name = raw_texts(&store.address(), "SELECT current_database()::text").remove(0);
    for mode in ["", "&sslmode=require"] {
        let url: DatabaseUrl = format!("postgres:///{name}?{place}{mode}").parse().unwrap();
        let by_socket = Store::open(&url, &Options::default()).unwrap();
        by_socket.ping().await.unwrap();
    }
}

/// A transaction that was refused is dropped late, and whoever comes next on its connection must not notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unit_that_was_refused_leaves_nothing_to_the_next() {
    let Some(store) = TestStore::postgres() else { return };
    let make = Arc::new(Builders::seeded(1));
    let nobody = make.reseller().id;
    let mut all = tokio::task::JoinSet::new();
    for number in 0..240 {
        let (store, make) = (store.clone(), make.clone());
        all.spawn(async move {
            let account = make.account(nobody);
            match number % 6 {
                0 | 1 => {
                    let refused = store.write(move |tx| tx.insert_account(&account)).await;
                    assert!(refused.is_err(), "{refused:?}");
                }
                2 => drop(store.read(move |tx| tx.reseller(nobody)).await.unwrap()),
                3 => drop(store.read(|tx| tx.identity_epoch()).await.unwrap()),
                4 => drop(store.read(move |tx| tx.account(nobody, account.id)).await.unwrap()),
                _ => drop(store.write(|tx| tx.next_account_number()).await.unwrap()),
            }
        });
    }
    while let Some(done) = all.join_next().await {
        done.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unit_whose_connection_is_cut_is_run_again_or_says_so() {
    let Some(store) = TestStore::postgres() else { return };
    let reseller = Builders::seeded(1).reseller();
    for _ in 0..16 {
        store.ping().await.unwrap();
    }
    let (gate, stored, id) = (Arc::new(Gate::default()), reseller.clone(), reseller.id);
    let inside = Arc::clone(&gate);
    let writing = store.write(move |tx| {
        let added = tx.insert_reseller(&stored)?;
        inside.pass();
        Ok::<_, StoreError>(added)
    });
    let cutting = async {
        gate.reached().await;
        raw(&store.address(), CUT).unwrap();
        gate.open();
    };
    let (written, ()) = tokio::join!(writing, cutting);
    // The cut came before the commit was asked for, but the store cannot know: it may say that it does not.
    assert!(matches!(written, Ok(true) | Err(StoreError::Unknown(_))), "{written:?}");
    let kept = store.read(move |tx| tx.reseller(id)).await.unwrap();
    assert_eq!(kept.is_some(), written.is_ok());
}
