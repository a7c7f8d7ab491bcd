//! What the console asks: sessions, operator keys, counts.

use std::time::Duration;

use chancery_domain::{EmailAddress, OperatorKey, OperatorKeyId, ResellerId, Timestamp};
use chancery_store::{ConsoleSession, CountedState, ExternalSession, NodeRow, SessionHolder, Span};

use crate::common::Database;

async fn operator_key(db: &Database) -> OperatorKey {
    let now = db.make.now();
    let id = OperatorKeyId::new(now, db.make.entropy());
    let key = OperatorKey { id, name: db.make.name("key"), hash: db.make.hash(), revoked_at: None, created_at: now };
    let stored = key.clone();
    db.put(move |tx| tx.insert_operator_key(&stored)).await;
    key
}

async fn session(db: &Database, holder: SessionHolder, lasts: u64) -> ConsoleSession {
    let now = db.make.now();
    let session = ConsoleSession {
        token: db.make.hash(),
        holder,
        credential: db.make.hash(),
        created_at: now,
        seen_at: now,
        expires_at: now.plus(Duration::from_secs(lasts)),
    };
    let stored = session.clone();
    db.put(move |tx| tx.insert_console_session(&stored)).await;
    session
}

async fn found(db: &Database, session: &ConsoleSession) -> Option<ConsoleSession> {
    let token = session.token.clone();
    db.get(move |tx| tx.console_session(&token)).await
}

pub(crate) async fn a_session_keeps_every_field(db: Database) {
    let holders = [SessionHolder::Client(db.client().await.id), SessionHolder::Operator(operator_key(&db).await.id)];
    for holder in holders {
        let kept = session(&db, holder, 60).await;
        let found = found(&db, &kept).await.unwrap();
        assert_eq!(found.holder, holder);
        assert!(found.token == kept.token && found.credential == kept.credential);
        let times = |of: &ConsoleSession| [of.created_at, of.seen_at, of.expires_at];
        assert_eq!(times(&found), times(&kept));
        let (token, later) = (kept.token.clone(), kept.seen_at.plus(Duration::from_secs(7)));
        db.put(move |tx| tx.touch_console_session(&token, later)).await;
        let token = kept.token.clone();
        assert_eq!(db.get(move |tx| tx.console_session(&token)).await.unwrap().seen_at, later);
    }
}

pub(crate) async fn sessions_end_one_by_one_by_holder_and_by_age(db: Database) {
    let (one, other) = (db.client().await.id, db.client().await.id);
    let operator = SessionHolder::Operator(operator_key(&db).await.id);
    let mut all = Vec::new();
    for holder in [SessionHolder::Client(one), SessionHolder::Client(one), SessionHolder::Client(other), operator] {
        all.push(session(&db, holder, 3600).await);
    }
    let token = all[0].token.clone();
    assert!(db.put(move |tx| tx.delete_console_session(&token)).await);
    let token = all[0].token.clone();
    assert!(!db.put(move |tx| tx.delete_console_session(&token)).await);
    assert_eq!(db.put(move |tx| tx.delete_console_sessions(SessionHolder::Client(one), u32::MAX)).await, 1);
    assert!(found(&db, &all[1]).await.is_none());
    assert!(found(&db, &all[2]).await.is_some() && found(&db, &all[3]).await.is_some());
    let end = all[2].expires_at;
    assert_eq!(db.put(move |tx| tx.forget_console_sessions(end, 10)).await, 0);
    let later = all[3].expires_at.plus(Duration::from_secs(1));
    assert_eq!(db.put(move |tx| tx.forget_console_sessions(later, 1)).await, 1);
    assert_eq!(db.put(move |tx| tx.forget_console_sessions(later, 10)).await, 1);
}

pub(crate) async fn the_oldest_sessions_of_a_holder_end_first(db: Database) {
    let (one, other) = (db.client().await.id, db.client().await.id);
    let now = db.make.now();
    let begun = async |client, second| {
        let at = now.plus(Duration::from_secs(second));
        let session = ConsoleSession {
            token: db.make.hash(),
            holder: SessionHolder::Client(client),
            credential: db.make.hash(),
            created_at: at,
            seen_at: at,
            expires_at: at.plus(Duration::from_secs(3600)),
        };
        let stored = session.clone();
        db.put(move |tx| tx.insert_console_session(&stored)).await;
        session
    };
    let sessions = [begun(one, 3).await, begun(one, 1).await, begun(one, 2).await, begun(other, 0).await];
    let make_room = async |keep, most| {
        db.put(move |tx| tx.delete_oldest_console_sessions(SessionHolder::Client(one), keep, most)).await
    };
    assert_eq!((make_room(3, 10).await, make_room(2, 10).await, make_room(2, 10).await), (0, 1, 0));
    let mut left = Vec::new();
    for session in &sessions {
        left.push(found(&db, session).await.is_some());
    }
    assert_eq!(left, [true, false, true, true]);
    assert_eq!((make_room(0, 1).await, make_room(0, 10).await), (1, 1));
}

pub(crate) async fn an_operator_key_keeps_every_field_and_is_revoked_once(db: Database) {
    let (first, second) = (operator_key(&db).await, operator_key(&db).await);
    let id = first.id;
    let found = db.get(move |tx| tx.operator_key(id)).await.unwrap();
    assert!(found.hash == first.hash && found.name == first.name && found.created_at == first.created_at);
    let now = db.make.now();
    assert!(db.put(move |tx| tx.revoke_operator_key(id, now)).await);
    assert!(!db.put(move |tx| tx.revoke_operator_key(id, now)).await);
    let listed: Vec<_> = db.get(|tx| tx.operator_keys()).await.iter().map(|key| (key.id, key.revoked_at)).collect();
    assert_eq!(listed, [(second.id, None), (id, Some(now))]);
}

pub(crate) async fn counts_stop_at_their_ceiling(db: Database) {
    let account = db.some_account().await;
    let (reseller, now): (ResellerId, _) = (account.reseller, Timestamp::from_secs(1_800_000_000));
    let certificate = |place: i64, state: &str, created: Timestamp, not_after: Timestamp| {
        let id = chancery_domain::CertificateId::new(created, db.make.entropy());
        let order = chancery_domain::OrderId::new(created, db.make.entropy());
        let millis = |at: Timestamp| at.as_millis();
        [
            format!(
                "INSERT INTO orders (id, reseller_id, account_id, kid, kid_was_revoked, via, profile, identifiers, certificate_id,
                 metadata, state, state_at, expires_at, created_at, updated_at, version) VALUES ('{order}', '{reseller}',
                 '{}', '{}', 0, 'acme', 'TLS-90d', '[]', '{id}', '{{}}', 'valid', 0, 0, 0, 0, 1)",
                account.id, account.kid
            ),
            format!(
                "INSERT INTO certificates (id, order_id, reseller_id, account_id, kid, via, profile, identifiers, state, state_at,
                 serial, not_after, created_at, updated_at, version) VALUES ('{id}', '{order}', '{reseller}', '{}', '{}', 'acme',
                 'TLS-90d', '[]', '{state}', 0, '{place:032x}', {}, 0, 0, 1)",
                account.id, account.kid, millis(not_after)
            ),
        ]
    };
    let day = Duration::from_secs(86_400);
    for place in 0..5 {
        for sql in certificate(place, "issued", now.plus(day), now.plus(day * 10)) {
            db.raw(&sql).unwrap();
        }
    }
    for sql in certificate(5, "revoked", now, now.plus(day * 10)) {
        db.raw(&sql).unwrap();
    }
    for (state, most, counted) in
        [(CountedState::Issued, 100, 5), (CountedState::Issued, 4, 4), (CountedState::Revoked, 100, 1)]
    {
        let all = db.get(move |tx| tx.count_all_certificates(reseller, state, most)).await;
        assert_eq!(all, counted, "{state:?}");
    }
    let ends = [10, 0].map(|days| Span { from: now.plus(day * days), until: now.plus(day * (days + 1)) });
    assert_eq!(db.get(move |tx| tx.count_expiring(reseller, &ends, 100)).await, [5, 0]);
    assert_eq!(db.get(move |tx| tx.count_expiring(reseller, &ends, 3)).await, [3, 0]);
    let stranger = db.reseller().await.id;
    assert_eq!(db.get(move |tx| tx.count_expiring(stranger, &ends, 100)).await, [0, 0]);
}

pub(crate) async fn accounts_are_found_by_the_beginning_of_their_address(db: Database) {
    let reseller = db.reseller().await.id;
    for address in ["anna@example.com", "Annabel@example.com", "bert@example.com", "an_@example.com"] {
        let email = EmailAddress::parse(address).unwrap();
        db.account(chancery_domain::Account { email, ..db.make.account(reseller) }).await;
    }
    let search = async |prefix: &'static str| {
        let found = db.get(move |tx| tx.accounts_by_email_prefix(reseller, prefix, 10)).await;
        found.items.iter().map(|account| account.email.key().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(search("anna").await, ["anna@example.com", "annabel@example.com"]);
    assert_eq!(search("an_").await, ["an_@example.com"]);
    assert_eq!(search("%").await, Vec::<String>::new());
    let other = db.reseller().await.id;
    assert!(db.get(move |tx| tx.accounts_by_email_prefix(other, "anna", 10)).await.items.is_empty());
}

pub(crate) async fn a_session_of_a_provider_keeps_every_field_and_is_begun_once(db: Database) {
    let (now, second) = (db.make.now(), Duration::from_secs(1));
    let reseller = db.reseller().await.id;
    let session = |subject: &str| ExternalSession {
        token: db.make.hash(),
        state: db.make.hash(),
        issuer: "https://id.test".to_owned(),
        subject: subject.to_owned(),
        name: "Anna Ä".to_owned(),
        reseller,
        scopes: "reseller read:account".parse().unwrap(),
        created_at: now,
        seen_at: now,
        expires_at: now.plus(second * 60),
    };
    let keep = async |session: &ExternalSession| {
        let session = session.clone();
        db.put(move |tx| tx.insert_external_session(&session)).await
    };
    let find = async |session: &ExternalSession| {
        let token = session.token.clone();
        db.get(move |tx| tx.external_session(&token)).await
    };
    let one = session("anna");
    assert!(keep(&one).await);
    let found = find(&one).await.unwrap();
    assert!(found.token == one.token && found.state == one.state && found.reseller == reseller);
    let texts = |of: &ExternalSession| [of.issuer.clone(), of.subject.clone(), of.name.clone(), of.scopes.to_string()];
    let times = |of: &ExternalSession| [of.created_at, of.seen_at, of.expires_at];
    assert_eq!((texts(&found), times(&found)), (texts(&one), times(&one)));
    let (token, later) = (one.token.clone(), now.plus(second * 7));
    db.put(move |tx| tx.touch_external_session(&token, later)).await;
    assert_eq!(find(&one).await.unwrap().seen_at, later);

    // What it was begun with begins no other, also when it has ended.
    let again = ExternalSession { state: one.state.clone(), ..session("anna") };
    assert!(!keep(&again).await);
    let token = one.token.clone();
    assert!(db.put(move |tx| tx.end_external_session(&token, later)).await);
    assert!(find(&one).await.is_none() && !keep(&again).await);

    let (two, other) = (session("anna"), session("bert"));
    assert!(keep(&two).await && keep(&other).await);
    let remembered = async |most| db.get(move |tx| tx.count_external_sessions("https://id.test", "anna", most)).await;
    assert_eq!((remembered(10).await, remembered(1).await), (2, 1), "one has ended");
    assert_eq!(db.put(move |tx| tx.end_external_sessions("https://id.test", "anna", later, 1, 10)).await, 0);
    assert_eq!(db.put(move |tx| tx.end_external_sessions("https://id.test", "anna", later, 0, 10)).await, 1);
    assert!(find(&two).await.is_none() && find(&other).await.is_some());
    let end = other.expires_at;
    assert_eq!(db.put(move |tx| tx.forget_external_sessions(end, 10)).await, 0);
    assert_eq!(db.put(move |tx| tx.forget_external_sessions(end.plus(second), 2)).await, 2);
    assert_eq!(db.put(move |tx| tx.forget_external_sessions(end.plus(second), 2)).await, 1);
    assert!(keep(&again).await);
    assert_eq!(db.put(|tx| tx.end_console_sessions()).await, 1);
}

pub(crate) async fn nodes_are_noted_listed_and_forgotten(db: Database) {
    let (now, second) = (db.make.now(), Duration::from_secs(1));
    let node = |id: &str, seen: u32| NodeRow {
        id: id.to_owned(),
        name: format!("host {id}"),
        version: "1.2.3".to_owned(),
        started_at: now,
        seen_at: now.plus(second * seen),
    };
    for row in [node("a", 1), node("b", 2), node("a", 3)] {
        db.put(move |tx| tx.note_node(&row)).await;
    }
    assert_eq!(db.get(|tx| tx.nodes(10)).await, [node("a", 3), node("b", 2)]);
    assert_eq!(db.get(|tx| tx.nodes(1)).await, [node("a", 3)]);
    let before = now.plus(second * 3);
    assert_eq!(db.put(move |tx| tx.forget_nodes(before)).await, 1);
    db.put(|tx| tx.remove_node("a")).await;
    assert!(db.get(|tx| tx.nodes(10)).await.is_empty());
}
