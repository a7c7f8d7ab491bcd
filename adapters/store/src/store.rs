//! The store that the rest of the program holds.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{ResellerId, Timestamp};
use chancery_fair::Tenant;

use crate::engine::{DatabaseUrl, Facts, PostgresPool, SqlitePool, facts, private_file, sqlite_copy};
use crate::error::StoreError;
use crate::migrate::{self, Applied};
use crate::peaks::WritePeaks;
use crate::tx::Tx;
use crate::unit::{Errand, Kind, Reply, Settled, Unit, pack, unpack};

/// How long a unit may wait for a connection to PostgreSQL before it is given up. SQLite's writer is always at work.
const TURN: Duration = Duration::from_secs(5);
/// How long PostgreSQL must have refused nothing before it is asked whether it writes again.
const CALM: Duration = Duration::from_secs(2);

/// The target of spans that only traces are made of; disabled, they cost a look at a flag.
pub const SPANS: &str = "chancery::span";

/// How to open a store.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections: readers beside the one writer on SQLite, all of them on PostgreSQL.
    pub connections: usize,
    /// Bring the schema up to date on opening; otherwise refuse one that is not.
    pub migrate: bool,
    /// Units that may wait before new ones are refused: on SQLite, to be written and to be read each.
    pub queue: usize,
    /// Units that may share one commit on SQLite; 1 gives each its own.
    pub group: usize,
    /// Certificates that vouch for a PostgreSQL server, in PEM; the system's where there is none.
    pub postgres_ca: Option<std::path::PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { connections: 8, migrate: true, queue: 4096, group: 256, postgres_ca: None }
    }
}

/// A handle on the database; clones share it. Units of work are charged to the handle's tenant: to the system, unless
/// [`Store::for_reseller`] or [`Store::for_anonymous`] made the handle.
#[derive(Clone)]
pub struct Store {
    database: Arc<Database>,
    tenant: Tenant,
}

struct Database {
    backend: Backend,
    url: DatabaseUrl,
    connections: usize,
}

enum Backend {
    Sqlite(SqlitePool),
    Postgres(PostgresPool),
}

impl Store {
    /// Opens the database, and brings its schema up to date where the options say so. Blocks until
    /// that is done: call it at start-up.
    pub fn open(url: &DatabaseUrl, options: &Options) -> Result<Self, StoreError> {
        if options.migrate {
            migrate::run(url, options)?;
        } else {
            migrate::check(url, options)?;
        }
        let backend = match url {
            DatabaseUrl::Sqlite(path) => Backend::Sqlite(SqlitePool::open(path, options)?),
            DatabaseUrl::Postgres(config) => Backend::Postgres(PostgresPool::open(config, options)?),
        };
        Ok(Self::of(backend, url, options))
    }

    fn of(backend: Backend, url: &DatabaseUrl, options: &Options) -> Self {
        let database = Database { backend, url: url.clone(), connections: options.connections };
        Self { database: Arc::new(database), tenant: Tenant::System }
    }

    /// The same database, for units of work of this reseller. Resellers share the time of the writer and of the connections
    /// evenly: one whose units take long, or that has many of them, waits for itself.
    #[must_use]
    pub fn for_reseller(&self, reseller: ResellerId) -> Self {
        Self { database: self.database.clone(), tenant: Tenant::Id(reseller.as_u128()) }
    }

    /// The same database, for units of work of clients that are not authenticated. All of them together have the share of one
    /// reseller.
    #[must_use]
    pub fn for_anonymous(&self) -> Self {
        Self { database: self.database.clone(), tenant: Tenant::Anonymous }
    }

    /// Brings the schema up to date and says what was done.
    pub fn migrate(url: &DatabaseUrl, options: &Options) -> Result<Vec<Applied>, StoreError> {
        migrate::run(url, options)
    }

    pub fn url(&self) -> &DatabaseUrl {
        &self.database.url
    }

    /// How many units may read at a time.
    pub fn connections(&self) -> usize {
        self.database.connections
    }

    /// Whether several nodes can serve from the database. SQLite is for one; operators' commands may work beside it.
    pub fn is_shared(&self) -> bool {
        matches!(self.database.url, DatabaseUrl::Postgres(_))
    }

    /// Runs a unit of work that may change things. When it gives `Ok`, its changes are on the disk; when the
    /// closure gives `Err`, none of them is. The closure may run again after a conflict.
    pub fn write<T, E, F>(&self, unit: F) -> impl Future<Output = Result<T, E>> + Send
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.result_of(unit, Kind::Write)
    }

    /// Runs a unit of which one statement writes and no more, which PostgreSQL takes without a transaction around it.
    pub fn alone<T, E, F>(&self, unit: F) -> impl Future<Output = Result<T, E>> + Send
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.result_of(unit, Kind::Alone)
    }

    /// Runs a unit of work that only reads, on one consistent snapshot.
    pub fn read<T, E, F>(&self, unit: F) -> impl Future<Output = Result<T, E>> + Send
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.result_of(unit, Kind::Read)
    }

    /// Like [`Store::read`], for a few rows by their keys: to read them takes less than to have another thread do it, so
    /// SQLite does it here. Nothing else runs on this thread meanwhile.
    pub fn glance<T, E, F>(&self, unit: F) -> impl Future<Output = Result<T, E>> + Send
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.result_of(unit, Kind::Glance)
    }

    /// Like [`Store::glance`], for rows that need not be of one moment, or for one question: there is no transaction around
    /// it.
    pub fn peek<T, E, F>(&self, unit: F) -> impl Future<Output = Result<T, E>> + Send
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.result_of(unit, Kind::Peek)
    }

    async fn result_of<T, E, F>(&self, unit: F, kind: Kind) -> Result<T, E>
    where
        F: FnMut(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        unpack::<F, T, E>(self.perform(pack(unit), kind).await?)
    }

    /// Units of work that wait for a thread.
    pub fn waiting(&self) -> usize {
        match &self.database.backend {
            Backend::Sqlite(pool) => pool.waiting(),
            Backend::Postgres(pool) => pool.waiting(),
        }
    }

    /// The largest write transactions since this was called last.
    pub fn take_write_peaks(&self) -> WritePeaks {
        match &self.database.backend {
            Backend::Sqlite(pool) => pool.take_peaks(),
            Backend::Postgres(pool) => pool.take_peaks(),
        }
    }

    /// Whether the database can be relied on: no damage was met, it answers, and it takes what is written.
    pub async fn check(&self, who: &str, now: Timestamp) -> Result<(), StoreError> {
        let Backend::Sqlite(pool) = &self.database.backend else { return self.ping().await };
        if let Some(damage) = pool.damage() {
            return Err(damage);
        }
        self.ping().await?;
        let who = who.to_owned();
        self.write(move |tx| tx.probe(&who, now)).await
    }

    /// Whether a trivial question is answered; and, where the last thing that was to be written could not be, whether
    /// something can be written now.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.read(|tx| tx.identity_epoch().map(drop)).await?;
        match &self.database.backend {
            Backend::Postgres(pool) => match pool.refused_at() {
                None => Ok(()),
                Some(at) if at.elapsed() < CALM => {
                    Err(StoreError::Unavailable("it refused to write something a moment ago".to_owned()))
                }
                Some(at) => {
                    self.write(|tx| tx.try_to_write()).await?;
                    pool.forgive(at);
                    Ok(())
                }
            },
            Backend::Sqlite(_) => Ok(()),
        }
    }

    /// Copies a SQLite database, while it is in use, into a new file that is consistent and complete, and knows when it
    /// was made.
    pub fn backup(path: &Path, to: &Path, now: Timestamp) -> Result<(), StoreError> {
        sqlite_copy::backup(path, to, now.as_millis())
    }

    /// What is wrong with a SQLite file itself; nothing, where all is well. Changes nothing.
    pub fn inspect_file(path: &Path) -> Result<Vec<String>, StoreError> {
        sqlite_copy::inspect(path)
    }

    /// Copies a SQLite file that nobody looks after, with what may still be in the log beside it.
    pub fn copy_file(from: &Path, to: &Path) -> Result<(), StoreError> {
        sqlite_copy::copy(from, to)
    }

    /// Takes access to a SQLite database, and to the files that SQLite keeps beside it, from everybody but their owner.
    pub fn protect_files(path: &Path) -> Result<(), StoreError> {
        private_file::protect(path)
    }

    /// Ends the use of a SQLite file: when this is done, all of it is in the one file, on the disk, and nobody has it open.
    pub fn close_file(path: &Path) -> Result<(), StoreError> {
        sqlite_copy::close(path)
    }

    /// Brings all that was written into the one file of a SQLite database, so that whoever copies it has everything; an error
    /// where somebody else has it open and that is not possible. On PostgreSQL there is nothing to do.
    pub fn empty_log(&self) -> Result<(), StoreError> {
        match &self.database.backend {
            Backend::Sqlite(pool) => pool.empty_log(),
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Looks whether a SQLite database still has its files, and keeps what was in a log that was deleted. The sooner that is known,
    /// the less somebody else has done in between.
    pub async fn look_after_files(&self) {
        if let Backend::Sqlite(pool) = &self.database.backend
            && !pool.has_its_files()
        {
            // Whoever writes finds out the rest, and does what can be done.
            let _refused = self.write(|tx| tx.try_to_write()).await;
        }
    }

    /// Whether nothing is read or written any more, and everything is once the database has been opened anew: the log of a SQLite
    /// database was deleted, and what was in it is in the file.
    pub fn ends_with_reopening(&self) -> bool {
        match &self.database.backend {
            Backend::Sqlite(pool) => pool.ends_with_reopening(),
            Backend::Postgres(_) => false,
        }
    }

    /// What can be said of a database without changing anything.
    pub fn facts(url: &DatabaseUrl, options: &Options) -> Result<Facts, StoreError> {
        facts::facts(url, options)
    }

    /// Opens the database for somebody who only looks: nothing is changed or made, not even a file beside it.
    pub fn open_untouched(url: &DatabaseUrl, options: &Options) -> Result<Self, StoreError> {
        let backend = match url {
            DatabaseUrl::Sqlite(path) => Backend::Sqlite(SqlitePool::open_untouched(path, options)?),
            DatabaseUrl::Postgres(config) => Backend::Postgres(PostgresPool::open(config, options)?),
        };
        Ok(Self::of(backend, url, options))
    }

    /// How many other connections of this program there are to a PostgreSQL database; on SQLite a lock tells.
    pub fn others(url: &DatabaseUrl, options: &Options) -> Result<i64, StoreError> {
        migrate::others(url, options)
    }

    /// Has a unit done, here or on a thread that owns a connection.
    async fn perform(&self, unit: Box<dyn Unit>, kind: Kind) -> Result<Settled, StoreError> {
        let _waiting = match kind {
            Kind::Read => tracing::trace_span!(target: SPANS, "store.read"),
            Kind::Glance | Kind::Peek => tracing::trace_span!(target: SPANS, "store.glance"),
            Kind::Write => tracing::trace_span!(target: SPANS, "store.write"),
            Kind::Alone => tracing::trace_span!(target: SPANS, "store.alone"),
        };
        let answer = match &self.database.backend {
            Backend::Sqlite(pool) => {
                let unit = match kind {
                    Kind::Glance | Kind::Peek => match pool.glance(unit, kind) {
                        Ok(settled) => return Ok(settled),
                        Err(unit) => unit,
                    },
                    Kind::Read | Kind::Write | Kind::Alone => unit,
                };
                let (errand, reply) = Errand::new(unit);
                pool.send(self.tenant, errand, kind)?;
                reply.answer.await
            }
            Backend::Postgres(pool) => {
                let (errand, Reply { mut answer, turn }) = Errand::new(unit);
                pool.send(self.tenant, errand, kind)?;
                match tokio::time::timeout(TURN, &mut answer).await {
                    Ok(answer) => answer,
                    Err(_) if turn.take() => return Err(StoreError::QueueFull),
                    // It is being done, and that ends in time.
                    Err(_) => answer.await,
                }
            }
        };
        answer.map_err(|_| StoreError::Unavailable("the store is shutting down".to_owned()))
    }
}
