//! The schema, brought forward step by step and never back.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::engine::{Connector, DatabaseUrl, postgres_open, sqlite_open};
use crate::error::StoreError;
use crate::protocol::{self, PostgresAddress, Session};
use crate::store::Options;
use crate::value::{Value, params};

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
//     22 "0022_without_the_old_column" needs 17;
// A step that no earlier program can work beside, or that locks large tables for long, needs its own version. It is applied with
// all nodes stopped: the changelog says so, since a program that runs already is not kept from going on.
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
    17 "0017_precertificates";
    18 "0018_preferred_chains";
    19 "0019_recovered_certificates";
    20 "0020_nonce_generation";
    21 "0021_batches" needs 21;
}

/// A step that was just done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub version: i64,
    pub name: &'static str,
}

impl Applied {
    fn of(step: &Migration) -> Self {
        Self { version: step.version, name: step.name }
    }
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
    match url {
        DatabaseUrl::Sqlite(path) => apply_to_sqlite(path),
        DatabaseUrl::Postgres(address) => apply_to_postgres(&mut open(address, options)?),
    }
}

/// Says whether the schema is the one this program knows, without touching it.
pub(crate) fn check(url: &DatabaseUrl, options: &Options) -> Result<(), StoreError> {
    let Schema { found, needed } = match url {
        DatabaseUrl::Sqlite(path) => schema_of_sqlite(&sqlite_open(path)?)?,
        DatabaseUrl::Postgres(address) => schema_of_postgres(&mut open(address, options)?)?,
    };
    match missing(found, needed)? {
        [] => Ok(()),
        _ => Err(StoreError::OlderSchema { found, known: newest() }),
    }
}

/// The other connections that a PostgreSQL server has from this program.
pub(crate) fn others(url: &DatabaseUrl, options: &Options) -> Result<i64, StoreError> {
    let DatabaseUrl::Postgres(address) = url else { return Ok(0) };
    let sql = "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'chancery'
               AND datname = current_database() AND pid <> pg_backend_pid()";
    number(&mut open(address, options)?, sql, &[])
}

fn apply_to_sqlite(path: &Path) -> Result<Vec<Applied>, StoreError> {
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
    Ok(steps.iter().map(Applied::of).collect())
}

fn apply_to_postgres(session: &mut Session) -> Result<Vec<Applied>, StoreError> {
    let (began, mut done) = (Instant::now(), Vec::new());
    loop {
        match step_on_postgres(session) {
            Err(Refusal::Locked(_)) if began.elapsed() < POSTGRES_TRIES_FOR => thread::sleep(POSTGRES_AGAIN),
            Err(Refusal::Locked(error) | Refusal::Other(error)) => return Err(error),
            Ok(Some(step)) => done.push(Applied::of(step)),
            Ok(None) => return Ok(done),
        }
    }
}

/// Why the steps were not done.
enum Refusal {
    /// Somebody held on to a table.
    Locked(StoreError),
    Other(StoreError),
}

impl From<protocol::Error> for Refusal {
    fn from(error: protocol::Error) -> Self {
        let locked = error.code() == Some("55P03");
        if locked { Self::Locked(error.into()) } else { Self::Other(error.into()) }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Other(error)
    }
}

/// Does the next step, where there is one. Each is a transaction of its own, so that nobody waits for the locks of one
/// while the next is done.
fn step_on_postgres(session: &mut Session) -> Result<Option<&'static Migration>, Refusal> {
    session.run("BEGIN")?;
    let step = try_step(session);
    match step {
        Ok(_) => session.commit()?,
        Err(_) => session.run("ROLLBACK")?,
    }
    step
}

fn try_step(session: &mut Session) -> Result<Option<&'static Migration>, Refusal> {
    session.run(POSTGRES_PATIENCE)?;
    session.question("SELECT pg_advisory_xact_lock($1)", params![POSTGRES_LOCK])?;
    session.run(POSTGRES_POLITELY)?;
    session.run(TABLE)?;
    if number(session, HAS_COLUMN_POSTGRES, &[])? == 0 {
        session.run(COLUMN)?;
    }
    let found = number(session, NEWEST, &[])?;
    let needed = number(session, NEEDED, params![newest()])?;
    let Some(step) = missing(found, needed)?.first() else { return Ok(None) };
    session.run(step.postgres)?;
    let mark = "INSERT INTO schema_migrations (version, name, needs) VALUES ($1, $2, $3) RETURNING version";
    session.question(mark, params![step.version, step.name, step.needs])?;
    Ok(Some(step))
}

/// Which steps were done to a database.
#[derive(Default)]
pub(crate) struct Schema {
    /// The newest of them.
    pub(crate) found: i64,
    /// The newest that a program must know, for the sake of those that this one does not know.
    pub(crate) needed: i64,
}

pub(crate) fn schema_of_sqlite(connection: &rusqlite::Connection) -> Result<Schema, StoreError> {
    let number = |sql: &str, params: &[i64]| -> Result<i64, StoreError> {
        Ok(connection.query_row(sql, rusqlite::params_from_iter(params), |row| row.get(0))?)
    };
    if number("SELECT COUNT(*) FROM sqlite_master WHERE name = 'schema_migrations'", &[])? == 0 {
        return Ok(Schema::default());
    }
    let found = number(NEWEST, &[])?;
    let told = number(HAS_COLUMN_SQLITE, &[])? == 1;
    Ok(Schema { found, needed: if told { number(NEEDED, &[newest()])? } else { found } })
}

pub(crate) fn schema_of_postgres(session: &mut Session) -> Result<Schema, StoreError> {
    if number(session, "SELECT COUNT(to_regclass('schema_migrations'))", &[])? == 0 {
        return Ok(Schema::default());
    }
    let found = number(session, NEWEST, &[])?;
    let told = number(session, HAS_COLUMN_POSTGRES, &[])? == 1;
    Ok(Schema { found, needed: if told { number(session, NEEDED, params![newest()])? } else { found } })
}

fn open(address: &PostgresAddress, options: &Options) -> Result<Session, StoreError> {
    Ok(postgres_open(address, &Connector::new(options.postgres_ca.as_deref())?)?)
}

fn number(session: &mut Session, sql: &str, params: &[Value]) -> Result<i64, StoreError> {
    session.question(sql, params)?.cursor().int()
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
