use bytes::Bytes;

use super::Statement;
use super::session::{BYTES, INT, TEXT};
use crate::error::StoreError;

/// A row as it came over the line: for each column its length, and so many bytes.
pub(crate) struct Row {
    statement: Statement,
    columns: Bytes,
}

impl Row {
    pub(super) fn new(statement: Statement, columns: Bytes) -> Self {
        Self { statement, columns }
    }

    /// How many bytes came over the line.
    pub(crate) fn length(&self) -> usize {
        self.columns.len()
    }

    /// The columns from left to right.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor { kinds: &self.statement.0.columns, rest: &self.columns }
    }
}

/// What of a row was not read yet.
pub(crate) struct Cursor<'a> {
    kinds: &'a [u32],
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn int(&mut self) -> Result<i64, StoreError> {
        self.int_or_none().and_then(there)
    }

    pub(crate) fn int_or_none(&mut self) -> Result<Option<i64>, StoreError> {
        let octets = self.take(INT)?.map(<[u8; 8]>::try_from).transpose();
        Ok(octets.map_err(StoreError::corrupt)?.map(i64::from_be_bytes))
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        self.text_or_none().and_then(there)
    }

    pub(crate) fn text_or_none(&mut self) -> Result<Option<String>, StoreError> {
        let text = self.take(TEXT)?.map(std::str::from_utf8).transpose();
        Ok(text.map_err(StoreError::corrupt)?.map(str::to_owned))
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        self.bytes_or_none().and_then(there)
    }

    pub(crate) fn bytes_or_none(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.take(BYTES)?.map(<[u8]>::to_vec))
    }

    fn take(&mut self, kind: u32) -> Result<Option<&'a [u8]>, StoreError> {
        let (found, kinds) =
            self.kinds.split_first().ok_or_else(|| StoreError::corrupt("a row with too few columns"))?;
        if *found != kind {
            return Err(StoreError::corrupt(format!("a column of type {found}, where {kind} was to be")));
        }
        self.kinds = kinds;
        let short = || StoreError::corrupt("a row that ends within a column");
        let (length, rest) = self.rest.split_first_chunk().ok_or_else(short)?;
        self.rest = rest;
        // None is told by a length below zero.
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else { return Ok(None) };
        let (column, rest) = rest.split_at_checked(length).ok_or_else(short)?;
        self.rest = rest;
        Ok(Some(column))
    }
}

fn there<T>(found: Option<T>) -> Result<T, StoreError> {
    found.ok_or_else(|| StoreError::corrupt("a column that holds nothing"))
}
