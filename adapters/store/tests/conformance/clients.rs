use chancery_domain::{ApiKey, Client, ClientSecret, Scope, ScopeSet, Timestamp};
use chancery_store::StoreError;

use crate::common::Database;

/// A client has no `Debug` and no `Eq`, so that its hashes cannot slip into a message: compared by its parts.
type Parts = (String, String, String, String, Vec<([u8; 32], Timestamp)>, bool, Option<Timestamp>, [i64; 3]);

fn parts(client: &Client) -> Parts {
    (
        client.id.to_string(),
        client.reseller.to_string(),
        client.name.to_string(),
        client.scopes.to_string(),
        client.secrets.iter().map(|secret| (secret.hash.0, secret.created_at)).collect(),
        client.disabled,
        client.expires_at,
        [client.created_at.as_millis(), client.updated_at.as_millis(), client.version],
    )
}

fn key_parts(key: &ApiKey) -> (String, String, String, String, [u8; 32], Option<Timestamp>, Timestamp) {
    (
        key.id.to_string(),
        key.reseller.to_string(),
        key.name.to_string(),
        key.scopes.to_string(),
        key.hash.0,
        key.revoked_at,
        key.created_at,
    )
}

async fn read(db: &Database, client: &Client) -> Client {
    let id = client.id;
    db.get(move |tx| tx.client(id)).await.expect("the client is there")
}

pub(crate) async fn keeps_every_field_and_both_secrets(db: Database) {
    let reseller = db.reseller().await.id;
    let made = db.make.client(reseller);
    let second = ClientSecret { hash: db.make.hash(), created_at: db.make.now() };
    let full = Client {
        scopes: format!("{} {}", Scope::Reseller, Scope::ReadAccount).parse().unwrap(),
        secrets: vec![made.secrets[0].clone(), second],
        disabled: true,
        expires_at: Some(db.make.now()),
        updated_at: db.make.now(),
        version: 3,
        ..made
    };
    let bare = Client { scopes: ScopeSet::default(), secrets: Vec::new(), ..db.make.client(reseller) };
    for client in [full, bare] {
        let stored = client.clone();
        db.put(move |tx| tx.insert_client(&stored)).await;
        assert!(parts(&read(&db, &client).await) == parts(&client));
    }
    let unknown = db.make.client(reseller).id;
    assert!(db.get(move |tx| tx.client(unknown)).await.is_none());
}

pub(crate) async fn saving_replaces_the_secrets(db: Database) {
    let before = db.client().await;
    let rotating = before.clone().begin_rotation(db.make.hash(), db.make.now()).unwrap();
    let saved = rotating.clone();
    db.put(move |tx| tx.save_client(&saved)).await;
    let rotating = Client { version: 2, ..rotating };
    assert!(parts(&read(&db, &before).await) == parts(&rotating));

    let finished = Client {
        name: db.make.name("renamed"),
        scopes: ScopeSet::default(),
        expires_at: Some(db.make.now()),
        ..rotating.finish_rotation(db.make.now()).unwrap().with_disabled(true, db.make.now())
    };
    let saved = finished.clone();
    db.put(move |tx| tx.save_client(&saved)).await;
    assert!(parts(&read(&db, &before).await) == parts(&Client { version: 3, ..finished }));
}

pub(crate) async fn a_stale_copy_cannot_be_saved(db: Database) {
    let made = db.client().await;
    let (first, second) = (read(&db, &made).await, read(&db, &made).await);
    let first = first.with_disabled(true, db.make.now());
    db.put(move |tx| tx.save_client(&first)).await;
    let late = db.write(move |tx| tx.save_client(&second)).await;
    assert!(matches!(late, Err(StoreError::Stale { table: "client", .. })), "{late:?}");
    assert!(read(&db, &made).await.disabled);
}

pub(crate) async fn a_client_that_was_not_saved_keeps_its_secrets(db: Database) {
    let made = db.client().await;
    let stale = Client { version: 99, secrets: Vec::new(), ..made.clone() };
    assert!(db.write(move |tx| tx.save_client(&stale)).await.is_err());
    assert!(parts(&read(&db, &made).await) == parts(&made));
}

pub(crate) async fn are_listed_for_their_reseller_newest_first(db: Database) {
    let (reseller, other) = (db.reseller().await.id, db.reseller().await.id);
    let clients = [reseller, other, reseller].map(|of| db.make.client(of));
    let keys = [reseller, other, reseller].map(|of| db.make.api_key(of));
    let expected = (vec![clients[2].id, clients[0].id], vec![keys[2].id, keys[0].id]);
    db.put(move |tx| {
        clients.iter().try_for_each(|client| tx.insert_client(client))?;
        keys.iter().try_for_each(|key| tx.insert_api_key(key))
    })
    .await;
    let (clients, keys) = db.get(move |tx| Ok((tx.clients(reseller)?, tx.api_keys(reseller)?))).await;
    assert!(clients.iter().all(|client| client.secrets.is_empty()));
    let found = (clients.iter().map(|one| one.id).collect::<Vec<_>>(), keys.iter().map(|one| one.id).collect());
    assert_eq!(found, expected);
}

pub(crate) async fn an_api_key_keeps_every_field(db: Database) {
    let reseller = db.reseller().await.id;
    let revoked = ApiKey {
        scopes: Scope::Reseller.to_string().parse().unwrap(),
        revoked_at: Some(db.make.now()),
        ..db.make.api_key(reseller)
    };
    for key in [db.make.api_key(reseller), revoked] {
        let (stored, id) = (key.clone(), key.id);
        db.put(move |tx| tx.insert_api_key(&stored)).await;
        assert!(db.get(move |tx| tx.api_key(id)).await.is_some_and(|found| key_parts(&found) == key_parts(&key)));
    }
    let unknown = db.make.api_key(reseller).id;
    assert!(db.get(move |tx| tx.api_key(unknown)).await.is_none());
}

pub(crate) async fn an_api_key_is_revoked_once(db: Database) {
    let key = db.make.api_key(db.reseller().await.id);
    let (id, first, second) = (key.id, db.make.now(), db.make.now());
    db.put(move |tx| tx.insert_api_key(&key)).await;
    assert!(db.put(move |tx| tx.revoke_api_key(id, first)).await);
    assert!(!db.put(move |tx| tx.revoke_api_key(id, second)).await);
    assert_eq!(db.get(move |tx| tx.api_key(id)).await.unwrap().revoked_at, Some(first));
}

pub(crate) async fn the_epoch_grows_and_never_goes_back(db: Database) {
    let before = db.get(|tx| tx.identity_epoch()).await;
    db.put(|tx| tx.advance_identity_epoch()).await;
    assert!(
        db.write(|tx| {
            tx.advance_identity_epoch()?;
            Err::<(), _>(StoreError::Corrupt("undo".to_owned()))
        })
        .await
        .is_err()
    );
    db.put(|tx| tx.advance_identity_epoch()).await;
    assert_eq!(db.get(|tx| tx.identity_epoch()).await, before + 2);
}
