use chancery_domain::{Timestamp, TokenKeyId};

use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// A key that signs access tokens.
#[derive(Clone)]
pub struct TokenKey {
    pub id: TokenKeyId,
    pub sealed: Vec<u8>,
    /// The public half, as a JWK.
    pub public_key: String,
    pub created_at: Timestamp,
    /// Tokens are signed with it from here on; verifiers have had time to learn of it.
    pub active_from: Timestamp,
}

impl Tx<'_> {
    pub fn insert_token_key(&mut self, key: &TokenKey) -> Result<(), StoreError> {
        self.put(
            "INSERT INTO token_keys (id, sealed, public_key, created_at, active_from) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![key.id, key.sealed.as_slice(), key.public_key.as_str(), key.created_at, key.active_from],
        )?;
        Ok(())
    }

    /// Every key that may have signed a token that is still good, newest first.
    pub fn token_keys(&mut self) -> Result<Vec<TokenKey>, StoreError> {
        let sql =
            "SELECT id, sealed, public_key, created_at, active_from FROM token_keys ORDER BY active_from DESC, id DESC";
        self.query(sql, params![], read)
    }

    pub fn delete_token_key(&mut self, id: TokenKeyId) -> Result<(), StoreError> {
        self.put("DELETE FROM token_keys WHERE id = ?1", params![id])
    }
}

fn read(row: &mut Columns<'_>) -> Result<TokenKey, StoreError> {
    Ok(TokenKey {
        id: row.parsed()?,
        sealed: row.bytes()?,
        public_key: row.text()?,
        created_at: row.time()?,
        active_from: row.time()?,
    })
}
