use chancery_domain::{Name, OperatorKey, OperatorKeyId, SecretHash, Timestamp};

use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

const COLUMNS: &str = "id, name, hash, revoked_at, created_at";

impl Tx<'_> {
    pub fn insert_operator_key(&mut self, key: &OperatorKey) -> Result<(), StoreError> {
        self.execute(
            &format!("INSERT INTO operator_keys ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5)"),
            params![key.id, key.name.as_str(), key.hash.0.as_slice(), key.revoked_at, key.created_at],
        )?;
        Ok(())
    }

    pub fn operator_key(&mut self, id: OperatorKeyId) -> Result<Option<OperatorKey>, StoreError> {
        self.query_one(&format!("SELECT {COLUMNS} FROM operator_keys WHERE id = ?1"), params![id], read)
    }

    /// All of them, newest first: there are as many as there are operators.
    pub fn operator_keys(&mut self) -> Result<Vec<OperatorKey>, StoreError> {
        self.query(&format!("SELECT {COLUMNS} FROM operator_keys ORDER BY id DESC"), params![], read)
    }

    /// Revokes a key; `false` when there is none that is live.
    pub fn revoke_operator_key(&mut self, id: OperatorKeyId, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE operator_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
        Ok(self.execute(sql, params![id, now])? == 1)
    }
}

fn read(row: &mut Columns<'_>) -> Result<OperatorKey, StoreError> {
    Ok(OperatorKey {
        id: row.parsed()?,
        name: row.through(Name::parse)?,
        hash: row.bytes()?.try_into().map(SecretHash).map_err(|_| StoreError::corrupt("a secret's hash"))?,
        revoked_at: row.time_or_none()?,
        created_at: row.time()?,
    })
}
