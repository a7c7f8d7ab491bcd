//! What a unit of work does its work with: statements, and rows read column by column.

use std::borrow::Cow;

use chancery_domain::Timestamp;
use rusqlite::types::ValueRef;

use crate::error::StoreError;
use crate::marks::Marks;
use crate::pipeline::{Refusal, Transaction};
use crate::protocol;
use crate::rows::KnownParties;
use crate::value::Value;

/// A transaction on either database. The questions it can be asked live in `rows/`, one file a noun.
pub struct Tx<'a> {
    session: Session<'a>,
    /// Parties that were read before, where they are remembered.
    known: Option<Known<'a>>,
    /// Inside [`Tx::foresee`], where questions are announced and not answered.
    foreseeing: bool,
    /// Bytes of all rows that were read.
    bytes_read: u64,
    marks: Marks,
}

/// What this process remembers beside the database.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) parties: &'a KnownParties,
    /// Whether what is read now may be remembered: it may not while it is not committed.
    pub(crate) keeps: bool,
}

pub(crate) enum Session<'a> {
    Sqlite(&'a rusqlite::Connection),
    Postgres(Transaction<'a>),
}

/// Things that are asked about on one way to the server, with a question or two each.
pub const ASKED_AT_A_TIME: usize = 60;

impl<'a> Tx<'a> {
    pub(crate) fn new(session: Session<'a>) -> Self {
        Self { session, known: None, foreseeing: false, bytes_read: 0, marks: Marks::default() }
    }

    pub(crate) fn knowing(self, known: Known<'a>) -> Self {
        Self { known: Some(known), ..self }
    }

    pub(crate) fn known(&self) -> Option<Known<'a>> {
        self.known
    }

    /// How many bytes the rows had that were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// What the database refused first, if it refused anything.
    pub(crate) fn failed(&self) -> Option<StoreError> {
        self.marks.failed.clone()
    }

    /// What it was done with, and what was refused.
    pub(crate) fn into_parts(self) -> (Session<'a>, Marks) {
        (self.session, self.marks)
    }

    /// Runs a statement and says how many rows it changed.
    pub(crate) fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, StoreError> {
        self.require_earnest(sql)?;
        let result = match &mut self.session {
            Session::Sqlite(connection) => execute_sqlite(connection, sql, params),
            Session::Postgres(transaction) => {
                transaction.execute(sql, params).map_err(|refusal| self.marks.note(refusal))
            }
        };
        self.marks.keep(result)
    }

    /// Runs a statement of which nothing has to be known but that it was done, which is certain when the unit has ended
    /// well. PostgreSQL hears of it with whatever is asked next.
    pub(crate) fn put(&mut self, sql: &str, params: &[Value]) -> Result<(), StoreError> {
        self.require_earnest(sql)?;
        let result = match &mut self.session {
            Session::Sqlite(connection) => execute_sqlite(connection, sql, params).map(drop),
            Session::Postgres(transaction) => transaction.put(sql, params).map_err(|refusal| self.marks.note(refusal)),
        };
        self.marks.keep(result)
    }

    /// What is only foreseen writes nothing.
    fn require_earnest(&mut self, sql: &str) -> Result<(), StoreError> {
        let result = match self.foreseeing {
            true => Err(StoreError::Database(format!("a write among what is foreseen: {sql}"))),
            false => Ok(()),
        };
        self.marks.keep(result)
    }

    /// Reads rows, each through `read`.
    pub(crate) fn query<T>(
        &mut self,
        sql: &str,
        params: &[Value],
        read: impl Fn(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.for_each(sql, params, &mut |columns| {
            found.push(read(columns)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Has each row looked at. It does not know what is read, so that it is compiled once, and not anew with every question.
    fn for_each(
        &mut self,
        sql: &str,
        params: &[Value],
        look: &mut dyn FnMut(&mut Columns<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        // No text in either database has a zero byte, so nothing is found by one; PostgreSQL would call it an error.
        if params.iter().any(Value::has_zero_byte) {
            return Ok(());
        }
        let bytes_read = &mut self.bytes_read;
        let result = match &mut self.session {
            Session::Sqlite(connection) => query_sqlite(connection, sql, params, bytes_read, look),
            Session::Postgres(transaction) if self.foreseeing => {
                transaction.foresee(sql, params).map_err(|refusal| self.marks.note(refusal))
            }
            Session::Postgres(transaction) => {
                transaction.query(sql, params).map_err(|refusal| self.marks.note(refusal)).and_then(|rows| {
                    rows.iter().try_for_each(|row| {
                        *bytes_read += row.length() as u64;
                        look(&mut Columns::of(row))
                    })
                })
            }
        };
        self.marks.keep(result)
    }

    /// Names questions that are about to be asked, by asking them: none is answered here. To PostgreSQL they travel with the next
    /// real question, after it and in this order, so they see all that it has waited for. They must not be about rows that
    /// this unit writes before it asks. On SQLite it does nothing, for no travelling is to be saved.
    pub fn foresee(&mut self, ask: impl FnOnce(&mut Self)) {
        // Within what is foreseen, the order is that in which it will be asked.
        if self.is_postgres() && !self.foreseeing {
            self.foreseeing = true;
            ask(self);
            self.foreseeing = false;
        }
    }

    /// Asks the same about each of many things, which should differ. On PostgreSQL they are [foreseen](Self::foresee), many at a
    /// time; so what is asked about one must not depend on an answer.
    pub fn ask_each<I, T, E>(
        &mut self,
        things: &[I],
        ask: impl Fn(&mut Self, &I) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let mut answers = Vec::with_capacity(things.len());
        for some in things.chunks(ASKED_AT_A_TIME) {
            self.foresee(|tx| some.iter().for_each(|thing| drop(ask(tx, thing))));
            for thing in some {
                answers.push(ask(self, thing)?);
            }
        }
        Ok(answers)
    }

    /// The first row, where there is one.
    pub(crate) fn query_one<T>(
        &mut self,
        sql: &str,
        params: &[Value],
        read: impl Fn(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut first = None;
        self.for_each(sql, params, &mut |columns| {
            first.get_or_insert(read(columns)?);
            Ok(())
        })?;
        Ok(first)
    }

    /// Like `query_one`, and the row stays as it is until this transaction ends.
    ///
    /// For a row that a decision rests on but that is not itself written, such as the account of a new credential.
    /// SQLite has one writer at a time, so there every row is held anyway.
    pub(crate) fn query_held<T>(
        &mut self,
        sql: &str,
        params: &[Value],
        read: impl Fn(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.query_one(&self.locking(sql, "FOR SHARE"), params, read)
    }

    /// Like `query`, and nobody else can hold, claim or change the rows until this transaction ends.
    ///
    /// For rows that the unit is going to write. Two units that both held such a row first would each wait for the
    /// other to let go of it.
    pub(crate) fn query_claimed<T>(
        &mut self,
        sql: &str,
        params: &[Value],
        read: impl Fn(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.query(&self.locking(sql, "FOR UPDATE"), params, read)
    }

    /// Claims rows, passing over those that another transaction is busy with.
    pub(crate) fn query_skipping_locked<T>(
        &mut self,
        sql: &str,
        params: &[Value],
        read: impl Fn(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.query(&self.locking(sql, "FOR UPDATE SKIP LOCKED"), params, read)
    }

    /// The statement with a lock on the rows it finds; SQLite has one writer at a time, and needs none.
    pub(crate) fn locking<'s>(&self, sql: &'s str, lock: &str) -> Cow<'s, str> {
        match self.session {
            Session::Sqlite(_) => Cow::Borrowed(sql),
            Session::Postgres(_) => Cow::Owned(format!("{sql} {lock}")),
        }
    }

    /// Keeps others from changing anything in a table until this transaction ends, even where there are no rows to hold.
    /// Ask for it before anything is read.
    pub(crate) fn claim_table(&mut self, table: &str) -> Result<(), StoreError> {
        match self.session {
            Session::Sqlite(_) => Ok(()),
            Session::Postgres(_) => self.put(&format!("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"), &[]),
        }
    }

    /// Runs an update guarded by a version: one row changed, or the copy was stale.
    pub(crate) fn update(
        &mut self,
        table: &'static str,
        id: impl ToString,
        sql: &str,
        params: &[Value],
    ) -> Result<(), StoreError> {
        self.require_earnest(sql)?;
        let stale = StoreError::Stale { table, id: id.to_string() };
        let result = match &mut self.session {
            Session::Sqlite(connection) => execute_sqlite(connection, sql, params).and_then(|changed| match changed {
                1 => Ok(()),
                _ => Err(self.marks.note(Refusal::Stale(stale))),
            }),
            Session::Postgres(transaction) => {
                let put = transaction.put_guarded(sql, params, stale);
                put.map_err(|refusal| self.marks.note(refusal))
            }
        };
        self.marks.keep(result)
    }

    /// Whether this is PostgreSQL, for the few statements that have to differ.
    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.session, Session::Postgres { .. })
    }

    /// The first characters of a text, of which no more is read than that: up to `length` bytes on SQLite, characters on
    /// PostgreSQL. `substr` would have SQLite read all of it first.
    pub(crate) fn beginning_of(
        &mut self,
        table: &str,
        column: &str,
        id: &str,
        length: usize,
    ) -> Result<String, StoreError> {
        let found = match &mut self.session {
            Session::Sqlite(connection) => {
                let find = format!("SELECT rowid FROM {table} WHERE id = ?1");
                let row = connection.prepare_cached(&find)?.query_row([id], |row| row.get(0))?;
                let text = connection.blob_open("main", table, column, row, true)?;
                let mut bytes = vec![0; length.min(text.len())];
                text.read_at_exact(&mut bytes, 0)?;
                self.bytes_read += bytes.len() as u64;
                Some(bytes)
            }
            Session::Postgres(_) => {
                let find = format!("SELECT left({column}, {length}) FROM {table} WHERE id = ?1");
                self.query_one(&find, &[Value::from(id)], |row| row.text())?.map(String::into_bytes)
            }
        };
        let bytes = found.ok_or_else(|| StoreError::corrupt(format!("{table}.{column}")))?;
        let end = bytes.utf8_chunks().next().map_or(0, |first| first.valid().len());
        String::from_utf8(bytes[..end].to_vec()).map_err(StoreError::corrupt)
    }

    /// The next number of a sequence: numbers may be left out, none is given twice.
    pub(crate) fn next_number(&mut self, sequence: &'static str) -> Result<i64, StoreError> {
        let sql = match self.session {
            Session::Sqlite(_) => "UPDATE sequences SET value = value + 1 WHERE name = ?1 RETURNING value",
            Session::Postgres(_) => "SELECT nextval(?1::text::regclass)",
        };
        self.query_one(sql, &[Value::from(sequence)], |columns| columns.int())?
            .ok_or_else(|| StoreError::corrupt(format!("sequence {sequence}")))
    }

    /// Leaves out the next numbers of a sequence.
    pub(crate) fn skip_numbers(&mut self, sequence: &'static str, by: i64) -> Result<(), StoreError> {
        let sql = match self.session {
            Session::Sqlite(_) => "UPDATE sequences SET value = value + ?2 WHERE name = ?1 RETURNING value",
            Session::Postgres(_) => "SELECT setval(?1::text::regclass, nextval(?1::text::regclass) + ?2)",
        };
        self.query_one(sql, &[Value::from(sequence), Value::from(by)], |columns| columns.int()).map(drop)
    }
}

fn execute_sqlite(connection: &rusqlite::Connection, sql: &str, params: &[Value]) -> Result<u64, StoreError> {
    let mut statement = prepare_sqlite(connection, sql, params)?;
    Ok(statement.raw_execute()? as u64)
}

fn query_sqlite(
    connection: &rusqlite::Connection,
    sql: &str,
    params: &[Value],
    bytes_read: &mut u64,
    look: &mut dyn FnMut(&mut Columns<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut statement = prepare_sqlite(connection, sql, params)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        for place in 0..columns {
            *bytes_read += match row.get_ref(place)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() as u64,
                ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 8,
            };
        }
        look(&mut Columns { row: Row::Sqlite { row, next: 0 } })?;
    }
    Ok(())
}

/// A statement with its parameters.
fn prepare_sqlite<'c>(
    connection: &'c rusqlite::Connection,
    sql: &str,
    params: &[Value],
) -> Result<rusqlite::CachedStatement<'c>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    for place in 1..=statement.parameter_count() {
        let value = params.get(place - 1);
        let value = value.ok_or_else(|| StoreError::Database(format!("statement lacks parameter {place}")))?;
        statement.raw_bind_parameter(place, value)?;
    }
    Ok(statement)
}

enum Row<'a> {
    Sqlite { row: &'a rusqlite::Row<'a>, next: usize },
    Postgres(protocol::Cursor<'a>),
}

/// The columns of one row, taken from left to right.
pub(crate) struct Columns<'a> {
    row: Row<'a>,
}

impl<'a> Columns<'a> {
    fn of(row: &'a protocol::Row) -> Self {
        Self { row: Row::Postgres(row.cursor()) }
    }
}

macro_rules! columns {
    ($($take:ident -> $kind:ty;)*) => {$(
        pub(crate) fn $take(&mut self) -> Result<$kind, StoreError> {
            match &mut self.row {
                Row::Sqlite { row, next } => {
                    *next += 1;
                    row.get(*next - 1).map_err(StoreError::corrupt)
                }
                Row::Postgres(cursor) => cursor.$take(),
            }
        }
    )*};
}

impl Columns<'_> {
    columns! {
        int -> i64;
        int_or_none -> Option<i64>;
        text -> String;
        text_or_none -> Option<String>;
        bytes -> Vec<u8>;
        bytes_or_none -> Option<Vec<u8>>;
    }

    pub(crate) fn flag(&mut self) -> Result<bool, StoreError> {
        Ok(self.int()? != 0)
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, StoreError> {
        self.int().map(Timestamp::from_millis)
    }

    pub(crate) fn time_or_none(&mut self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.int_or_none()?.map(Timestamp::from_millis))
    }

    /// A text that was checked before it was written.
    pub(crate) fn parsed<T: std::str::FromStr>(&mut self) -> Result<T, StoreError> {
        let text = self.text()?;
        text.parse().map_err(|_| StoreError::corrupt(std::any::type_name::<T>()))
    }

    /// Like `parsed`, through a function.
    pub(crate) fn through<T, E: std::fmt::Display>(
        &mut self,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, StoreError> {
        parse(&self.text()?).map_err(StoreError::corrupt)
    }

    pub(crate) fn through_or_none<T, E: std::fmt::Display>(
        &mut self,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<T>, StoreError> {
        self.text_or_none()?.map(|text| parse(&text).map_err(StoreError::corrupt)).transpose()
    }
}
