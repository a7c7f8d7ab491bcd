use chancery_domain::{IssuerId, Timestamp};

use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

/// A further chain of an issuing CA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainRecord {
    pub issuer: IssuerId,
    /// Its place among those of its issuer, from 1; it keeps it when others go.
    pub number: u32,
    /// Of what is sent to clients: no issuer has the same chain twice.
    pub fingerprint: String,
    /// The certificates up to the root, and with it.
    pub pem: String,
    pub created_at: Timestamp,
}

/// What a further chain is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainMark {
    pub issuer: IssuerId,
    pub number: u32,
    pub fingerprint: String,
}

impl Tx<'_> {
    /// Adds a chain; `false` when its issuer has one like it, or one with this number.
    pub fn insert_chain(&mut self, chain: &ChainRecord) -> Result<bool, StoreError> {
        let added = self.execute(
            "INSERT INTO issuer_chains (issuer_id, number, fingerprint, pem, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO NOTHING",
            params![chain.issuer, chain.number, chain.fingerprint.as_str(), chain.pem.as_str(), chain.created_at],
        )?;
        Ok(added == 1)
    }

    /// Removes a chain; `false` when there is none with this number.
    pub fn delete_chain(&mut self, issuer: IssuerId, number: u32) -> Result<bool, StoreError> {
        let sql = "DELETE FROM issuer_chains WHERE issuer_id = ?1 AND number = ?2";
        Ok(self.execute(sql, params![issuer, number])? == 1)
    }

    /// Keeps that a chain of this issuer has or had this number, and says which is the greatest that any had, though it be
    /// removed. Nobody else asks until this unit ends.
    pub fn keep_chain_number(&mut self, issuer: IssuerId, number: u32) -> Result<u32, StoreError> {
        let name = format!("chain_number {issuer}");
        let greatest = narrow(self.claim_watermark(&name, number.into())?)?.max(number);
        self.set_watermark(&name, greatest.into())?;
        Ok(greatest)
    }

    /// The further chains of every issuer, by their numbers.
    pub fn chains(&mut self) -> Result<Vec<ChainRecord>, StoreError> {
        let sql =
            "SELECT issuer_id, number, fingerprint, pem, created_at FROM issuer_chains ORDER BY issuer_id, number";
        self.query(sql, params![], |row| {
            Ok(ChainRecord {
                issuer: row.parsed()?,
                number: narrow(row.int()?)?,
                fingerprint: row.text()?,
                pem: row.text()?,
                created_at: row.time()?,
            })
        })
    }

    /// Which further chains there are, cheap enough to be asked every other second.
    pub fn chain_marks(&mut self) -> Result<Vec<ChainMark>, StoreError> {
        let sql = "SELECT issuer_id, number, fingerprint FROM issuer_chains ORDER BY issuer_id, number";
        self.query(sql, params![], |row| {
            Ok(ChainMark { issuer: row.parsed()?, number: narrow(row.int()?)?, fingerprint: row.text()? })
        })
    }
}

pub(super) fn narrow(number: i64) -> Result<u32, StoreError> {
    number.try_into().map_err(|_| StoreError::corrupt(format!("issuer_chains.number {number}")))
}
