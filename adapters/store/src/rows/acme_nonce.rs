use chancery_domain::Timestamp;

use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

/// Whether a nonce could be redeemed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redemption {
    Redeemed,
    /// It was redeemed before, by whichever node.
    Replayed,
    /// It was issued in another generation: the database has recovered since, and may have lost the record of its use. With
    /// the current generation, if one was started.
    Outdated(Option<i64>),
}

impl Tx<'_> {
    /// Redeems a nonce that was issued in this generation.
    pub fn redeem_nonce(
        &mut self,
        nonce: &str,
        expires_at: Timestamp,
        generation: i64,
    ) -> Result<Redemption, StoreError> {
        let sql = "INSERT INTO acme_nonces (nonce, expires_at)
                   SELECT ?1, ?2 FROM acme_nonce_generation WHERE generation = ?3 ON CONFLICT DO NOTHING";
        if self.execute(sql, params![nonce, expires_at, generation])? == 1 {
            return Ok(Redemption::Redeemed);
        }
        Ok(match self.nonce_generation()? {
            Some(current) if current == generation => Redemption::Replayed,
            current => Redemption::Outdated(current),
        })
    }

    pub(super) fn nonce_generation(&mut self) -> Result<Option<i64>, StoreError> {
        self.query_one("SELECT generation FROM acme_nonce_generation", params![], |row| row.int())
    }

    /// The generation of nonces that can be redeemed. Starts a new one, under the number `fresh`, if the database has
    /// recovered since the last one was started.
    pub fn nonce_generation_or_start(&mut self, fresh: i64) -> Result<i64, StoreError> {
        if let Some(generation) = self.nonce_generation()? {
            return Ok(generation);
        }
        let sql = "INSERT INTO acme_nonce_generation (id, generation) VALUES (1, ?1) ON CONFLICT DO NOTHING";
        self.execute(sql, params![fresh])?;
        self.nonce_generation()?.ok_or_else(|| StoreError::corrupt("acme_nonce_generation"))
    }

    /// Writes what is gone again with the same commit: whether that works is all that matters. A nonce will do, since
    /// nothing is written more often.
    pub(crate) fn try_to_write(&mut self) -> Result<(), StoreError> {
        let probe = format!("probe {}", std::process::id());
        let insert = "INSERT INTO acme_nonces (nonce, expires_at) VALUES (?1, 0) ON CONFLICT DO NOTHING";
        self.execute(insert, params![probe.as_str()])?;
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
