use chancery_domain::Timestamp;

use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

impl Tx<'_> {
    /// Uses a nonce up; `false` when it was used before, by whichever node.
    pub fn redeem_nonce(&mut self, nonce: &str, expires_at: Timestamp) -> Result<bool, StoreError> {
        let sql = "INSERT INTO acme_nonces (nonce, expires_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        Ok(self.execute(sql, params![nonce, expires_at])? == 1)
    }

    /// Writes what is gone again with the same commit: whether that works is all that matters. A nonce will do, since
    /// nothing is written more often.
    pub(crate) fn try_to_write(&mut self) -> Result<(), StoreError> {
        let probe = format!("probe {}", std::process::id());
        self.redeem_nonce(&probe, Timestamp::from_secs(0))?;
        self.execute("DELETE FROM acme_nonces WHERE nonce = ?1", params![probe]).map(drop)
    }

    /// Forgets up to `most` nonces that are too old to be taken, and says how many.
    pub fn forget_nonces(&mut self, before: Timestamp, most: u32) -> Result<u64, StoreError> {
        self.execute(
            "DELETE FROM acme_nonces WHERE nonce IN (
                SELECT nonce FROM acme_nonces WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)",
            params![before, most],
        )
    }
}
