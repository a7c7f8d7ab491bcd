use std::collections::BTreeMap;

use chancery_domain::{Account, EmailAddress, ExternalId, Metadata};
use chancery_store::StoreError;

use crate::common::Database;

fn email(text: &str) -> EmailAddress {
    EmailAddress::parse(text).unwrap()
}

fn external(text: &str) -> Option<ExternalId> {
    Some(ExternalId::parse(text).unwrap())
}

fn notes() -> Metadata {
    let pairs = [("größe", "50 % \"netto\"\n\t😀"), ("empty", ""), ("'; DROP TABLE accounts; --", "\\u0000 $1")];
    Metadata::from_stored(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into())
}

pub(crate) async fn keeps_every_field(db: Database) {
    let reseller = db.reseller().await.id;
    let account = Account {
        email: email("First.Last+tag@BÜCHER.example"),
        external_id: external("Kunde Nr. 1 – é"),
        metadata: notes(),
        suspended: true,
        terminated_at: Some(db.make.now()),
        updated_at: db.make.now(),
        version: 9,
        ..db.make.account(reseller)
    };
    db.account(account.clone()).await;
    assert_eq!(db.stored(&account).await, account);
}

pub(crate) async fn an_account_with_nothing_optional_comes_back(db: Database) {
    let account = db.some_account().await;
    assert_eq!(db.stored(&account).await, account);
    // Also before its credential is there: one unit of work makes both, in either order.
    let bare = db.make.account(account.reseller);
    let stored = bare.clone();
    db.put(move |tx| tx.insert_account(&stored)).await;
    assert_eq!(db.stored(&bare).await, bare);
}

pub(crate) async fn is_found_by_every_name_it_has(db: Database) {
    let reseller = db.reseller().await.id;
    let account = Account { external_id: external("x-1"), ..db.make.account(reseller) };
    db.account(account.clone()).await;
    db.account(db.make.account(reseller)).await;
    let wanted = account.clone();
    let found = db
        .put(move |tx| {
            Ok([
                tx.account(reseller, wanted.id)?,
                tx.hold_account(reseller, wanted.id)?,
                tx.account_by_number(reseller, wanted.number.0)?,
                tx.account_by_kid(reseller, wanted.kid)?,
                tx.account_by_email(reseller, wanted.email.key())?,
                tx.account_by_external_id(reseller, "x-1")?,
            ])
        })
        .await;
    assert_eq!(found, [const { None }; 6].map(|_: Option<Account>| Some(account.clone())));
    let unknown = db.make.account(reseller);
    let found = db
        .put(move |tx| {
            Ok([
                tx.account(reseller, unknown.id)?,
                tx.hold_account(reseller, unknown.id)?,
                tx.account_by_number(reseller, i64::MAX)?,
                tx.account_by_kid(reseller, unknown.kid)?,
                tx.account_by_email(reseller, unknown.email.key())?,
                tx.account_by_external_id(reseller, "x-2")?,
            ])
        })
        .await;
    assert_eq!(found, [const { None }; 6]);
}

pub(crate) async fn an_address_belongs_to_one_live_account_however_it_is_spelled(db: Database) {
    let (reseller, other) = (db.reseller().await.id, db.reseller().await.id);
    let first = db.account(Account { email: email("admin@bücher.example"), ..db.make.account(reseller) }).await;
    for spelling in ["admin@bücher.example", "ADMIN@Bücher.Example", "Admin@xn--bcher-kva.example"] {
        let second = Account { email: email(spelling), ..db.make.account(reseller) };
        let stored = second.clone();
        assert!(!db.put(move |tx| tx.insert_account(&stored)).await, "{spelling}");
        assert_eq!(db.get(move |tx| tx.account(reseller, second.id)).await, None);
    }
    db.account(Account { email: first.email.clone(), ..db.make.account(other) }).await;
}

pub(crate) async fn an_address_is_free_again_after_termination(db: Database) {
    let first = db.some_account().await;
    let ended = first.clone().terminate(db.make.now()).unwrap();
    db.put(move |tx| tx.save_account(&ended)).await;
    let second = db.account(Account { email: first.email.clone(), ..db.make.account(first.reseller) }).await;
    let third = Account { email: first.email, ..db.make.account(first.reseller) };
    assert!(!db.put(move |tx| tx.insert_account(&third)).await, "{} is live and has it", second.id);
}

pub(crate) async fn an_address_finds_the_live_account_or_else_the_one_that_had_it_last(db: Database) {
    let reseller = db.reseller().await.id;
    let with = |ended| Account { email: email("a@example.com"), terminated_at: ended, ..db.make.account(reseller) };
    let find = || db.get(move |tx| tx.account_by_email(reseller, "a@example.com"));
    db.account(with(Some(db.make.now()))).await;
    let last = db.account(with(Some(db.make.now()))).await;
    assert_eq!(find().await.unwrap().id, last.id);
    let live = db.account(with(None)).await;
    // Ended after the live one was made: the live one still goes first.
    db.account(with(Some(db.make.now()))).await;
    assert_eq!(find().await.unwrap().id, live.id);
}

pub(crate) async fn an_external_id_belongs_to_one_live_account(db: Database) {
    let (reseller, other) = (db.reseller().await.id, db.reseller().await.id);
    let with = |of| Account { external_id: external("Ref-1"), ..db.make.account(of) };
    let first = db.account(with(reseller)).await;
    let second = with(reseller);
    assert!(!db.put(move |tx| tx.insert_account(&second)).await);
    db.account(with(other)).await;
    // The reseller's own reference is kept to the letter.
    db.account(Account { external_id: external("REF-1"), ..db.make.account(reseller) }).await;

    let ended = first.terminate(db.make.now()).unwrap();
    db.put(move |tx| tx.save_account(&ended)).await;
    assert_eq!(db.get(move |tx| tx.account_by_external_id(reseller, "Ref-1")).await, None);
    let third = db.account(with(reseller)).await;
    assert_eq!(db.get(move |tx| tx.account_by_external_id(reseller, "Ref-1")).await, Some(third));
}

pub(crate) async fn saving_changes_what_may_change_and_nothing_else(db: Database) {
    let before = db.some_account().await;
    let another = db.reseller().await.id;
    let wanted = Account {
        id: before.id,
        version: before.version,
        root_revoked: true,
        external_id: external("new"),
        metadata: notes(),
        suspended: true,
        terminated_at: Some(db.make.now()),
        ..db.make.account(another)
    };
    let saved = wanted.clone();
    db.put(move |tx| tx.save_account(&saved)).await;
    let expected = Account {
        email: wanted.email,
        external_id: wanted.external_id,
        metadata: wanted.metadata,
        suspended: true,
        terminated_at: wanted.terminated_at,
        updated_at: wanted.updated_at,
        version: before.version + 1,
        ..before
    };
    assert_eq!(db.stored(&expected).await, expected);

    // And back: what is optional can be taken away.
    let bare = Account { external_id: None, metadata: Metadata::from_stored(BTreeMap::new()), ..expected };
    let saved = bare.clone();
    db.put(move |tx| tx.save_account(&saved)).await;
    assert_eq!(db.stored(&bare).await, Account { version: bare.version + 1, ..bare });
}

pub(crate) async fn an_address_in_use_cannot_be_saved(db: Database) {
    let first = db.some_account().await;
    let second = db.account(db.make.account(first.reseller)).await;
    let taken = Account { email: first.email, ..second.clone() };
    let saved = db.write(move |tx| tx.save_account(&taken)).await;
    assert!(matches!(saved, Err(StoreError::Database(_))), "{saved:?}");
    assert_eq!(db.stored(&second).await, second);
}

pub(crate) async fn a_stale_copy_cannot_be_saved(db: Database) {
    let made = db.some_account().await;
    let (first, second) = (db.stored(&made).await, db.stored(&made).await);
    let first = Account { suspended: true, ..first };
    let second = second.terminate(db.make.now()).unwrap();
    db.put(move |tx| tx.save_account(&first)).await;
    let late = db.write(move |tx| tx.save_account(&second)).await;
    assert!(matches!(late, Err(StoreError::Stale { table: "account", .. })), "{late:?}");
    assert_eq!(db.stored(&made).await, Account { suspended: true, version: 2, ..made });
}

pub(crate) async fn shows_whether_its_first_credential_is_revoked(db: Database) {
    let account = db.some_account().await;
    let (reseller, now) = (account.reseller, db.make.now());
    let second = db.make.credential(&account);
    let kids = (account.kid, second.kid);
    let revoke = |kid| {
        db.put(move |tx| {
            let credential = tx.credential(reseller, kid)?.expect("it is there");
            tx.save_credential(&credential.revoke(now).expect("it is live"))
        })
    };
    db.put(move |tx| tx.insert_credential(&second, b"sealed")).await;
    revoke(kids.1).await;
    assert!(!db.stored(&account).await.root_revoked);
    revoke(kids.0).await;
    assert!(db.stored(&account).await.root_revoked);
}

/// PostgreSQL refuses such a text, so that a path with `%00` in it would be our failure and not the caller's.
pub(crate) async fn a_text_with_a_zero_byte_finds_nothing(db: Database) {
    let reseller = db.some_account().await.reseller;
    let found = db
        .get(move |tx| {
            let since = chancery_domain::Timestamp::from_secs(0);
            Ok((
                tx.account_by_email(reseller, "a\0@example.com")?.is_some(),
                tx.account_by_external_id(reseller, "\0")?.is_some(),
                tx.reseller_by_code("AB\0")?.is_some(),
                tx.answer(reseller, "key\0", since)?.is_some(),
            ))
        })
        .await;
    assert_eq!(found, (false, false, false, false));
}
