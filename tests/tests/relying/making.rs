//! What no use case does yet, done behind the store's back.

use std::thread;

use chancery_testkit::Address;
use chancery_tests::World;

/// Takes every issuing CA out of use.
pub(crate) fn retire_issuers(world: &World) {
    let sql = "UPDATE issuers SET state = 'retired' WHERE kind = 'issuing'";
    match world.store.address() {
        Address::Sqlite(path) => {
            let connection = rusqlite::Connection::open(path).unwrap();
            connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
            connection.execute(sql, []).unwrap();
        }
        // The driver blocks, which it may not do on a thread of an async runtime.
        Address::Postgres(url) => thread::scope(|scope| {
            let update = || postgres::Client::connect(&url, postgres::NoTls).unwrap().execute(sql, &[]).unwrap();
            scope.spawn(update).join().unwrap();
        }),
    }
}
