//! What can be said of a database without changing anything in it.

use std::path::{Path, PathBuf};

use chancery_domain::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::sqlite::settle;
use super::{DatabaseUrl, postgres_open, postgres_runtime, tls::Connector};
use crate::error::StoreError;
use crate::migrate::{HAS_COLUMN_POSTGRES, HAS_COLUMN_SQLITE, NEEDED, NEWEST, newest, off_runtime};
use crate::pipeline::wait;
use crate::store::Options;

const SERVER: &str = "SELECT current_setting('server_version'), current_setting('server_version_num')::bigint / 10000,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_is_in_recovery(),
    to_regclass('schema_migrations') IS NOT NULL";
const UNSAFE: &str = "SELECT name || ' = ' || setting FROM pg_settings
    WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name";

/// A database as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Such as `SQLite 3.50.4` or `PostgreSQL 15.8`.
    pub software: String,
    /// The major release of a server.
    pub server_release: Option<i64>,
    /// The newest migration that was applied, and the newest that this program knows.
    pub schema: i64,
    pub known_schema: i64,
    /// What those that this program does not know need of a program.
    pub needed_schema: i64,
    /// The time by its own clock, where it has one.
    pub time: Option<Timestamp>,
    /// Settings without which a commit may be lost, that are off.
    pub unsafe_settings: Vec<String>,
    /// Whether it is a standby, which takes no writes.
    pub standby: bool,
}

pub(crate) fn facts(url: &DatabaseUrl, options: &Options) -> Result<Facts, StoreError> {
    off_runtime(|| match url {
        DatabaseUrl::Sqlite(path) => of_sqlite(path),
        DatabaseUrl::Postgres(config) => wait(&postgres_runtime()?, of_postgres(config, options)),
    })
}

/// Opens a file so that nothing is made beside it: where no log is there, nobody is writing.
pub(crate) fn open_untouched(path: &Path) -> Result<Connection, StoreError> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let (mut uri, immutable) = (String::from("file:"), !PathBuf::from(log).exists());
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'?' | b'#' | b'%' => uri.push_str(&format!("%{byte:02x}")),
            byte if byte.is_ascii() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str(if immutable { "?immutable=1" } else { "?mode=ro" });
    let mut connection = Connection::open_with_flags(uri, flags)?;
    settle(&mut connection)?;
    Ok(connection)
}

fn of_sqlite(path: &Path) -> Result<Facts, StoreError> {
    let connection = open_untouched(path)?;
    let marked = connection.prepare("SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations'")?.exists([])?;
    let number = |sql: &str, params: &[i64]| -> Result<i64, StoreError> {
        Ok(connection.query_row(sql, rusqlite::params_from_iter(params), |row| row.get(0))?)
    };
    let schema = if marked { number(NEWEST, &[])? } else { 0 };
    let told = marked && number(HAS_COLUMN_SQLITE, &[])? == 1;
    Ok(Facts {
        software: format!("SQLite {}", rusqlite::version()),
        server_release: None,
        schema,
        known_schema: newest(),
        needed_schema: if told { number(NEEDED, &[newest()])? } else { schema },
        time: None,
        unsafe_settings: Vec::new(),
        standby: false,
    })
}

async fn of_postgres(config: &tokio_postgres::Config, options: &Options) -> Result<Facts, StoreError> {
    let (client, _) = postgres_open(config, &Connector::new(options.postgres_ca.as_deref())?).await?;
    let row = client.query_one(SERVER, &[]).await?;
    let version: String = row.get(0);
    let marked = row.get::<_, bool>(4);
    let schema = if marked { client.query_one(NEWEST, &[]).await?.get(0) } else { 0 };
    let told = marked && client.query_one(HAS_COLUMN_POSTGRES, &[]).await?.get::<_, i64>(0) == 1;
    let needed_schema = if told { client.query_one(NEEDED, &[&newest()]).await?.get(0) } else { schema };
    let off = client.query(UNSAFE, &[]).await?;
    Ok(Facts {
        software: format!("PostgreSQL {}", version.split(' ').next().unwrap_or_default()),
        server_release: Some(row.get(1)),
        schema,
        known_schema: newest(),
        needed_schema,
        time: Some(Timestamp::from_millis(row.get(2))),
        unsafe_settings: off.iter().map(|row| row.get(0)).collect(),
        standby: row.get(3),
    })
}
