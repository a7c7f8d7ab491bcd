//! Those on whom an ACME account depends: they are remembered, and nobody must be able to tell.

use std::time::Duration;

use chancery_domain::{Account, AcmeAccount, AcmeAccountId, AcmeAccountState};
use chancery_store::{NonceClaim, Party, Redeemed, Redemption, StoreError};
use chancery_testkit::Address;

use crate::common::{Database, Result, raw};

async fn some_acme_account(db: &Database) -> (Account, AcmeAccountId) {
    let account = db.some_account().await;
    let (id, now) = (AcmeAccountId::new(db.make.now(), db.make.entropy()), db.make.now());
    let stored = AcmeAccount {
        id,
        reseller: account.reseller,
        account: account.id,
        kid: account.kid,
        jwk: "{}".to_owned(),
        thumbprint: "first".to_owned(),
        contacts: Vec::new(),
        terms_agreed_at: None,
        state: AcmeAccountState::Active,
        created_at: now,
        updated_at: now,
        version: 1,
    };
    db.put(move |tx| tx.insert_acme_account(&stored)).await;
    (account, id)
}

async fn party(db: &Database, id: AcmeAccountId) -> Option<Party> {
    db.get(move |tx| tx.party(id)).await
}

pub(crate) async fn a_change_is_seen_at_once_whoever_makes_it(db: Database) {
    let (_, id) = some_acme_account(&db).await;
    let mut before = party(&db, id).await.unwrap();
    assert_eq!(party(&db, id).await.unwrap(), before);
    // From outside, as an operator's command does.
    for change in [
        "UPDATE resellers SET suspended = 1",
        "UPDATE accounts SET suspended = 1",
        "UPDATE eab_credentials SET last_used_at = 7",
        "UPDATE eab_credentials SET revoked_at = 8",
        "UPDATE acme_accounts SET thumbprint = 'second'",
    ] {
        db.raw(change).unwrap();
        let after = party(&db, id).await.unwrap();
        assert_ne!(after, before, "{change}");
        assert_eq!(db.put(move |tx| tx.hold_party(id)).await.unwrap(), after, "{change}");
        before = after;
    }
    db.raw("DELETE FROM acme_accounts").unwrap();
    assert_eq!(party(&db, id).await, None);
}

/// Whoever waits for one of them must not go by what another one was before: foreseen or not.
pub(crate) async fn a_change_during_the_wait_is_seen(db: Database) {
    let (_, id) = some_acme_account(&db).await;
    let Address::Postgres(_) = db.address() else { return };
    for foreseen in [false, true] {
        db.raw("UPDATE resellers SET suspended = 0").unwrap();
        let address = db.address();
        let other = std::thread::spawn(move || {
            let held = "BEGIN; UPDATE accounts SET version = version; SELECT pg_sleep(1)";
            raw(&address, &format!("{held}; UPDATE resellers SET suspended = 1; COMMIT")).unwrap();
        });
        while db
            .raw_texts(
                "SELECT query FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()",
            )
            .is_empty()
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let found = db.put(move |tx| {
            if foreseen {
                tx.foresee(|tx| drop(tx.hold_party(id)));
                tx.identity_epoch()?;
            }
            tx.hold_party(id)
        });
        assert!(found.await.unwrap().reseller.suspended, "foreseen: {foreseen}");
        other.join().unwrap();
    }
}

pub(crate) async fn what_was_not_kept_is_not_remembered(db: Database) {
    let (account, id) = some_acme_account(&db).await;
    assert!(!party(&db, id).await.unwrap().account.suspended);
    let suspended = Account { suspended: true, ..account };
    let given_up: Result = db
        .write(move |tx| {
            tx.save_account(&suspended)?;
            assert!(tx.party(id)?.unwrap().account.suspended);
            Err(StoreError::Database("given up".to_owned()))
        })
        .await;
    assert!(given_up.is_err());
    // The next change comes to the same epoch as the one that was given up.
    db.raw("UPDATE accounts SET email = 'other@example.com', email_key = 'other@example.com'").unwrap();
    let after = party(&db, id).await.unwrap();
    assert!(!after.account.suspended && after.account.email.to_string() == "other@example.com", "{after:?}");
}

/// What nobody notices is worth a test.
pub(crate) async fn they_are_remembered(db: Database) {
    let (_, id) = some_acme_account(&db).await;
    let before = party(&db, id).await.unwrap();
    match db.address() {
        // Without the trigger, the change is not seen before the next one that has one.
        Address::Sqlite(_) => {
            db.raw("DROP TRIGGER parties_by_account; UPDATE accounts SET suspended = 1").unwrap();
            assert_eq!(party(&db, id).await.unwrap(), before);
            db.raw("UPDATE acme_accounts SET thumbprint = 'second'").unwrap();
            assert!(party(&db, id).await.unwrap().account.suspended);
        }
        // What need not be read can be missing.
        Address::Postgres(_) => {
            db.raw("ALTER TABLE accounts RENAME COLUMN email TO mail").unwrap();
            assert_eq!(party(&db, id).await.unwrap(), before);
            assert_eq!(db.put(move |tx| tx.hold_party(id)).await.unwrap(), before);
            db.raw("UPDATE accounts SET suspended = 1").unwrap();
            assert!(db.read(move |tx| tx.party(id)).await.is_err());
        }
    }
}

/// Those who come at the same time are served by one statement, as if each had come alone.
pub(crate) async fn nonces_are_taken_together(db: Database) {
    let Address::Postgres(_) = db.address() else { return };
    let (_, id) = some_acme_account(&db).await;
    let stranger = AcmeAccountId::new(db.make.now(), db.make.entropy());
    let expires_at = db.make.now();
    let generation = db.put(|tx| tx.nonce_generation_or_start(-7)).await;
    let claim = move |nonce: &str, account| NonceClaim { nonce: nonce.to_owned(), expires_at, generation, account };
    let take = |claims: Vec<NonceClaim>| {
        let taken = db.alone(move |tx| tx.redeem_and_find(&claims));
        async { taken.await.unwrap() }
    };
    let found = |answers: &[Redeemed]| -> Vec<_> {
        let told = answers.iter().map(|answer| match answer {
            Redeemed::Before => None,
            Redeemed::By(party) => Some(party.as_ref().unwrap().as_ref().map(|party| party.account.suspended)),
            Redeemed::Outdated(_) => panic!("the generation is the current one"),
        });
        told.collect()
    };
    let answers = take(vec![claim("c", id), claim("b", stranger), claim("c", id), claim("a", id)]).await;
    assert_eq!(found(&answers), [Some(Some(false)), Some(None), None, Some(Some(false))]);
    // What was read before is not what is told after a change.
    db.raw("UPDATE accounts SET suspended = 1").unwrap();
    let answers = take(vec![claim("a", id), claim("d", id)]).await;
    assert_eq!(found(&answers), [None, Some(Some(true))]);
    assert_eq!(db.raw_texts("SELECT nonce FROM acme_nonces ORDER BY nonce"), ["a", "b", "c", "d"]);
}

/// As after a crash, which empties the unlogged table of the generation and may lose the last nonces that were redeemed.
pub(crate) async fn nonces_of_an_ended_generation_are_not_redeemed(db: Database) {
    let Address::Postgres(_) = db.address() else { return };
    let (_, id) = some_acme_account(&db).await;
    let expires_at = db.make.now();
    let start = |fresh| db.put(move |tx| tx.nonce_generation_or_start(fresh));
    let redeem = |nonce: &'static str, generation| {
        let redeemed = db.alone(move |tx| tx.redeem_nonce(nonce, expires_at, generation));
        async { redeemed.await.unwrap() }
    };
    let redeem_and_find = |generations: &[i64]| {
        let claim = |generation: &i64| NonceClaim {
            nonce: format!("of {generation}"),
            expires_at,
            generation: *generation,
            account: id,
        };
        let claims: Vec<_> = generations.iter().map(claim).collect();
        let taken = db.alone(move |tx| tx.redeem_and_find(&claims));
        async { taken.await.unwrap() }
    };
    let (first, second) = (i64::MIN, 2);
    assert_eq!((start(first).await, start(second).await), (first, first), "one that was started goes on");
    assert_eq!(redeem("a", first).await, Redemption::Redeemed);
    assert_eq!(redeem("a", first).await, Redemption::Replayed);
    assert_eq!(redeem("b", second).await, Redemption::Outdated(Some(first)));
    let lost = "TRUNCATE acme_nonce_generation; DELETE FROM acme_nonces";
    db.raw(lost).unwrap();
    assert_eq!(redeem("a", first).await, Redemption::Outdated(None));
    let answers = redeem_and_find(&[first]).await;
    assert!(matches!(answers[..], [Redeemed::Outdated(None)]), "{answers:?}");
    assert_eq!(start(second).await, second);
    assert_eq!(redeem("a", first).await, Redemption::Outdated(Some(second)));
    let answers = redeem_and_find(&[first, second, first]).await;
    let [Redeemed::Outdated(Some(2)), Redeemed::By(Ok(Some(_))), Redeemed::Outdated(Some(2))] = &answers[..] else {
        panic!("{answers:?}")
    };
    assert_eq!(db.raw_texts("SELECT nonce FROM acme_nonces"), ["of 2"]);
    assert_eq!(
        db.raw_texts("SELECT relpersistence::text FROM pg_class WHERE relname = 'acme_nonce_generation'"),
        ["u"]
    );
}
