use chancery_domain::{Name, Reseller};
use chancery_store::StoreError;

use crate::common::Database;

pub(crate) async fn keeps_every_field(db: Database) {
    let reseller = Reseller { suspended: true, version: 7, ..db.make.reseller() };
    let (stored, code) = (reseller.clone(), reseller.code.clone());
    assert!(db.put(move |tx| tx.insert_reseller(&stored)).await);
    let id = reseller.id;
    assert_eq!(db.get(move |tx| tx.reseller(id)).await, Some(reseller.clone()));
    assert_eq!(db.get(move |tx| tx.reseller_by_code(code.as_str())).await, Some(reseller));
    let unknown = db.make.reseller().id;
    assert_eq!(db.get(move |tx| tx.reseller(unknown)).await, None);
    assert_eq!(db.get(|tx| tx.reseller_by_code("NOBODY")).await, None);
}

pub(crate) async fn a_code_is_taken_once(db: Database) {
    let first = db.reseller().await;
    let second = Reseller { code: first.code.clone(), ..db.make.reseller() };
    let (stored, id) = (second.clone(), second.id);
    assert!(!db.put(move |tx| tx.insert_reseller(&stored)).await);
    assert_eq!(db.get(move |tx| tx.reseller(id)).await, None);
    assert_eq!(db.get(move |tx| tx.reseller_by_code(first.code.as_str())).await.unwrap().id, first.id);
}

pub(crate) async fn saving_changes_what_may_change_and_nothing_else(db: Database) {
    let before = db.reseller().await;
    let other = db.make.reseller();
    let wanted = Reseller { id: before.id, version: before.version, suspended: true, ..other };
    let (saved, id) = (wanted.clone(), before.id);
    db.put(move |tx| tx.save_reseller(&saved)).await;
    let expected = Reseller { code: before.code, created_at: before.created_at, version: before.version + 1, ..wanted };
    assert_eq!(db.get(move |tx| tx.reseller(id)).await, Some(expected));
}

pub(crate) async fn a_stale_copy_cannot_be_saved(db: Database) {
    let id = db.reseller().await.id;
    let read = || db.get(move |tx| tx.reseller(id));
    let (first, second) = (read().await.unwrap(), read().await.unwrap());
    let first = first.with_suspended(true, db.make.now());
    let second = Reseller { name: Name::parse("late").unwrap(), ..second };
    db.put(move |tx| tx.save_reseller(&first)).await;
    let late = db.write(move |tx| tx.save_reseller(&second)).await;
    assert!(matches!(late, Err(StoreError::Stale { table: "reseller", .. })), "{late:?}");
    assert!(read().await.unwrap().suspended);
}
