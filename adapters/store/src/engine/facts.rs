//! What can be said of a database without changing anything in it.

use std::path::{Path, PathBuf};

use chancery_domain::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::sqlite::settle;
use super::{DatabaseUrl, postgres_open, tls::Connector};
use crate::error::StoreError;
use crate::migrate::{Schema, newest, schema_of_postgres, schema_of_sqlite};
use crate::protocol::PostgresAddress;
use crate::store::Options;

const SERVER: &str = "SELECT current_setting('server_version'), current_setting('server_version_num')::bigint / 10000,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint, pg_is_in_recovery()::int::bigint,
    (SELECT string_agg(name || ' = ' || setting, ', ' ORDER BY name) FROM pg_settings
        WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off')";

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
    match url {
        DatabaseUrl::Sqlite(path) => of_sqlite(path),
        DatabaseUrl::Postgres(address) => of_postgres(address, options),
    }
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
    let Schema { found, needed } = schema_of_sqlite(&connection)?;
    Ok(Facts {
        software: format!("SQLite {}", rusqlite::version()),
        server_release: None,
        schema: found,
        known_schema: newest(),
        needed_schema: needed,
        time: None,
        unsafe_settings: Vec::new(),
        standby: false,
    })
}

fn of_postgres(address: &PostgresAddress, options: &Options) -> Result<Facts, StoreError> {
    let mut session = postgres_open(address, &Connector::new(options.postgres_ca.as_deref())?)?;
    let Schema { found: schema, needed: needed_schema } = schema_of_postgres(&mut session)?;
    let row = session.question(SERVER, &[])?;
    let mut row = row.cursor();
    let version = row.text()?;
    Ok(Facts {
        software: format!("PostgreSQL {}", version.split(' ').next().unwrap_or_default()),
        server_release: Some(row.int()?),
        schema,
        known_schema: newest(),
        needed_schema,
        time: Some(Timestamp::from_millis(row.int()?)),
        standby: row.int()? != 0,
        unsafe_settings: row.text_or_none()?.iter().flat_map(|all| all.split(", ")).map(str::to_owned).collect(),
    })
}
