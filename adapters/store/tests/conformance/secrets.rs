//! What the service keeps for itself: its secrets, the keys that sign tokens, its issuers.

use chancery_domain::Timestamp;
use chancery_store::{
    ChainMark, ChainRecord, IssuerKind, IssuerRecord, IssuerStanding, IssuerState, PreferredChain, TokenKey,
};

use crate::common::Database;

pub(crate) async fn a_service_secret_is_settled_once(db: Database) {
    assert_eq!(db.get(|tx| tx.service_secret("cursor")).await, None);
    let now = db.make.now();
    assert_eq!(db.put(move |tx| tx.settle_service_secret("cursor", b"first\0", now)).await, b"first\0");
    assert_eq!(db.put(move |tx| tx.settle_service_secret("cursor", b"second", now)).await, b"first\0");
    assert_eq!(db.put(move |tx| tx.settle_service_secret("other", b"third", now)).await, b"third");
    assert_eq!(db.get(|tx| tx.service_secret("cursor")).await, Some(b"first\0".to_vec()));
}

fn key_parts(key: &TokenKey) -> (String, &[u8], &str, Timestamp, Timestamp) {
    (key.id.to_string(), &key.sealed, &key.public_key, key.created_at, key.active_from)
}

pub(crate) async fn token_keys_come_newest_first_until_they_are_deleted(db: Database) {
    let (early, late) = (db.make.now(), db.make.now());
    // The last two are used from the same moment on: then the one made later goes first.
    let keys = [late, early, early].map(|active_from| TokenKey { active_from, ..db.make.token_key() });
    let stored = keys.clone();
    db.put(move |tx| stored.iter().try_for_each(|key| tx.insert_token_key(key))).await;
    let found = db.get(|tx| tx.token_keys()).await;
    let expected = [&keys[0], &keys[2], &keys[1]].map(key_parts);
    assert!(found.iter().map(key_parts).eq(expected));

    let gone = keys[2].id;
    db.put(move |tx| tx.delete_token_key(gone)).await;
    let found = db.get(|tx| tx.token_keys()).await;
    assert!(found.iter().map(|key| key.id).eq([keys[0].id, keys[1].id]));
}

type Parts<'a> = (String, Option<String>, &'a str, IssuerKind, IssuerState, [&'a [u8]; 2], Timestamp);

fn issuer_parts(issuer: &IssuerRecord) -> Parts<'_> {
    (
        issuer.id.to_string(),
        issuer.parent.map(|parent| parent.to_string()),
        &issuer.name,
        issuer.kind,
        issuer.state,
        [&issuer.certificate, &issuer.sealed],
        issuer.created_at,
    )
}

pub(crate) async fn issuers_come_roots_first_and_names_are_taken_once(db: Database) {
    let root = db.make.issuer();
    let issuing = IssuerRecord {
        parent: Some(root.id),
        kind: IssuerKind::Issuing,
        state: IssuerState::Retired,
        ..db.make.issuer()
    };
    let twin = IssuerRecord { name: root.name.clone(), ..db.make.issuer() };
    let stored = [root.clone(), issuing.clone(), twin];
    let added = db.put(move |tx| stored.iter().map(|issuer| tx.insert_issuer(issuer)).collect::<Result<Vec<_>, _>>());
    assert_eq!(added.await, [true, true, false]);
    let found = db.get(|tx| tx.issuers()).await;
    assert!(found.iter().map(issuer_parts).eq([&root, &issuing].map(issuer_parts)));
    let claimed = db.put(|tx| tx.claim_issuers()).await;
    assert!(claimed.iter().map(issuer_parts).eq(found.iter().map(issuer_parts)));
}

pub(crate) async fn an_issuer_is_retired_and_activated_again(db: Database) {
    let root = db.make.issuer();
    let issuer = IssuerRecord { parent: Some(root.id), kind: IssuerKind::Issuing, ..db.make.issuer() };
    let (id, stored) = (issuer.id, [root.clone(), issuer.clone()]);
    db.put(move |tx| stored.iter().try_for_each(|issuer| tx.insert_issuer(issuer).map(drop))).await;
    for state in [IssuerState::Retired, IssuerState::Active] {
        db.put(move |tx| tx.set_issuer_state(id, state)).await;
        let standing = IssuerStanding { id, state, revoked: false, preferred: None };
        assert_eq!(db.get(|tx| tx.issuer_standings()).await, [standing]);
        let found = db.get(|tx| tx.issuers()).await;
        let changed = IssuerRecord { state, ..issuer.clone() };
        assert!(found.iter().map(issuer_parts).eq([&root, &changed].map(issuer_parts)));
    }
}

pub(crate) async fn an_issuer_prefers_one_of_its_chains(db: Database) {
    let root = db.make.issuer();
    let issuer = IssuerRecord { parent: Some(root.id), kind: IssuerKind::Issuing, ..db.make.issuer() };
    let chain = |issuer, number| ChainRecord {
        issuer,
        number,
        fingerprint: format!("{issuer} {number}"),
        pem: format!("pem {number} of {issuer}"),
        created_at: db.make.now(),
    };
    let (id, issuers) = (issuer.id, [root.clone(), issuer]);
    let chains = [chain(root.id, 2), chain(id, 1), chain(id, 2)];
    db.put(move |tx| {
        issuers.iter().try_for_each(|issuer| tx.insert_issuer(issuer).map(drop))?;
        chains.iter().try_for_each(|chain| tx.insert_chain(chain).map(drop))
    })
    .await;
    let preferred = async || {
        let found = db.get(|tx| tx.issuers()).await;
        let claimed = db.put(|tx| tx.claim_issuers()).await;
        let of = |issuers: Vec<IssuerRecord>, id| {
            let mut issuers = issuers.into_iter();
            issuers.find(|issuer| issuer.id == id).and_then(|issuer| issuer.preferred)
        };
        assert_eq!(of(found.clone(), root.id), None);
        assert_eq!(of(found.clone(), id), of(claimed, id));
        let number = db.get(|tx| tx.issuer_standings()).await[0].preferred;
        (number, of(found, id))
    };
    assert_eq!(preferred().await, (None, None));
    db.put(move |tx| tx.prefer_chain(id, Some(2))).await;
    let second = PreferredChain { number: 2, pem: format!("pem 2 of {id}") };
    assert_eq!(preferred().await, (Some(2), Some(second)));
    // As an earlier release does, which knows of no preference.
    db.put(move |tx| tx.delete_chain(id, 2)).await;
    assert_eq!(preferred().await, (None, None));
    db.put(move |tx| tx.prefer_chain(id, Some(1))).await;
    assert_eq!(preferred().await.0, Some(1));
    db.put(move |tx| tx.prefer_chain(id, None)).await;
    assert_eq!(preferred().await, (None, None));
}

pub(crate) async fn an_issuer_has_each_chain_once_until_it_is_removed(db: Database) {
    let issuers = [db.make.issuer(), db.make.issuer()];
    let (one, other) = (issuers[0].id, issuers[1].id);
    db.put(move |tx| issuers.iter().try_for_each(|issuer| tx.insert_issuer(issuer).map(drop))).await;
    let now = db.make.now();
    let chain = |issuer, number, fingerprint: &str| ChainRecord {
        issuer,
        number,
        fingerprint: fingerprint.to_owned(),
        pem: format!("pem of {fingerprint}"),
        created_at: now,
    };
    let all = [chain(one, 1, "a"), chain(one, 2, "b"), chain(other, 1, "a")];
    let stored = [all[1].clone(), all[0].clone(), chain(one, 3, "a"), chain(one, 2, "c"), all[2].clone()];
    let added = db.put(move |tx| stored.iter().map(|chain| tx.insert_chain(chain)).collect::<Result<Vec<_>, _>>());
    assert_eq!(added.await, [true, true, false, false, true]);
    assert_eq!(db.get(|tx| tx.chains()).await, all);
    let marks = all.map(|ChainRecord { issuer, number, fingerprint, .. }| ChainMark { issuer, number, fingerprint });
    assert_eq!(db.get(|tx| tx.chain_marks()).await, marks);
    assert!(db.put(move |tx| tx.delete_chain(one, 1)).await);
    assert!(!db.put(move |tx| tx.delete_chain(one, 1)).await);
    assert_eq!(db.get(|tx| tx.chain_marks()).await, marks[1..]);
}
