use std::collections::BTreeSet;
use std::sync::Arc;

use chancery_domain::{Account, AccountNumber};
use chancery_store::{Options, Store, StoreError};

use crate::common::{Database, Result};

/// One unit that draws a number and keeps it, or fails after drawing it.
async fn draw(store: Store, account: Account, keep: bool) -> Result<AccountNumber> {
    store
        .write(move |tx| {
            let number = tx.next_account_number()?;
            assert!(tx.insert_account(&Account { number, ..account.clone() })?);
            if keep { Ok(number) } else { Err(StoreError::Corrupt("undo".to_owned())) }
        })
        .await
}

pub(crate) async fn none_is_given_twice_to_concurrent_units(db: Database) {
    let reseller = db.reseller().await.id;
    let handles = [(**db).clone(), db.another(&Options::default()).unwrap()];
    let mut units = Vec::new();
    for place in 0..120 {
        let store = handles[place % 2].clone();
        units.push(tokio::spawn(draw(store, db.make.account(reseller), place % 3 != 0)));
    }
    let mut given = BTreeSet::new();
    for (place, unit) in units.into_iter().enumerate() {
        match unit.await.unwrap() {
            Ok(number) => assert!(given.insert(number) && place % 3 != 0, "{number} was given twice"),
            Err(error) => assert!(place % 3 == 0, "{error}"),
        }
    }
    assert_eq!(given.len(), 80);
}

pub(crate) async fn none_comes_back_after_termination_or_failure(db: Database) {
    let reseller = db.reseller().await.id;
    let make = Arc::new(chancery_testkit::Builders::seeded(2));
    let draw = |keep| draw((**db).clone(), make.account(reseller), keep);
    let first = draw(true).await.unwrap();
    let now = db.make.now();
    db.put(move |tx| {
        let account = tx.account_by_number(reseller, first.0)?.expect("it was kept");
        tx.save_account(&account.terminate(now).expect("it was live"))
    })
    .await;
    let second = draw(true).await.unwrap();
    assert!(draw(false).await.is_err());
    let third = draw(true).await.unwrap();
    assert!(first < second && second < third, "{first}, {second}, {third}");
    // The number is enough to tell what it was given to.
    assert!(db.get(move |tx| tx.account_by_number(reseller, first.0)).await.unwrap().is_terminated());
}
