use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{AuditId, PageRequest, ResellerId};
use chancery_store::{AuditFilter, AuditRecord, Outcome, Place, Tx};
use chancery_testkit::Address;
use serde_json::Value;

use crate::common::{Database, Gate};

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

/// A page looks through so many lines and not more, and says where to go on.
pub(crate) async fn a_reseller_finds_its_own_behind_much_of_others(db: Database) {
    let (reseller, other) = (db.make.reseller().id, db.make.reseller().id);
    let refused = |record: AuditRecord| AuditRecord { outcome: Outcome::Refused, ..record };
    let own: Vec<_> = (0..3).map(|_| refused(db.make.audit(Some(reseller), "acc_1"))).collect();
    let others = (0..5000).map(|_| refused(db.make.audit(Some(other), "acc_2")));
    let mut all: Vec<_> = own.iter().cloned().chain(others).collect();
    all.push(refused(db.make.audit(Some(reseller), "acc_1")));
    let newest = all.last().cloned();
    db.put(move |tx| all.iter().try_for_each(|record| tx.append_audit(record))).await;
    let expected: Vec<_> = newest.into_iter().chain(own.into_iter().rev()).collect();
    let by_action = AuditFilter { action: Some("account.create".to_owned()), ..AuditFilter::default() };
    let by_outcome = AuditFilter { outcome: Some(Outcome::Refused), ..AuditFilter::default() };
    for filter in [by_action, by_outcome] {
        let filter = AuditFilter { reseller: Some(reseller), ..filter };
        let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let (filter, page) = (filter.clone(), PageRequest { limit: 2, after });
            let page = db.get(move |tx| tx.audit(&filter, &page)).await;
            found.extend(page.items);
            pages += 1;
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, expected);
        assert_eq!(pages, 2, "what others did costs nothing");
    }
}

/// A detail of about `length` bytes, as earlier versions wrote refusals.
fn refusal_of(length: usize) -> String {
    let problem = r#"{"code":"denied_domains","field":"identifiers[0]","message":"is denied","policy":"pol_1"}"#;
    let problems = vec![problem; length / problem.len()].join(",");
    format!(r#"{{"names":["a.test","b.test"],"order":null,"problems":[{problems}],"profile":"TLS-90d","quota":false}}"#)
}

pub(crate) async fn a_long_detail_is_cut_before_it_is_written(db: Database) {
    let record = AuditRecord { detail: refusal_of(100_000), subject: "s".repeat(5000), ..db.make.audit(None, "") };
    append(&db, &record).await;
    let stored =
        db.raw_texts("SELECT CAST(octet_length(detail) AS TEXT) FROM audit").remove(0).parse::<usize>().unwrap();
    assert!((4000..=8192).contains(&stored), "{stored}");
    let found = trail(&db, AuditFilter::default()).await.remove(0);
    let detail: Value = serde_json::from_str(&found.detail).unwrap();
    assert_eq!(detail["truncated"], true);
    assert!(detail["omittedBytes"].as_u64().unwrap() > 90_000, "{detail}");
    // What events are made of is still there.
    assert_eq!(
        (&detail["names"][1], &detail["profile"], &detail["quota"]),
        (&"b.test".into(), &"TLS-90d".into(), &false.into())
    );
    assert_eq!(found.subject.len(), 1024);
}

/// The trail cannot be changed, so what earlier versions wrote stays as long as it is.
pub(crate) async fn a_long_detail_of_an_earlier_version_is_read_in_part(db: Database) {
    const LONG: usize = 20_000_000;
    let reseller = db.make.reseller().id;
    let short = db.make.audit(Some(reseller), "s");
    append(&db, &short).await;
    let mut long = Vec::new();
    for length in [LONG, LONG, 60_000] {
        let id = db.make.audit(None, "").id;
        let position = match db.address() {
            Address::Sqlite(_) => ", (SELECT max(rowid) + 1 FROM audit)",
            Address::Postgres(_) => "",
        };
        let column = if position.is_empty() { "" } else { ", position" };
        let columns = "at, reseller_id, actor_kind, actor, address, request_id, action, subject, outcome";
        let detail = refusal_of(length);
        let insert = format!("INSERT INTO audit (id, {columns}, detail{column})");
        db.raw(&format!(
            "{insert} SELECT '{id}', {columns}, '{detail}'{position} FROM audit WHERE id = '{}'",
            short.id
        ))
        .unwrap();
        long.push(id);
    }
    let check = move |tx: &Tx<'_>, found: &[AuditRecord]| {
        for (record, length) in found.iter().zip([LONG, LONG, 60_000]) {
            assert!(record.detail.len() <= 8192, "{} bytes", record.detail.len());
            let detail: Value = serde_json::from_str(&record.detail).unwrap();
            assert_eq!((&detail["truncated"], &detail["names"][0]), (&true.into(), &"a.test".into()));
            assert!(detail["omittedBytes"].as_u64().unwrap() > length as u64 - 20_000);
            assert_eq!(detail["problems"][0]["code"], "denied_domains");
        }
        assert!(tx.bytes_read() < 200_000, "{} bytes were read", tx.bytes_read());
    };
    let by_subject = AuditFilter { subject: Some("s".to_owned()), ..AuditFilter::default() };
    let by_action =
        AuditFilter { reseller: Some(reseller), action: Some(short.action.clone()), ..AuditFilter::default() };
    for filter in [AuditFilter::default(), by_subject, by_action] {
        let read = move |tx: &mut Tx<'_>| {
            let mut found = tx.audit(&filter, &PageRequest::default())?.items;
            assert_eq!(found.len(), 4);
            found.reverse();
            check(tx, &found[1..]);
            Ok(())
        };
        db.get(read).await;
    }
    let place = move |tx: &mut Tx<'_>| {
        let placed = tx.records_after(reseller, &Place::default(), i64::MAX, 9)?;
        let records: Vec<_> = placed.into_iter().map(|placed| placed.record).collect();
        assert_eq!(records.len(), 4);
        check(tx, &records[1..]);
        Ok(())
    };
    db.get(place).await;
    for id in long {
        let one = move |tx: &mut Tx<'_>| {
            let found = tx.audit_record(reseller, id)?.unwrap();
            assert!(found.detail.len() <= 8192 && tx.bytes_read() < 100_000);
            Ok(())
        };
        db.get(one).await;
    }
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

/// Those who follow stand at a position, and would pass over whatever came below it.
pub(crate) async fn positions_never_come_back_whatever_is_cut(db: Database) {
    let reseller = db.make.reseller().id;
    for outcome in [Outcome::Done, Outcome::Refused] {
        for _ in 0..3 {
            append(&db, &AuditRecord { outcome, ..db.make.audit(Some(reseller), "acc_0") }).await;
        }
        let before = db.get(|tx| tx.event_horizon()).await;
        let (all, refusals) =
            (db.make.now().plus(Duration::from_secs(9)), Some(db.make.now().plus(Duration::from_secs(9))));
        db.put(move |tx| tx.cut_audit(None, refusals, 100)).await;
        db.put(move |tx| tx.cut_audit(Some(all), None, 100)).await;
        assert!(trail(&db, AuditFilter::default()).await.len() <= 1);
        append(&db, &db.make.audit(Some(reseller), "acc_1")).await;
        let placed = db.get(move |tx| tx.records_after(reseller, &Place::default(), i64::MAX, 9)).await;
        let newest = placed.last().unwrap();
        assert_eq!(newest.record.subject, "acc_1");
        assert!(newest.place.position >= before, "{} after {before}", newest.place.position);
    }
}

/// Who begins to follow at a time gets all that was made since, though one that was made later was committed before.
pub(crate) async fn a_place_in_time_misses_nothing_that_was_committed_in_another_order(db: Database) {
    let reseller = db.make.reseller().id;
    let (first, second) = (db.make.audit(Some(reseller), "acc_1"), db.make.audit(Some(reseller), "acc_2"));
    let at = first.at;
    let (long_ago, before) = (at.minus(Duration::from_secs(3600)), db.make.audit(Some(reseller), "acc_0"));
    let before = AuditRecord { id: AuditId::new(long_ago, db.make.entropy()), at: long_ago, ..before };
    // A refusal, which is written down when there is time.
    let late = AuditRecord { id: AuditId::new(long_ago, db.make.entropy()), ..before.clone() };
    for record in [&before, &second, &first, &late] {
        append(&db, record).await;
    }
    let since = move |tx: &mut Tx<'_>| {
        let place = tx.place_at(reseller, at)?;
        tx.records_after(reseller, &place, i64::MAX, 9)
    };
    let found: Vec<_> = db.get(since).await.into_iter().map(|found| found.record.subject).collect();
    assert_eq!(found, ["acc_0", "acc_2", "acc_1", "acc_0"]);
}

/// A unit that has begun to write, waits for another and then sees what that did, comes behind it for those who follow.
pub(crate) async fn what_waited_for_another_stands_behind_it(db: Database) {
    // SQLite has one writer: whoever begins first ends first.
    let Address::Postgres(_) = db.address() else { return };
    let account = db.some_account().await;
    let (reseller, id) = (account.reseller, account.id);
    let gate = Arc::new(Gate::default());
    let inside = Arc::clone(&gate);
    let begun = db.make.audit(Some(reseller), "begun");
    // A record is made when it is written, and that is after the wait.
    let ended = db.make.audit(Some(reseller), "ended");
    let ending = db.write(move |tx| {
        tx.hold_account(reseller, id)?;
        inside.pass();
        tx.append_audit(&ended)
    });
    let beginning = async {
        gate.reached().await;
        append(&db, &begun).await;
        gate.open();
    };
    let (ended, ()) = tokio::join!(ending, beginning);
    ended.unwrap();
    let placed = db.get(move |tx| tx.records_after(reseller, &Place::default(), i64::MAX, 9)).await;
    let subjects: Vec<_> = placed.iter().map(|found| found.record.subject.as_str()).collect();
    assert_eq!(subjects, ["begun", "ended"]);
    let horizon = db.get(|tx| tx.event_horizon()).await;
    assert!(placed.iter().all(|found| found.place.position < horizon), "{placed:?} are to be seen, up to {horizon}");
}
