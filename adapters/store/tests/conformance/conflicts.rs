//! Two units that want the same thing at the same moment. On PostgreSQL they really meet; on SQLite one comes after
//! the other, and the outcome is the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chancery_domain::{Account, EmailAddress};
use chancery_store::{StoredAnswer, Tx};

use crate::common::{Database, Meeting, Result};

/// Runs a unit twice at once, and gives both results.
async fn twice<T: Send + 'static>(
    db: &Database,
    unit: impl FnMut(&mut Tx<'_>, &Meeting, usize) -> Result<T> + Clone + Send + 'static,
) -> [Result<T>; 2] {
    let meeting = Arc::new(Meeting::default());
    let run = |which| {
        let (meeting, mut unit) = (Arc::clone(&meeting), unit.clone());
        db.write(move |tx| unit(tx, &meeting, which))
    };
    let (first, second) = tokio::join!(run(0), run(1));
    [first, second]
}

pub(crate) async fn a_unit_that_meets_another_is_run_again(db: Database) {
    let account = db.some_account().await;
    let (reseller, id, now) = (account.reseller, account.id, db.make.now());
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let results = twice(&db, move |tx, meeting, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        let account = tx.account(reseller, id)?.expect("it is there");
        meeting.wait();
        tx.save_account(&Account { updated_at: now, ..account })
    })
    .await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(db.stored(&account).await.version, account.version + 2);
    // Three where they met and the second had to go again, two where they came one after the other.
    let runs = runs.load(Ordering::SeqCst);
    let expected = if matches!(db.address(), chancery_testkit::Address::Postgres(_)) { 3 } else { 2 };
    assert_eq!(runs, expected);
}

pub(crate) async fn two_holders_that_both_write_both_end(db: Database) {
    let account = db.some_account().await;
    let (reseller, id, now) = (account.reseller, account.id, db.make.now());
    let results = twice(&db, move |tx, meeting, _| {
        let account = tx.hold_account(reseller, id)?.expect("it is there");
        meeting.wait();
        tx.save_account(&Account { updated_at: now, ..account })
    })
    .await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(db.stored(&account).await.version, account.version + 2);
}

pub(crate) async fn one_address_inserted_twice_at_once_goes_to_one(db: Database) {
    let reseller = db.reseller().await.id;
    let email = EmailAddress::parse("a@example.com").unwrap();
    let accounts = [(); 2].map(|()| Account { email: email.clone(), ..db.make.account(reseller) });
    let results = twice(&db, move |tx, meeting, which| {
        let free = tx.account_by_email(reseller, "a@example.com")?.is_none();
        meeting.wait();
        Ok(free && tx.insert_account(&accounts[which])?)
    })
    .await;
    let won: Vec<_> = results.into_iter().filter(|result| matches!(result, Ok(true))).collect();
    assert_eq!(won.len(), 1);
}

/// The one that comes second must hear that the address is taken, not that the database failed.
pub(crate) async fn one_address_saved_twice_at_once_goes_to_one(db: Database) {
    let reseller = db.reseller().await.id;
    let ids = [db.account(db.make.account(reseller)).await.id, db.account(db.make.account(reseller)).await.id];
    let results = twice(&db, move |tx, meeting, which| {
        let account = tx.account(reseller, ids[which])?.expect("it is there");
        let free = tx.account_by_email(reseller, "a@example.com")?.is_none();
        meeting.wait();
        if free {
            tx.save_account(&Account { email: EmailAddress::parse("a@example.com").unwrap(), ..account })?;
        }
        Ok(free)
    })
    .await;
    let mut won: Vec<_> = results.into_iter().map(|result| result.expect("neither fails")).collect();
    won.sort_unstable();
    assert_eq!(won, [false, true]);
}

pub(crate) async fn one_key_used_twice_at_once_gives_one_answer(db: Database) {
    let (reseller, now) = (db.reseller().await.id, db.make.now());
    let results = twice(&db, move |tx, meeting, which| {
        if let Some(found) = tx.answer(reseller, "key", now)? {
            return Ok(found.sealed);
        }
        meeting.wait();
        let sealed = vec![which as u8];
        let answer = StoredAnswer { fingerprint: vec![], status: 200, sealed: sealed.clone(), created_at: now };
        tx.keep_answer(reseller, "key", &answer, now)?;
        Ok(sealed)
    })
    .await;
    let [Ok(first), Ok(second)] = results else { panic!("both are answered") };
    assert_eq!(first, second);
}

pub(crate) async fn one_secret_settled_twice_at_once_is_the_same(db: Database) {
    let now = db.make.now();
    let results = twice(&db, move |tx, meeting, which| {
        assert!(tx.service_secret("unrelated")?.is_none());
        meeting.wait();
        tx.settle_service_secret("cursor", &[which as u8], now)
    })
    .await;
    let [Ok(first), Ok(second)] = results else { panic!("both get one") };
    assert_eq!(first, second);
}
