use chancery_domain::{PageRequest, ResellerId};
use chancery_store::{AuditFilter, AuditRecord, Outcome};
use chancery_testkit::Address;

use crate::common::Database;

async fn trail(db: &Database, filter: AuditFilter) -> Vec<AuditRecord> {
    db.get(move |tx| tx.audit(&filter, &PageRequest::default())).await.items
}

async fn append(db: &Database, record: &AuditRecord) {
    let stored = record.clone();
    db.put(move |tx| tx.append_audit(&stored)).await;
}

/// A record that differs from a plain one in everything.
fn peculiar(db: &Database, reseller: ResellerId) -> AuditRecord {
    AuditRecord {
        actor_kind: "client".to_owned(),
        actor: "cli_1".to_owned(),
        address: "2001:db8::1".to_owned(),
        request_id: "r-1".to_owned(),
        action: "account.delete".to_owned(),
        outcome: Outcome::Refused,
        detail: r#"{"reason":"Größe 😀 \u0000"}"#.to_owned(),
        ..db.make.audit(Some(reseller), "acc_1")
    }
}

pub(crate) async fn keeps_every_field(db: Database) {
    let reseller = db.make.reseller().id;
    // The trail outlives what it speaks of: a reseller that does not exist is no obstacle.
    let records = [peculiar(&db, reseller), db.make.audit(None, "/v1/nothing")];
    for record in &records {
        append(&db, record).await;
    }
    let [first, second] = records;
    assert_eq!(trail(&db, AuditFilter::default()).await, [second, first]);
}

/// A caller chooses the path that is written down here, and must not be able to keep it out of the trail.
pub(crate) async fn takes_every_text(db: Database) {
    let record = AuditRecord { actor: "\0".to_owned(), ..db.make.audit(None, "/v1/a\0b") };
    append(&db, &record).await;
    let found = trail(&db, AuditFilter::default()).await;
    assert_eq!((found[0].actor.as_str(), found[0].subject.as_str()), ("\u{fffd}", "/v1/a\u{fffd}b"));
}

pub(crate) async fn each_filter_narrows_the_trail(db: Database) {
    let reseller = db.make.reseller().id;
    let plain = [db.make.audit(None, "acc_0"), db.make.audit(None, "acc_0")];
    let wanted = peculiar(&db, reseller);
    let later = db.make.audit(None, "acc_0");
    for record in [&plain[0], &plain[1], &wanted, &later] {
        append(&db, record).await;
    }
    let any = AuditFilter::default;
    let filters = [
        AuditFilter { reseller: Some(reseller), ..any() },
        AuditFilter { subject: Some("acc_1".to_owned()), ..any() },
        AuditFilter { actor: Some("cli_1".to_owned()), ..any() },
        AuditFilter { action: Some("account.delete".to_owned()), ..any() },
        AuditFilter { outcome: Some(Outcome::Refused), ..any() },
        AuditFilter { request_id: Some("r-1".to_owned()), ..any() },
        AuditFilter { since: Some(wanted.at), until: Some(later.at), ..any() },
        AuditFilter {
            reseller: Some(reseller),
            subject: Some("acc_1".to_owned()),
            actor: Some("cli_1".to_owned()),
            action: Some("account.delete".to_owned()),
            outcome: Some(Outcome::Refused),
            request_id: Some("r-1".to_owned()),
            since: Some(wanted.at),
            until: Some(later.at),
        },
    ];
    for filter in filters {
        let said = format!("{filter:?}");
        assert_eq!(trail(&db, filter).await, std::slice::from_ref(&wanted), "{said}");
    }
    let [since, until] =
        [AuditFilter { since: Some(wanted.at), ..any() }, AuditFilter { until: Some(wanted.at), ..any() }];
    assert_eq!(trail(&db, since).await, [later, wanted.clone()]);
    assert_eq!(trail(&db, until).await, [plain[1].clone(), plain[0].clone()]);
    let nobody = AuditFilter { reseller: Some(reseller), actor: Some("root".to_owned()), ..any() };
    assert_eq!(trail(&db, nobody).await, []);
}

pub(crate) async fn what_was_written_cannot_be_changed_or_deleted(db: Database) {
    let record = db.make.audit(None, "acc_0");
    append(&db, &record).await;
    let mut attempts = vec!["UPDATE audit SET detail = 'x'", "DELETE FROM audit", "DELETE FROM audit WHERE at > 0"];
    if let Address::Postgres(_) = db.address() {
        attempts.push("TRUNCATE audit");
    }
    for attempt in attempts {
        let error = db.raw(attempt).expect_err(attempt);
        assert!(error.contains("append-only"), "{attempt}: {error}");
    }
    assert_eq!(trail(&db, AuditFilter::default()).await, [record]);
}
