//! The schema, brought forward step by step and never back.

use std::thread;

use crate::engine::{Connector, DatabaseUrl, postgres_connect, sqlite_open};
use crate::error::StoreError;
use crate::store::Options;

/// One step: a number, a name, and its text for each database.
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

macro_rules! migrations {
    ($($version:literal $name:literal;)*) => {
        /// Every step there is, in order.
        pub fn migrations() -> &'static [Migration] {
            &[$(Migration {
                version: $version,
                name: $name,
                sqlite: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
                postgres: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
            },)*]
        }
    };
}

migrations! {
    1 "0001_identity";
    2 "0002_accounts";
    3 "0003_groups_and_policies";
    4 "0004_audit_and_idempotency";
    5 "0005_orders";
    6 "0006_acme";
    7 "0007_acme_extensions";
    8 "0008_events";
}

/// A step that was just done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub version: i64,
    pub name: &'static str,
}

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL)";
const NEWEST: &str = "SELECT COALESCE(MAX(version), 0) FROM schema_migrations";

/// Any number, as long as every release uses the same: nodes that start together migrate one after the other.
const POSTGRES_LOCK: i64 = 0x0C4A_17CE;

/// What requests have to do within seconds, a step over a large table need not. Another node may be migrating, too.
const POSTGRES_PATIENCE: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '10min'";

/// Applies what is missing. Each step is one transaction with its own mark, so a crash leaves no half of one.
pub(crate) fn run(url: &DatabaseUrl, options: &Options) -> Result<Vec<Applied>, StoreError> {
    off_runtime(|| apply(url, options))
}

/// Says whether the schema is the one this program knows, without touching it.
pub(crate) fn check(url: &DatabaseUrl, options: &Options) -> Result<(), StoreError> {
    off_runtime(|| compare(url, options))
}

fn apply(url: &DatabaseUrl, options: &Options) -> Result<Vec<Applied>, StoreError> {
    match url {
        DatabaseUrl::Sqlite(path) => {
            let connection = sqlite_open(path)?;
            // Taken before the version is read, so that two processes cannot both see the old one.
            connection.execute_batch("BEGIN IMMEDIATE")?;
            connection.execute_batch(TABLE)?;
            let found = connection.query_row(NEWEST, [], |row| row.get(0))?;
            let steps = missing(found)?;
            for step in steps {
                connection.execute_batch(step.sqlite)?;
                connection.execute(
                    "INSERT INTO schema_migrations (version, name) VALUES (?1, ?2)",
                    (step.version, step.name),
                )?;
            }
            connection.execute_batch("COMMIT")?;
            Ok(applied(steps))
        }
        DatabaseUrl::Postgres(config) => {
            let mut client = postgres_connect(config, &Connector::new(options.postgres_ca.as_deref())?)?;
            let mut transaction = client.transaction()?;
            transaction.batch_execute(POSTGRES_PATIENCE)?;
            transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&POSTGRES_LOCK])?;
            transaction.batch_execute(TABLE)?;
            let steps = missing(transaction.query_one(NEWEST, &[])?.get(0))?;
            for step in steps {
                transaction.batch_execute(step.postgres)?;
                transaction.execute(
                    "INSERT INTO schema_migrations (version, name) VALUES ($1, $2)",
                    &[&step.version, &step.name],
                )?;
            }
            transaction.commit()?;
            Ok(applied(steps))
        }
    }
}

fn compare(url: &DatabaseUrl, options: &Options) -> Result<(), StoreError> {
    let found = match url {
        DatabaseUrl::Sqlite(path) => {
            let connection = sqlite_open(path)?;
            let marked =
                connection.prepare("SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations'")?.exists([])?;
            if marked { connection.query_row(NEWEST, [], |row| row.get(0))? } else { 0 }
        }
        DatabaseUrl::Postgres(config) => {
            let mut client = postgres_connect(config, &Connector::new(options.postgres_ca.as_deref())?)?;
            let marked = client.query_one("SELECT to_regclass('schema_migrations') IS NOT NULL", &[])?.get(0);
            if marked { client.query_one(NEWEST, &[])?.get(0) } else { 0 }
        }
    };
    match missing(found)? {
        [] => Ok(()),
        _ => Err(StoreError::OlderSchema { found, known: newest() }),
    }
}

/// The PostgreSQL driver has a runtime of its own inside, and panics on a thread that already drives one.
fn off_runtime<T: Send>(work: impl FnOnce() -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
    let panicked = |_| Err(StoreError::Database("the migration panicked".to_owned()));
    thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(panicked))
}

fn newest() -> i64 {
    migrations().last().map_or(0, |step| step.version)
}

fn missing(found: i64) -> Result<&'static [Migration], StoreError> {
    let known = newest();
    if found > known {
        return Err(StoreError::NewerSchema { found, known });
    }
    let done = migrations().iter().take_while(|step| step.version <= found).count();
    Ok(&migrations()[done..])
}

fn applied(steps: &[Migration]) -> Vec<Applied> {
    steps.iter().map(|step| Applied { version: step.version, name: step.name }).collect()
}
