//! The schema, brought forward step by step and never back.

use std::thread;
use std::time::{Duration, Instant};

use tokio_postgres::Transaction;

use crate::engine::{Connector, DatabaseUrl, postgres_open, postgres_runtime, sqlite_open};
use crate::error::StoreError;
use crate::pipeline::wait;
use crate::store::Options;

/// One step: a number, a name, and its text for each database.
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    /// The oldest version that a program must know to work beside this step; 0 where the step only adds, so that every
    /// earlier program goes on working.
    pub needs: i64,
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

macro_rules! migrations {
    ($($version:literal $name:literal $(needs $needs:literal)?;)*) => {
        /// Every step there is, in order.
        pub fn migrations() -> &'static [Migration] {
            &[$(Migration {
                version: $version,
                name: $name,
                needs: 0 $(+ $needs)?,
                sqlite: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
                postgres: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
            },)*]
        }
    };
}

// A step only adds: tables, indexes, columns that may be left out. What takes something away, or asks more of a row, comes a
// release after the last program that relies on it, and says which version a program must know by then:
//     21 "0021_without_the_old_column" needs 17;
migrations! {
    1 "0001_identity";
    2 "0002_accounts";
    3 "0003_groups_and_policies";
    4 "0004_audit_and_idempotency";
    5 "0005_orders";
    6 "0006_acme";
    7 "0007_acme_extensions";
    8 "0008_events";
    9 "0009_limits";
    10 "0010_retention";
    11 "0011_console";
    12 "0012_usage_totals";
    13 "0013_sign_in_and_nodes";
    14 "0014_issuer_revocations";
    15 "0015_party_epoch";
    16 "0016_audit_positions";
}

/// A step that was just done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub version: i64,
    pub name: &'static str,
}

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL)";
/// Programs from before this column leave it out; what they did is known by its number.
const COLUMN: &str = "ALTER TABLE schema_migrations ADD COLUMN needs BIGINT";
pub(crate) const HAS_COLUMN_SQLITE: &str =
    "SELECT COUNT(*) FROM pragma_table_info('schema_migrations') WHERE name = 'needs'";
pub(crate) const HAS_COLUMN_POSTGRES: &str = "SELECT COUNT(*) FROM pg_attribute
    WHERE attrelid = 'schema_migrations'::regclass AND attname = 'needs' AND NOT attisdropped";
pub(crate) const NEWEST: &str = "SELECT COALESCE(MAX(version), 0) FROM schema_migrations";
/// What the steps that are newer than a version need of a program.
pub(crate) const NEEDED: &str =
    "SELECT COALESCE(MAX(COALESCE(needs, version)), 0) FROM schema_migrations WHERE version > $1";

/// Any number, as long as every release uses the same: nodes that start together migrate one after the other.
const POSTGRES_LOCK: i64 = 0x0C4A_17CE;

/// What requests have to do within seconds, a step over a large table need not. Another node may be migrating, too.
const POSTGRES_PATIENCE: &str = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '10min'";
/// A step that waits for a table makes everybody else wait behind it: it goes out of the way, and comes again.
const POSTGRES_POLITELY: &str = "SET LOCAL lock_timeout = '2s'";
const POSTGRES_AGAIN: Duration = Duration::from_millis(500);
const POSTGRES_TRIES_FOR: Duration = Duration::from_secs(600);

/// Applies what is missing. Each step has its own mark in the same transaction, so a crash leaves no half of one.
pub(crate) fn run(url: &DatabaseUrl, options: &Options) -> Result<Vec<Applied>, StoreError> {
    off_runtime(|| apply(url, options))
}

/// Says whether the schema is the one this program knows, without touching it.
pub(crate) fn check(url: &DatabaseUrl, options: &Options) -> Result<(), StoreError> {
    off_runtime(|| compare(url, options))
}

/// The other connections that a PostgreSQL server has from this program.
pub(crate) fn others(url: &DatabaseUrl, options: &Options) -> Result<i64, StoreError> {
    let DatabaseUrl::Postgres(config) = url else { return Ok(0) };
    off_runtime(|| {
        wait(&postgres_runtime()?, async {
            let (client, _) = postgres_open(config, &Connector::new(options.postgres_ca.as_deref())?).await?;
            let sql = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'chancery'
                       AND datname = current_database() AND pid <> pg_backend_pid()";
            Ok(client.query_one(sql, &[]).await?.get(0))
        })
    })
}

fn apply(url: &DatabaseUrl, options: &Options) -> Result<Vec<Applied>, StoreError> {
    match url {
        DatabaseUrl::Sqlite(path) => {
            let connection = sqlite_open(path)?;
            // Taken before the version is read, so that two processes cannot both see the old one.
            connection.execute_batch("BEGIN IMMEDIATE")?;
            connection.execute_batch(TABLE)?;
            if connection.query_row(HAS_COLUMN_SQLITE, [], |row| row.get::<_, i64>(0))? == 0 {
                connection.execute_batch(COLUMN)?;
            }
            let found = connection.query_row(NEWEST, [], |row| row.get(0))?;
            let needed = connection.query_row(NEEDED, [newest()], |row| row.get(0))?;
            let steps = missing(found, needed)?;
            for step in steps {
                connection.execute_batch(step.sqlite)?;
                connection.execute(
                    "INSERT INTO schema_migrations (version, name, needs) VALUES (?1, ?2, ?3)",
                    (step.version, step.name, step.needs),
                )?;
            }
            connection.execute_batch("COMMIT")?;
            Ok(applied(steps))
        }
        DatabaseUrl::Postgres(config) => wait(&postgres_runtime()?, async {
            let (mut client, _) = postgres_open(config, &Connector::new(options.postgres_ca.as_deref())?).await?;
            let (began, mut done) = (Instant::now(), Vec::new());
            loop {
                match step_on_postgres(client.transaction().await?).await {
                    Err(Refusal::Locked(_)) if began.elapsed() < POSTGRES_TRIES_FOR => {
                        tokio::time::sleep(POSTGRES_AGAIN).await;
                    }
                    Err(Refusal::Locked(error) | Refusal::Other(error)) => return Err(error),
                    Ok(Some(step)) => done.push(Applied { version: step.version, name: step.name }),
                    Ok(None) => return Ok(done),
                }
            }
        }),
    }
}

/// Why the steps were not done.
enum Refusal {
    /// Somebody held on to a table.
    Locked(StoreError),
    Other(StoreError),
}

impl From<tokio_postgres::Error> for Refusal {
    fn from(error: tokio_postgres::Error) -> Self {
        let locked = error.code().is_some_and(|code| code.code() == "55P03");
        if locked { Self::Locked(error.into()) } else { Self::Other(error.into()) }
    }
}

/// Does the next step, where there is one. Each is a transaction of its own, so that nobody waits for the locks of one
/// while the next is done.
async fn step_on_postgres(transaction: Transaction<'_>) -> Result<Option<&'static Migration>, Refusal> {
    let step = try_step(&transaction).await;
    match step {
        Ok(_) => transaction.commit().await?,
        Err(_) => transaction.rollback().await?,
    }
    step
}

async fn try_step(transaction: &Transaction<'_>) -> Result<Option<&'static Migration>, Refusal> {
    transaction.batch_execute(POSTGRES_PATIENCE).await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&POSTGRES_LOCK]).await?;
    transaction.batch_execute(POSTGRES_POLITELY).await?;
    transaction.batch_execute(TABLE).await?;
    if transaction.query_one(HAS_COLUMN_POSTGRES, &[]).await?.get::<_, i64>(0) == 0 {
        transaction.batch_execute(COLUMN).await?;
    }
    let found = transaction.query_one(NEWEST, &[]).await?.get(0);
    let needed = transaction.query_one(NEEDED, &[&newest()]).await?.get(0);
    let steps = missing(found, needed).map_err(Refusal::Other)?;
    let Some(step) = steps.first() else { return Ok(None) };
    transaction.batch_execute(step.postgres).await?;
    let mark = "INSERT INTO schema_migrations (version, name, needs) VALUES ($1, $2, $3)";
    transaction.execute(mark, &[&step.version, &step.name, &step.needs]).await?;
    Ok(Some(step))
}

fn compare(url: &DatabaseUrl, options: &Options) -> Result<(), StoreError> {
    let (found, needed) = match url {
        DatabaseUrl::Sqlite(path) => {
            let connection = sqlite_open(path)?;
            let number = |sql: &str, params: &[i64]| -> Result<i64, StoreError> {
                Ok(connection.query_row(sql, rusqlite::params_from_iter(params), |row| row.get(0))?)
            };
            let marked = number("SELECT COUNT(*) FROM sqlite_master WHERE name = 'schema_migrations'", &[])? == 1;
            let found = if marked { number(NEWEST, &[])? } else { 0 };
            let told = marked && number(HAS_COLUMN_SQLITE, &[])? == 1;
            (found, if told { number(NEEDED, &[newest()])? } else { found })
        }
        DatabaseUrl::Postgres(config) => wait(&postgres_runtime()?, async {
            let (client, _) = postgres_open(config, &Connector::new(options.postgres_ca.as_deref())?).await?;
            let marked = "SELECT to_regclass('schema_migrations') IS NOT NULL";
            if !client.query_one(marked, &[]).await?.get::<_, bool>(0) {
                return Ok::<(i64, i64), StoreError>((0, 0));
            }
            let found = client.query_one(NEWEST, &[]).await?.get(0);
            let told = client.query_one(HAS_COLUMN_POSTGRES, &[]).await?.get::<_, i64>(0) == 1;
            Ok((found, if told { client.query_one(NEEDED, &[&newest()]).await?.get(0) } else { found }))
        })?,
    };
    match missing(found, needed)? {
        [] => Ok(()),
        _ => Err(StoreError::OlderSchema { found, known: newest() }),
    }
}

/// PostgreSQL is spoken to by a runtime of its own, and a thread drives one runtime at a time.
pub(crate) fn off_runtime<T: Send>(work: impl FnOnce() -> Result<T, StoreError> + Send) -> Result<T, StoreError> {
    let panicked = |_| Err(StoreError::Database("the migration panicked".to_owned()));
    thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(panicked))
}

pub(crate) fn newest() -> i64 {
    migrations().last().map_or(0, |step| step.version)
}

/// The steps that a database lacks. One that is newer will do where all that was done to it since needs no more of a
/// program than this one has.
fn missing(found: i64, needed: i64) -> Result<&'static [Migration], StoreError> {
    let known = newest();
    if found > known && needed > known {
        return Err(StoreError::NewerSchema { found, known, needed });
    }
    if found > known {
        tracing::warn!(
            found,
            known,
            "the database was brought forward by a newer release, which leaves room for this one"
        );
    }
    let done = migrations().iter().take_while(|step| step.version <= found).count();
    Ok(&migrations()[done..])
}

fn applied(steps: &[Migration]) -> Vec<Applied> {
    steps.iter().map(|step| Applied { version: step.version, name: step.name }).collect()
}
