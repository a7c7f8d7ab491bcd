use std::thread;

use chancery_store::{Options, Store, StoreError, migrations};

use crate::common::{Database, raw_texts};

fn newest() -> i64 {
    migrations().last().unwrap().version
}

pub(crate) async fn every_step_is_applied_once(db: Database) {
    let (blank, options) = (db.blank(), Options::default());
    let run = || Store::migrate(&blank.url, &options).unwrap();
    let done: Vec<_> = run().iter().map(|step| (step.version, step.name)).collect();
    assert_eq!(done, migrations().iter().map(|step| (step.version, step.name)).collect::<Vec<_>>());
    assert!(run().is_empty());
    let marked = raw_texts(&blank.address, "SELECT name FROM schema_migrations ORDER BY version");
    assert_eq!(marked, migrations().iter().map(|step| step.name).collect::<Vec<_>>());
}

pub(crate) async fn a_database_without_the_schema_is_refused_where_it_may_not_be_changed(db: Database) {
    let (blank, careful) = (db.blank(), Options { migrate: false, ..Options::default() });
    let opened = Store::open(&blank.url, &careful).err();
    assert!(matches!(opened, Some(StoreError::OlderSchema { found: 0, known }) if known == newest()), "{opened:?}");
    Store::migrate(&blank.url, &careful).unwrap();
    Store::open(&blank.url, &careful).unwrap().ping().await.unwrap();
}

pub(crate) async fn a_newer_schema_is_refused_unless_it_leaves_room_for_this_program(db: Database) {
    let known = newest();
    let opened = |migrate| db.another(&Options { migrate, ..Options::default() });
    db.raw(&format!("INSERT INTO schema_migrations (version, name, needs) VALUES ({}, 'adds', 0)", known + 1)).unwrap();
    db.raw(&format!("INSERT INTO schema_migrations (version, name, needs) VALUES ({}, 'drops', {known})", known + 2))
        .unwrap();
    for migrate in [true, false] {
        opened(migrate).unwrap().ping().await.unwrap();
    }
    for needs in [(known + 1).to_string(), "NULL".to_owned()] {
        let newer = known + 3;
        db.raw(&format!("INSERT INTO schema_migrations (version, name, needs) VALUES ({newer}, 'more', {needs})"))
            .unwrap();
        for migrate in [true, false] {
            let refused = opened(migrate).err();
            assert!(
                matches!(refused, Some(StoreError::NewerSchema { found, .. }) if found == newer),
                "{needs}: {refused:?}"
            );
        }
        db.raw(&format!("DELETE FROM schema_migrations WHERE version = {newer}")).unwrap();
    }
    // Programs from before had no such column.
    db.raw("ALTER TABLE schema_migrations DROP COLUMN needs").unwrap();
    let refused = opened(false).err();
    assert!(matches!(refused, Some(StoreError::NewerSchema { .. })), "{refused:?}");
}

/// An earlier program takes a job of the kind `cascade` for damage, and relies on authorizations that were given up.
pub(crate) async fn programs_from_before_the_batches_are_refused(db: Database) {
    assert_eq!(db.raw_texts("SELECT CAST(needs AS TEXT) FROM schema_migrations WHERE version = 21"), ["21"]);
}

pub(crate) async fn many_that_start_at_once_apply_each_step_once(db: Database) {
    let blank = db.blank();
    let applied: usize = thread::scope(|scope| {
        let starters: Vec<_> =
            (0..8).map(|_| scope.spawn(|| Store::migrate(&blank.url, &Options::default()).unwrap().len())).collect();
        starters.into_iter().map(|starter| starter.join().unwrap()).sum()
    });
    assert_eq!(applied, migrations().len());
    Store::open(&blank.url, &Options::default()).unwrap().ping().await.unwrap();
}

/// A server opens its store where it may already be async.
pub(crate) async fn opening_works_inside_a_runtime(db: Database) {
    let blank = db.blank();
    Store::open(&blank.url, &Options::default()).unwrap().ping().await.unwrap();
    Store::open(&blank.url, &Options { migrate: false, ..Options::default() }).unwrap().ping().await.unwrap();
    Store::migrate(&blank.url, &Options::default()).unwrap();
}
