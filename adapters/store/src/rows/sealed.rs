//! Every place where a sealed secret is kept, so that all can be sealed anew under another key.

use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

/// A column of sealed values and the column that names each row in the seal's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedColumn {
    pub table: &'static str,
    pub id: &'static str,
}

/// A test compares this with the schema: a table with a `sealed` column that is missing here would be lost on rotation.
/// Idempotency answers are not here: they live for a day, and are forgotten rather than sealed anew.
pub const SEALED_COLUMNS: &[SealedColumn] = &[
    SealedColumn { table: "service_secrets", id: "name" },
    SealedColumn { table: "token_keys", id: "id" },
    SealedColumn { table: "issuers", id: "id" },
    SealedColumn { table: "eab_credentials", id: "id" },
    SealedColumn { table: "account_keys", id: "account_id" },
    SealedColumn { table: "webhook_secrets", id: "id" },
];

/// One sealed value and its row.
pub struct SealedValue {
    pub id: String,
    pub sealed: Vec<u8>,
}

impl SealedColumn {
    /// What a value in this column is bound to: it cannot be opened as another row's.
    pub fn context(&self, id: impl std::fmt::Display) -> String {
        format!("{}:{id}", self.table)
    }
}

impl Tx<'_> {
    /// Up to `most` values of a column in the order of their ids, after `after`.
    pub fn sealed_values(
        &mut self,
        column: SealedColumn,
        after: &str,
        most: u32,
    ) -> Result<Vec<SealedValue>, StoreError> {
        let SealedColumn { table, id } = column;
        let sql = format!("SELECT {id}, sealed FROM {table} WHERE {id} > ?1 ORDER BY {id} LIMIT ?2");
        self.query(&sql, params![after, most], |row| Ok(SealedValue { id: row.text()?, sealed: row.bytes()? }))
    }

    /// Puts a newly sealed value in the place of the old one, unless that has changed meanwhile.
    pub fn replace_sealed(
        &mut self,
        column: SealedColumn,
        id: &str,
        old: &[u8],
        new: &[u8],
    ) -> Result<bool, StoreError> {
        let SealedColumn { table, id: name } = column;
        let sql = format!("UPDATE {table} SET sealed = ?3 WHERE {name} = ?1 AND sealed = ?2");
        Ok(self.execute(&sql, params![id, old, new])? == 1)
    }
}
