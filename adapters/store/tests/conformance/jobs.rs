//! Work that is not done.

use std::time::Duration;

use chancery_store::{Backlog, JobKind};

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
