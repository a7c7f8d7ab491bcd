use chancery_domain::{IssuerId, Timestamp};

use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// The newest CRL of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrlRow {
    pub issuer: IssuerId,
    pub shard: i64,
    pub number: i64,
    pub der: Vec<u8>,
    pub this_update: Timestamp,
    pub next_update: Timestamp,
}

const COLUMNS: &str = "issuer_id, shard, number, der, this_update, next_update";

impl Tx<'_> {
    pub fn crl(&mut self, issuer: IssuerId, shard: i64) -> Result<Option<CrlRow>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM crls WHERE issuer_id = $1 AND shard = $2 AND der IS NOT NULL");
        self.query_one(&sql, params![issuer, shard], read)
    }

    /// The number for the next CRL of a shard: it only grows, and holding it keeps others from making one meanwhile.
    pub fn next_crl_number(&mut self, issuer: IssuerId, shard: i64) -> Result<i64, StoreError> {
        let sql = "INSERT INTO crls (issuer_id, shard, number, this_update, next_update) VALUES ($1, $2, 1, 0, 0)
                   ON CONFLICT (issuer_id, shard) DO UPDATE SET number = crls.number + 1 RETURNING number";
        self.query_one(sql, params![issuer, shard], |row| row.int())?.ok_or_else(|| StoreError::corrupt("crls"))
    }

    /// Keeps a CRL whose number was just drawn in this unit of work.
    pub fn store_crl(&mut self, crl: &CrlRow) -> Result<(), StoreError> {
        self.update(
            "CRL",
            crl.number,
            "UPDATE crls SET der = $4, this_update = $5, next_update = $6
             WHERE issuer_id = $1 AND shard = $2 AND number = $3",
            params![crl.issuer, crl.shard, crl.number, crl.der.as_slice(), crl.this_update, crl.next_update],
        )
    }
}

fn read(row: &mut Columns<'_>) -> Result<CrlRow, StoreError> {
    Ok(CrlRow {
        issuer: row.parsed()?,
        shard: row.int()?,
        number: row.int()?,
        der: row.bytes()?,
        this_update: row.time()?,
        next_update: row.time()?,
    })
}
