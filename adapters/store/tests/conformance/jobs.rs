//! Work that is not done.

use std::time::Duration;

use chancery_store::{Backlog, CascadeRow, JobKind, Tx};

use crate::common::Database;

const LEASE: Duration = Duration::from_secs(15);

pub(crate) async fn the_backlog_is_counted_by_kind_and_knows_the_oldest(db: Database) {
    let now = db.make.now();
    let earlier = now.minus(Duration::from_secs(60));
    assert_eq!(db.read(move |tx| tx.backlog(now, 10)).await.unwrap(), []);
    db.write(move |tx| {
        tx.enqueue(JobKind::Issue, "b", "node", now, LEASE)?;
        tx.enqueue(JobKind::Issue, "a", "node", earlier, LEASE)?;
        tx.enqueue(JobKind::Validate, "c", "node", now, LEASE)
    })
    .await
    .unwrap();
    let mut backlog = db.read(move |tx| tx.backlog(now, 10)).await.unwrap();
    backlog.sort_by_key(|backlog| backlog.jobs);
    let validate = Backlog { kind: JobKind::Validate, jobs: 1, due: 0, oldest: now };
    assert_eq!(backlog, [validate, Backlog { kind: JobKind::Issue, jobs: 2, due: 1, oldest: earlier }]);
    // No more are counted than was said, and what is due first is among them.
    let first = Backlog { kind: JobKind::Issue, jobs: 1, due: 1, oldest: earlier };
    assert_eq!(db.read(move |tx| tx.backlog(now, 1)).await.unwrap(), [first]);
}

pub(crate) async fn a_cascade_that_is_begun_again_goes_on_for_the_later_time(db: Database) {
    let (earlier, later) = (db.make.now(), db.make.now());
    let row = |detail: &str, since| CascadeRow { detail: detail.to_owned(), since };
    for (detail, since, kept) in [("a", later, later), ("b", earlier, later), ("c", later, later)] {
        let (enqueued, expected) = (row(detail, since), row(detail, kept));
        db.put(move |tx| tx.enqueue_cascade("subject", &enqueued, "node", later, LEASE)).await;
        assert_eq!(db.get(|tx| tx.cascade("subject")).await, Some(expected));
    }
    let lock = |detail: &'static str, since| {
        db.put(move |tx: &mut Tx<'_>| tx.lock_cascade("subject", &CascadeRow { detail: detail.to_owned(), since }))
    };
    assert_eq!((lock("c", later).await, lock("b", later).await, lock("c", earlier).await), (true, false, false));
    db.put(|tx| tx.save_cascade("subject", "d")).await;
    assert_eq!((lock("c", later).await, lock("d", later).await), (false, true));
    db.put(|tx| tx.finish_job(JobKind::Cascade, "subject")).await;
    assert_eq!(db.get(|tx| tx.cascade("subject")).await, None);
    assert!(db.write(|tx| tx.save_cascade("subject", "e")).await.is_err());
}
