use chancery_domain::{PAGE_BYTES, ResellerId, Timestamp};

use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// An answer that was given under an idempotency key. The body is sealed: it may hold a new secret.
#[derive(Clone)]
pub struct StoredAnswer {
    pub fingerprint: Vec<u8>,
    pub status: u16,
    pub sealed: Vec<u8>,
    pub created_at: Timestamp,
}

/// The longest answer that is read, sealed: any that this version gives. Earlier versions kept refusals of any length; those are as
/// good as none.
const LONGEST: i64 = PAGE_BYTES as i64 + 4096;

impl Tx<'_> {
    /// The answer kept under a key since `not_before`.
    pub fn answer(
        &mut self,
        reseller: ResellerId,
        key: &str,
        not_before: Timestamp,
    ) -> Result<Option<StoredAnswer>, StoreError> {
        self.query_one(
            "SELECT fingerprint, status, sealed, created_at FROM idempotency
             WHERE reseller_id = ?1 AND idempotency_key = ?2 AND created_at >= ?3 AND CAST(octet_length(sealed) AS BIGINT) <= ?4",
            params![reseller, key, not_before, LONGEST],
            read,
        )
    }

    /// Keeps an answer under a key in place of one that has grown old (before `not_before`) or is too long. When somebody else has
    /// just kept one there, the unit is stale: run again, it finds that answer.
    pub fn keep_answer(
        &mut self,
        reseller: ResellerId,
        key: &str,
        answer: &StoredAnswer,
        not_before: Timestamp,
    ) -> Result<(), StoreError> {
        self.update(
            "idempotency key",
            key,
            "INSERT INTO idempotency (reseller_id, idempotency_key, fingerprint, status, sealed, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (reseller_id, idempotency_key) DO UPDATE SET fingerprint = excluded.fingerprint,
             status = excluded.status, sealed = excluded.sealed, created_at = excluded.created_at
             WHERE idempotency.created_at < ?7 OR CAST(octet_length(idempotency.sealed) AS BIGINT) > ?8",
            params![
                reseller,
                key,
                answer.fingerprint.as_slice(),
                i64::from(answer.status),
                answer.sealed.as_slice(),
                answer.created_at,
                not_before,
                LONGEST,
            ],
        )
    }

    /// Forgets up to `most` answers from before `not_before`, and says how many.
    pub fn forget_answers(&mut self, not_before: Timestamp, most: u32) -> Result<u64, StoreError> {
        // Asked twice: a key may be used anew while this waits for its row, and then the answer is kept.
        self.execute(
            "DELETE FROM idempotency WHERE created_at < ?1 AND (reseller_id, idempotency_key) IN (
                SELECT reseller_id, idempotency_key FROM idempotency WHERE created_at < ?1 ORDER BY created_at LIMIT ?2)",
            params![not_before, most],
        )
    }
}

fn read(row: &mut Columns<'_>) -> Result<StoredAnswer, StoreError> {
    Ok(StoredAnswer {
        fingerprint: row.bytes()?,
        status: u16::try_from(row.int()?).map_err(StoreError::corrupt)?,
        sealed: row.bytes()?,
        created_at: row.time()?,
    })
}
