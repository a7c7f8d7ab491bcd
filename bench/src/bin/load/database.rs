//! A database behind the back of the server, which is not running: to read what it has written, and to write more of it.

use std::io::Write;
use std::path::{Path, PathBuf};

use postgres::types::Type;
use rusqlite::types::ValueRef;

/// Where the database is.
#[derive(Clone)]
pub(crate) enum Address {
    Sqlite(PathBuf),
    Postgres(String),
}

pub(crate) enum Database {
    Sqlite(rusqlite::Connection),
    Postgres(postgres::Client),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row, with the names of its columns.
pub(crate) type Row = Vec<(String, Cell)>;

impl Database {
    /// For much writing in little time: what is not written at the end of it is nothing.
    pub(crate) fn open(address: &Address) -> Self {
        match address {
            Address::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection
                    .execute_batch(
                        "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
                         PRAGMA foreign_keys = OFF; PRAGMA cache_size = -1000000; PRAGMA locking_mode = EXCLUSIVE;",
                    )
                    .unwrap();
                Self::Sqlite(connection)
            }
            Address::Postgres(url) => {
                let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
                let settings =
                    "SET synchronous_commit = off; SET maintenance_work_mem = '512MB'; SET work_mem = '64MB'";
                client.batch_execute(settings).unwrap();
                // Keys of other tables are not looked up, where that is allowed.
                let _ = client.batch_execute("SET session_replication_role = replica");
                Self::Postgres(client)
            }
        }
    }

    /// Hands it over to the server, as it wants it.
    pub(crate) fn close(mut self) {
        match &mut self {
            Self::Sqlite(connection) => connection
                .execute_batch("PRAGMA locking_mode = NORMAL; PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL;")
                .unwrap(),
            // What autovacuum would do in its own time; sent together, they would be a transaction.
            Self::Postgres(client) => {
                ["VACUUM ANALYZE", "CHECKPOINT"].into_iter().for_each(|sql| client.batch_execute(sql).unwrap());
            }
        }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    pub(crate) fn execute(&mut self, sql: &str) {
        let done = match self {
            Self::Sqlite(connection) => connection.execute_batch(sql).map_err(|error| error.to_string()),
            Self::Postgres(client) => client.batch_execute(sql).map_err(|error| format!("{error:?}")),
        };
        done.unwrap_or_else(|error| panic!("{error}\n{sql}"));
    }

    pub(crate) fn rows(&mut self, sql: &str) -> Vec<Row> {
        match self {
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{error}\n{sql}"));
                let names: Vec<_> = statement.column_names().map(str::to_owned).collect();
                let mut rows = statement.query([]).unwrap();
                let mut all = Vec::new();
                while let Some(row) = rows.next().unwrap() {
                    let cell = |place: usize| match row.get_ref(place).unwrap() {
                        ValueRef::Null => Cell::Null,
                        ValueRef::Integer(number) => Cell::Int(number),
                        ValueRef::Real(_) => panic!("{sql}: a number with a point"),
                        ValueRef::Text(text) => Cell::Text(String::from_utf8(text.to_vec()).unwrap()),
                        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
                    };
                    all.push(names.iter().enumerate().map(|(place, name)| (name.clone(), cell(place))).collect());
                }
                all
            }
            Self::Postgres(client) => {
                let rows = client.query(sql, &[]).unwrap_or_else(|error| panic!("{error:?}\n{sql}"));
                rows.iter().map(read).collect()
            }
        }
    }

    /// The first column of the first row, where it is a number.
    pub(crate) fn number(&mut self, sql: &str) -> i64 {
        match self.rows(sql).first().and_then(|row| row.first()) {
            Some((_, Cell::Int(number))) => *number,
            _ => 0,
        }
    }

    /// The first column of every row, where it is text.
    pub(crate) fn texts(&mut self, sql: &str) -> Vec<String> {
        let text = |row: Row| match row.into_iter().next() {
            Some((_, Cell::Text(text))) => Some(text),
            _ => None,
        };
        self.rows(sql).into_iter().filter_map(text).collect()
    }

    /// Adds rows of texts and numbers to a table, many at a time.
    pub(crate) fn copy(&mut self, table: &str, width: usize, rows: impl Iterator<Item = Vec<Cell>>) {
        match self {
            Self::Sqlite(connection) => {
                let places = vec!["?"; width].join(", ");
                connection.execute_batch("BEGIN").unwrap();
                let mut statement = connection.prepare(&format!("INSERT INTO {table} VALUES ({places})")).unwrap();
                for row in rows {
                    for (place, cell) in row.iter().enumerate() {
                        let place = place + 1;
                        match cell {
                            Cell::Null => statement.raw_bind_parameter(place, None::<i64>).unwrap(),
                            Cell::Int(number) => statement.raw_bind_parameter(place, number).unwrap(),
                            Cell::Text(text) => statement.raw_bind_parameter(place, text).unwrap(),
                            Cell::Bytes(bytes) => statement.raw_bind_parameter(place, bytes).unwrap(),
                        }
                    }
                    statement.raw_execute().unwrap();
                }
                drop(statement);
                connection.execute_batch("COMMIT").unwrap();
            }
            Self::Postgres(client) => {
                let mut writer = client.copy_in(&format!("COPY {table} FROM STDIN")).unwrap();
                for row in rows {
                    let line: Vec<_> = row.iter().map(copied).collect();
                    writeln!(writer, "{}", line.join("\t")).unwrap();
                }
                writer.finish().unwrap();
            }
        }
    }

    /// How a value is written in a statement.
    pub(crate) fn literal(&self, cell: &Cell) -> String {
        match (cell, self) {
            (Cell::Null, _) => "NULL".to_owned(),
            (Cell::Int(number), _) => number.to_string(),
            (Cell::Text(text), _) => format!("'{}'", text.replace('\'', "''")),
            (Cell::Bytes(bytes), Self::Sqlite(_)) => format!("X'{}'", hex(bytes)),
            (Cell::Bytes(bytes), Self::Postgres(_)) => format!("'\\x{}'::bytea", hex(bytes)),
        }
    }

    /// Takes every index off these tables that is not a constraint; says how to put them back.
    pub(crate) fn drop_indexes(&mut self, tables: &[&str]) -> Vec<String> {
        let tables: Vec<_> = tables.iter().map(|table| format!("'{table}'")).collect();
        let tables = tables.join(", ");
        let (names, definitions) = match self {
            Self::Sqlite(_) => {
                let from =
                    format!("FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ({tables})");
                (format!("SELECT name {from} ORDER BY name"), format!("SELECT sql {from} ORDER BY name"))
            }
            Self::Postgres(_) => {
                let from = format!(
                    "FROM pg_indexes WHERE schemaname = current_schema() AND tablename IN ({tables}) AND NOT EXISTS
                     (SELECT 1 FROM pg_constraint WHERE conindid = format('%I', indexname)::regclass)"
                );
                (
                    format!("SELECT indexname::text {from} ORDER BY indexname"),
                    format!("SELECT indexdef {from} ORDER BY indexname"),
                )
            }
        };
        let definitions = self.texts(&definitions);
        for name in self.texts(&names) {
            self.execute(&format!("DROP INDEX {name}"));
        }
        definitions
    }
}

fn read(row: &postgres::Row) -> Row {
    let cell = |place: usize, kind: &Type| match *kind {
        Type::INT8 => row.get::<_, Option<i64>>(place).map_or(Cell::Null, Cell::Int),
        Type::INT4 => row.get::<_, Option<i32>>(place).map_or(Cell::Null, |number| Cell::Int(number.into())),
        Type::BYTEA => row.get::<_, Option<Vec<u8>>>(place).map_or(Cell::Null, Cell::Bytes),
        _ => row.get::<_, Option<String>>(place).map_or(Cell::Null, Cell::Text),
    };
    let columns = row.columns().iter().enumerate();
    columns.map(|(place, column)| (column.name().to_owned(), cell(place, column.type_()))).collect()
}

/// What is copied has no tabs, backslashes or ends of lines in it.
fn copied(cell: &Cell) -> String {
    match cell {
        Cell::Null => "\\N".to_owned(),
        Cell::Int(number) => number.to_string(),
        Cell::Text(text) => text.clone(),
        Cell::Bytes(bytes) => format!("\\\\x{}", hex(bytes)),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// How much is on the disk, in megabytes.
pub(crate) fn size(address: &Address) -> f64 {
    let bytes = match address {
        Address::Sqlite(path) => std::fs::metadata(Path::new(path)).map_or(0, |file| file.len()),
        Address::Postgres(_) => {
            u64::try_from(Database::open(address).number("SELECT pg_database_size(current_database())")).unwrap_or(0)
        }
    };
    bytes as f64 / 1e6
}
