//! A unit of work happens whole or not at all, and no unit spoils another's.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use chancery_domain::{Account, EabCredential};
use chancery_store::{Options, StoreError, Tx, WritePeaks};
use chancery_testkit::Builders;

use crate::common::{Database, Gate, Result};

fn undo<T>() -> Result<T> {
    Err(StoreError::Corrupt("undo".to_owned()))
}

/// Hands a unit to the store without waiting for its end; the result is there already where it was refused.
async fn start<F: Future + ?Sized>(mut unit: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(unit.as_mut().poll(context))).await
}

/// A credential of an account that does not exist, which a foreign key refuses.
fn orphan() -> EabCredential {
    let make = Builders::seeded(99);
    make.credential(&make.account(make.reseller().id))
}

async fn exists(db: &Database, account: &Account) -> bool {
    let (reseller, id) = (account.reseller, account.id);
    db.get(move |tx| tx.account(reseller, id)).await.is_some()
}

pub(crate) async fn an_error_leaves_nothing_behind(db: Database) {
    let reseller = db.reseller().await;
    let account = db.make.account(reseller.id);
    let (stored, changed, record) =
        (account.clone(), reseller.clone().with_suspended(true, db.make.now()), db.make.audit(None, "x"));
    let failed: Result = db
        .write(move |tx| {
            assert!(tx.insert_account(&stored)?);
            tx.save_reseller(&changed)?;
            tx.append_audit(&record)?;
            undo()
        })
        .await;
    assert!(matches!(failed, Err(StoreError::Corrupt(said)) if said == "undo"));
    assert!(!exists(&db, &account).await);
    assert!(!db.get(move |tx| tx.reseller(reseller.id)).await.unwrap().suspended);
    assert!(db.get(|tx| tx.audit(&Default::default(), &Default::default())).await.items.is_empty());
}

/// On SQLite the units after the first wait for it together, and share one commit.
pub(crate) async fn neighbours_of_a_failed_unit_are_kept(db: Database) {
    let reseller = db.reseller().await.id;
    let gate = Arc::new(Gate::default());
    let accounts = [(); 9].map(|()| db.make.account(reseller));
    let mut units = Vec::new();
    for (place, account) in accounts.clone().into_iter().enumerate() {
        let gate = Arc::clone(&gate);
        units.push(Box::pin(db.write(move |tx| {
            if place == 0 {
                gate.pass();
            }
            assert!(tx.insert_account(&account)?);
            // Refused by us, refused by the database, and well.
            match place % 3 {
                1 => undo(),
                2 => tx.insert_credential(&orphan(), b"sealed"),
                _ => Ok(()),
            }
        })));
    }
    for unit in &mut units {
        assert!(start(unit.as_mut()).await.is_pending());
    }
    gate.reached().await;
    gate.open();
    for (place, (unit, account)) in units.into_iter().zip(&accounts).enumerate() {
        let kept = place % 3 == 0;
        assert_eq!(unit.await.is_ok(), kept, "unit {place}");
        assert_eq!(exists(&db, account).await, kept, "unit {place}");
    }
}

pub(crate) async fn a_panic_hurts_nobody_else(db: Database) {
    let reseller = db.reseller().await.id;
    let (lost, kept) = (db.make.account(reseller), db.make.account(reseller));
    for _ in 0..20 {
        let stored = lost.clone();
        let failed: Result = db
            .write(move |tx| {
                assert!(tx.insert_account(&stored)?);
                panic!("on purpose")
            })
            .await;
        assert!(matches!(&failed, Err(StoreError::Database(said)) if said.contains("panicked")), "{failed:?}");
        let failed: Result = db.read(|_| panic!("on purpose")).await;
        assert!(failed.is_err());
    }
    db.account(kept.clone()).await;
    assert!(exists(&db, &kept).await && !exists(&db, &lost).await);
}

/// PostgreSQL drops the whole transaction after a failed statement, and answers a commit as if all were well.
pub(crate) async fn a_swallowed_database_error_keeps_nothing(db: Database) {
    let reseller = db.reseller().await.id;
    let account = db.make.account(reseller);
    let stored = account.clone();
    let swallowed: Result = db
        .write(move |tx| {
            assert!(tx.insert_account(&stored)?);
            drop(tx.insert_credential(&orphan(), b"sealed"));
            Ok(())
        })
        .await;
    assert!(matches!(swallowed, Err(StoreError::Database(_))), "{swallowed:?}");
    assert!(!exists(&db, &account).await);
}

pub(crate) async fn a_reading_unit_cannot_write(db: Database) {
    let reseller = db.make.reseller();
    let (stored, id) = (reseller.clone(), reseller.id);
    assert!(db.read(move |tx| tx.insert_reseller(&stored)).await.is_err());
    assert_eq!(db.get(move |tx| tx.reseller(id)).await, None);
    let stored = reseller.clone();
    assert!(db.put(move |tx| tx.insert_reseller(&stored)).await);
}

pub(crate) async fn a_reading_unit_sees_one_moment(db: Database) {
    let reseller = db.reseller().await;
    let (gate, id) = (Arc::new(Gate::default()), reseller.id);
    let inside = Arc::clone(&gate);
    let reading = db.read(move |tx| {
        let first = tx.reseller(id)?;
        inside.pass();
        Ok::<_, StoreError>((first, tx.reseller(id)?))
    });
    let mut reading = Box::pin(reading);
    assert!(start(reading.as_mut()).await.is_pending());
    gate.reached().await;
    let changed = reseller.clone().with_suspended(true, db.make.now());
    db.put(move |tx| tx.save_reseller(&changed)).await;
    gate.open();
    assert_eq!(reading.await.unwrap(), (Some(reseller.clone()), Some(reseller)));
    assert!(db.get(move |tx| tx.reseller(id)).await.unwrap().suspended);
}

pub(crate) async fn what_waits_beyond_the_queue_is_refused(db: Database) {
    let narrow = db.another(&Options { connections: 2, queue: 3, ..Options::default() }).unwrap();
    for write in [true, false] {
        let gate = Arc::new(Gate::default());
        let mut units = Vec::new();
        for _ in 0..2 + 3 + 4 {
            let (narrow, gate) = (narrow.clone(), Arc::clone(&gate));
            let mut unit: Pin<Box<dyn Future<Output = Result>>> = Box::pin(async move {
                let wait = move |_: &mut chancery_store::Tx<'_>| {
                    gate.pass();
                    Ok(())
                };
                if write { narrow.write(wait).await } else { narrow.read(wait).await }
            });
            let answer = start(unit.as_mut()).await;
            units.push((unit, answer));
            // Room for the threads to take what they can.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let refused = units.iter().filter(|(_, answer)| answer.is_ready()).count();
        assert!((4..=5).contains(&refused), "{refused} were refused");
        gate.open();
        for (unit, answer) in units {
            match answer {
                Poll::Ready(refused) => {
                    assert!(matches!(refused, Err(StoreError::QueueFull)), "{refused:?}");
                }
                Poll::Pending => unit.await.unwrap(),
            }
        }
        narrow.ping().await.unwrap();
    }
}

pub(crate) async fn a_unit_whose_caller_went_away_is_done_all_the_same(db: Database) {
    let account = db.make.account(db.reseller().await.id);
    let (gate, stored) = (Arc::new(Gate::default()), account.clone());
    let inside = Arc::clone(&gate);
    let mut unit = Box::pin(db.write(move |tx| {
        inside.pass();
        tx.insert_account(&stored)
    }));
    assert!(start(unit.as_mut()).await.is_pending());
    gate.reached().await;
    drop(unit);
    gate.open();
    // On PostgreSQL another connection may be ahead of it.
    for _ in 0..500 {
        if exists(&db, &account).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the unit was lost with its caller");
}

pub(crate) async fn what_would_only_be_read_is_not_once_nobody_waits(db: Database) {
    let narrow = db.another(&Options { connections: 2, ..Options::default() }).unwrap();
    let (gate, read) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
    let mut held = Vec::new();
    for _ in 0..2 {
        let inside = Arc::clone(&gate);
        held.push(Box::pin(narrow.read(move |_| {
            inside.pass();
            Ok::<_, StoreError>(())
        })));
    }
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let read = Arc::clone(&read);
        waiting.push(Box::pin(narrow.read(move |_| Ok::<_, StoreError>(read.fetch_add(1, Ordering::SeqCst)))));
    }
    for unit in &mut held {
        assert!(start(unit.as_mut()).await.is_pending());
    }
    gate.reached_by(2).await;
    for unit in &mut waiting {
        assert!(start(unit.as_mut()).await.is_pending());
    }
    waiting.drain(..2);
    gate.open();
    for unit in waiting {
        assert_eq!(unit.await.unwrap(), 0, "somebody else's was read");
    }
    for unit in held {
        unit.await.unwrap();
    }
}

/// Deferred writes, guarded updates and rows that a statement gives back all count.
pub(crate) async fn the_largest_write_is_known_by_its_rows(db: Database) {
    let account = db.some_account().await;
    let groups = [db.group(account.reseller).await, db.group(account.reseller).await];
    let now = db.make.now();
    db.take_write_peaks();
    assert_eq!(db.take_write_peaks(), WritePeaks::default());
    let [first, second] = groups.clone();
    db.put(move |tx| {
        tx.add_member(first.id, account.id, now)?;
        tx.add_member(second.id, account.id, now)?;
        tx.change_member_count(second.id, 1, now)?;
        tx.save_group(&first)
    })
    .await;
    let peaks = db.take_write_peaks();
    assert_eq!(peaks.rows, 4);
    assert!(!peaks.time.is_zero());
    // A smaller one does not hide a larger one, and what is given up does not count.
    let [first, second] = groups.clone();
    let leave = move |tx: &mut Tx<'_>| {
        tx.remove_member(first.id, account.id)?;
        tx.remove_member(second.id, account.id)?;
        tx.change_member_count(second.id, -1, now)
    };
    db.put(leave).await;
    let first = groups[0].id;
    db.put(move |tx| tx.change_member_count(first, 1, now)).await;
    let unit = move |tx: &mut Tx<'_>| {
        for _ in 0..9 {
            tx.change_member_count(groups[0].id, 1, now)?;
        }
        Err::<(), _>(StoreError::Unavailable("given up".to_owned()))
    };
    assert!(db.write(unit).await.is_err());
    assert_eq!(db.take_write_peaks().rows, 3);
    // A commit is known by the time its caller is answered.
    for number in 0..50 {
        db.put(move |tx| tx.change_member_count(first, 1, now)).await;
        assert!(!db.take_write_peaks().time.is_zero(), "{number}");
    }
}
