use std::time::Duration;

use chancery_domain::{PAGE_BYTES, ResellerId, Timestamp};
use chancery_store::{StoreError, StoredAnswer};

use crate::common::{Database, Result};

const DAY: Duration = Duration::from_secs(86_400);

fn answer(text: &str, created_at: Timestamp) -> StoredAnswer {
    StoredAnswer { fingerprint: vec![0, 1, 255], status: 201, sealed: text.as_bytes().to_vec(), created_at }
}

async fn keep(db: &Database, reseller: ResellerId, key: &'static str, answer: StoredAnswer) -> Result {
    let not_before = answer.created_at.minus(DAY);
    db.write(move |tx| tx.keep_answer(reseller, key, &answer, not_before)).await
}

async fn find(db: &Database, reseller: ResellerId, key: &'static str, now: Timestamp) -> Option<Vec<u8>> {
    let found = db.get(move |tx| tx.answer(reseller, key, now.minus(DAY))).await;
    found.map(|answer| answer.sealed)
}

pub(crate) async fn an_answer_is_kept_and_given_again(db: Database) {
    let (reseller, now) = (db.reseller().await.id, db.make.now());
    assert!(find(&db, reseller, "key-1", now).await.is_none());
    keep(&db, reseller, "key-1", answer("first", now)).await.unwrap();
    let found = db.get(move |tx| tx.answer(reseller, "key-1", now)).await.unwrap();
    assert_eq!((found.fingerprint, found.status, found.created_at), (vec![0, 1, 255], 201, now));
    assert_eq!(found.sealed, b"first");
    assert!(find(&db, reseller, "key-2", now).await.is_none());
}

pub(crate) async fn a_key_belongs_to_its_reseller(db: Database) {
    let (one, other, now) = (db.reseller().await.id, db.reseller().await.id, db.make.now());
    keep(&db, one, "key", answer("mine", now)).await.unwrap();
    assert!(find(&db, other, "key", now).await.is_none());
    keep(&db, other, "key", answer("theirs", now)).await.unwrap();
    assert_eq!(find(&db, one, "key", now).await.unwrap(), b"mine");
    assert_eq!(find(&db, other, "key", now).await.unwrap(), b"theirs");
}

pub(crate) async fn an_answer_grows_old(db: Database) {
    let (reseller, now) = (db.reseller().await.id, db.make.now());
    keep(&db, reseller, "key", answer("first", now)).await.unwrap();
    assert!(find(&db, reseller, "key", now.plus(DAY)).await.is_some());
    assert!(find(&db, reseller, "key", now.plus(DAY + Duration::from_millis(1))).await.is_none());
}

pub(crate) async fn a_second_answer_is_stale_while_the_first_is_young(db: Database) {
    let (reseller, now) = (db.reseller().await.id, db.make.now());
    keep(&db, reseller, "key", answer("first", now)).await.unwrap();
    let late = keep(&db, reseller, "key", answer("second", now.plus(DAY))).await;
    assert!(matches!(late, Err(StoreError::Stale { table: "idempotency key", .. })), "{late:?}");
    assert_eq!(find(&db, reseller, "key", now).await.unwrap(), b"first");
}

pub(crate) async fn an_old_answer_makes_room_for_a_new_one(db: Database) {
    let (reseller, now) = (db.reseller().await.id, db.make.now());
    let later = now.plus(DAY + Duration::from_millis(1));
    keep(&db, reseller, "key", answer("first", now)).await.unwrap();
    let new = StoredAnswer { fingerprint: vec![9], status: 200, ..answer("second", later) };
    keep(&db, reseller, "key", new).await.unwrap();
    let found = db.get(move |tx| tx.answer(reseller, "key", now)).await.unwrap();
    assert_eq!((found.fingerprint, found.status, found.created_at), (vec![9], 200, later));
    assert_eq!(found.sealed, b"second");
}

pub(crate) async fn old_answers_are_forgotten_oldest_first(db: Database) {
    let (reseller, other) = (db.reseller().await.id, db.reseller().await.id);
    let times = [(); 4].map(|()| db.make.now());
    keep(&db, reseller, "b", answer("b", times[1])).await.unwrap();
    keep(&db, reseller, "a", answer("a", times[0])).await.unwrap();
    keep(&db, other, "c", answer("c", times[2])).await.unwrap();
    keep(&db, other, "d", answer("d", times[3])).await.unwrap();
    let forget = |most| db.put(move |tx| tx.forget_answers(times[3], most));
    assert_eq!(forget(1).await, 1);
    assert!(find(&db, reseller, "a", times[3]).await.is_none());
    assert!(find(&db, reseller, "b", times[3]).await.is_some());
    assert_eq!(forget(100).await, 2);
    assert_eq!(forget(100).await, 0);
    assert_eq!(find(&db, other, "d", times[3]).await.unwrap(), b"d");
}

/// Earlier versions kept refusals of any length. Reading one would take as much memory.
pub(crate) async fn an_answer_that_is_too_long_counts_as_none(db: Database) {
    let (reseller, now) = (db.reseller().await.id, db.make.now());
    keep(&db, reseller, "key", answer(&"x".repeat(PAGE_BYTES + 5000), now)).await.unwrap();
    assert!(find(&db, reseller, "key", now).await.is_none());
    keep(&db, reseller, "key", answer("second", now)).await.unwrap();
    assert_eq!(find(&db, reseller, "key", now).await.unwrap(), b"second");
}
