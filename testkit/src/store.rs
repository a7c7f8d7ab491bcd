//! A store of a test's own, on a database that goes when the test ends.

use std::ops::Deref;
use std::path::PathBuf;
use std::thread;

use chancery_store::{DatabaseUrl, Options, Store, StoreError};
use tempfile::TempDir;

use crate::postgres::TestDatabase;

/// A migrated, empty store. It can be used like the [`Store`] that it holds.
pub struct TestStore {
    store: Store,
    place: Place,
}

/// What must outlive the store.
enum Place {
    Directory(TempDir),
    Database(TestDatabase),
}

impl TestStore {
    /// On a SQLite file in a directory of its own.
    pub fn sqlite() -> Self {
        Self::sqlite_with(&Options::default())
    }

    pub fn sqlite_with(options: &Options) -> Self {
        let directory = tempfile::tempdir().expect("there is room for a temporary directory");
        let url = DatabaseUrl::Sqlite(directory.path().join(FILE));
        Self { store: open(&url, options).expect("a new SQLite database opens"), place: Place::Directory(directory) }
    }

    /// On a PostgreSQL database of its own, or `None` when the test is to be skipped: see [`crate::postgres`].
    pub fn postgres() -> Option<Self> {
        Self::postgres_with(&Options::default())
    }

    pub fn postgres_with(options: &Options) -> Option<Self> {
        let database = TestDatabase::create()?;
        let url = database.url().parse().expect("the test database has a URL");
        let store = open(&url, options).expect("a new PostgreSQL database opens");
        Some(Self { store, place: Place::Database(database) })
    }

    /// Another handle on the same database, as another process would have it.
    pub fn another(&self, options: &Options) -> Result<Store, StoreError> {
        open(self.store.url(), options)
    }

    /// The database itself, for a test that must go behind the store's back.
    pub fn address(&self) -> Address {
        match &self.place {
            Place::Directory(directory) => Address::Sqlite(directory.path().join(FILE)),
            Place::Database(database) => Address::Postgres(database.url().to_owned()),
        }
    }
}

/// What a driver needs to connect: unlike a [`DatabaseUrl`], which never shows its password, it is complete.
#[derive(Clone, Debug)]
pub enum Address {
    Sqlite(PathBuf),
    Postgres(String),
}

const FILE: &str = "chancery.db";

impl Deref for TestStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

/// Opens on a thread of its own: opening blocks, which it may not do on a thread of an async runtime.
fn open(url: &DatabaseUrl, options: &Options) -> Result<Store, StoreError> {
    thread::scope(|scope| scope.spawn(|| Store::open(url, options)).join().expect("opening reports errors"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_answers_inside_a_runtime() {
        TestStore::sqlite().ping().await.unwrap();
        if let Some(store) = TestStore::postgres() {
            store.ping().await.unwrap();
        }
    }
}
