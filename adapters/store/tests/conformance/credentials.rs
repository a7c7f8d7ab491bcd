use chancery_domain::{EabCredential, EabTerms, Kid, Label, PageRequest, ResellerId};
use chancery_store::{StoreError, Turned};

use crate::common::Database;

async fn read(db: &Database, reseller: ResellerId, kid: Kid) -> EabCredential {
    db.get(move |tx| tx.credential(reseller, kid)).await.expect("the credential is there")
}

pub(crate) async fn keeps_every_field(db: Database) {
    let account = db.some_account().await;
    let full = EabCredential {
        terms: EabTerms {
            label: Some(Label::parse("web-1 – Größe").unwrap()),
            expires_at: Some(db.make.now()),
            max_bindings: Some(u32::MAX),
        },
        bindings: 12,
        last_used_at: Some(db.make.now()),
        revoked_at: Some(db.make.now()),
        updated_at: db.make.now(),
        version: 4,
        ..db.make.credential(&account)
    };
    for credential in [full, db.make.credential(&account)] {
        let stored = credential.clone();
        db.put(move |tx| tx.insert_credential(&stored, b"\x00sealed\xff")).await;
        assert_eq!(read(&db, account.reseller, credential.kid).await, credential);
    }
    let root = read(&db, account.reseller, account.kid).await;
    assert!(root.is_root && root.account == account.id);
    let unknown = db.make.kid();
    assert_eq!(db.get(move |tx| tx.credential(account.reseller, unknown)).await, None);
}

pub(crate) async fn saving_changes_what_may_change_and_nothing_else(db: Database) {
    let account = db.some_account().await;
    let before = read(&db, account.reseller, account.kid).await;
    let wanted = EabCredential {
        id: before.id,
        version: before.version,
        terms: EabTerms { max_bindings: Some(1), ..EabTerms::default() },
        bindings: 3,
        last_used_at: Some(db.make.now()),
        revoked_at: Some(db.make.now()),
        ..db.make.credential(&account)
    };
    let saved = wanted.clone();
    db.put(move |tx| tx.save_credential(&saved)).await;
    let expected = EabCredential {
        bindings: 3,
        last_used_at: wanted.last_used_at,
        revoked_at: wanted.revoked_at,
        updated_at: wanted.updated_at,
        version: before.version + 1,
        ..before
    };
    assert_eq!(read(&db, account.reseller, account.kid).await, expected);
}

pub(crate) async fn a_stale_copy_cannot_be_saved(db: Database) {
    let account = db.some_account().await;
    let read = || read(&db, account.reseller, account.kid);
    let (first, second) = (read().await, read().await);
    let first = first.revoke(db.make.now()).unwrap();
    let second = EabCredential { bindings: 1, ..second };
    db.put(move |tx| tx.save_credential(&first)).await;
    let late = db.write(move |tx| tx.save_credential(&second)).await;
    assert!(matches!(late, Err(StoreError::Stale { table: "EAB credential", .. })), "{late:?}");
    let kept = read().await;
    assert!(kept.revoked_at.is_some() && kept.bindings == 0);
}

pub(crate) async fn revoking_all_leaves_those_that_are_revoked_already(db: Database) {
    let account = db.some_account().await;
    let other = db.account(db.make.account(account.reseller)).await;
    let (early, late) = (db.make.now(), db.make.now());
    let revoked = EabCredential { revoked_at: Some(early), updated_at: early, ..db.make.credential(&account) };
    let (stored, id) = (revoked.clone(), account.id);
    db.put(move |tx| {
        tx.insert_credential(&stored, b"sealed")?;
        assert_eq!(tx.revoke_credentials(id, None, late, 10)?, Turned { rows: 2, next: None });
        Ok(())
    })
    .await;
    assert_eq!(read(&db, account.reseller, revoked.kid).await, revoked);
    let root = read(&db, account.reseller, account.kid).await;
    assert_eq!((root.revoked_at, root.updated_at, root.version), (Some(late), late, 2));
    assert_eq!(read(&db, other.reseller, other.kid).await.revoked_at, None);
    let page = db.get(move |tx| tx.credentials_of_account(id, &PageRequest::default())).await;
    assert!(page.items.iter().all(|credential| credential.revoked_at.is_some()));
}

pub(crate) async fn a_key_id_is_given_once(db: Database) {
    let account = db.some_account().await;
    let second = EabCredential { kid: account.kid, ..db.make.credential(&account) };
    let added = db.write(move |tx| tx.insert_credential(&second, b"sealed")).await;
    assert!(matches!(added, Err(StoreError::Database(_))), "{added:?}");
}
