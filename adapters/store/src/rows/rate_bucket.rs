//! Buckets of tokens that nodes share. Only PostgreSQL has several nodes; SQLite never asks.

use chancery_domain::Timestamp;
use serde_json::json;

use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

/// What a node says of one bucket. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketWish {
    pub key: String,
    /// Tokens that it has taken on credit; below zero, tokens that it gives back.
    pub spent: i64,
    /// Since when they come back, one after the other.
    pub since: i64,
    /// Tokens that it wants for what comes.
    pub wanted: i64,
    /// How long a token takes to come back.
    pub step: i64,
    /// How long until an empty bucket is full.
    pub room: i64,
}

/// How a bucket stands after that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketAnswer {
    pub key: String,
    /// When it is full again, if nobody takes any more.
    pub full_at: i64,
    pub granted: i64,
}

impl Tx<'_> {
    /// Settles what a node owes to buckets and wants from them, each key once, all by one statement. Nobody gets more
    /// than is there; what was taken on credit is owed, up to another bucketful.
    pub fn exchange_tokens(&mut self, wishes: &[BucketWish], now: i64) -> Result<Vec<BucketAnswer>, StoreError> {
        let wishes: Vec<_> = wishes
            .iter()
            .map(|wish| {
                json!({"k": wish.key, "s": wish.spent, "u": wish.since, "w": wish.wanted, "t": wish.step, "r": wish.room})
            })
            .collect();
        // When a bucket that was full would be full again: what was taken on credit has been coming back since it was taken.
        let alone = "GREATEST(?2, LEAST(u, ?2) + GREATEST(s, 0) * t)";
        // And the one that is there; the row that is not inserted tells of the full one.
        let after = "LEAST(GREATEST(bucket.full_at + excluded.spent * excluded.step,
                                    excluded.full_at - excluded.granted * excluded.step), ?2 + 2 * excluded.room)";
        let granted = format!("LEAST(excluded.wanted, GREATEST(0, (?2 + excluded.room - {after}) / excluded.step))");
        let sql = format!(
            "INSERT INTO rate_buckets AS bucket (key, full_at, step, room, spent, wanted, granted)
             SELECT k, alone + granted * t, t, r, s, w, granted
             FROM (SELECT *, LEAST(w, GREATEST(0, (?2 + r - alone) / t)) AS granted
                   FROM (SELECT *, {alone} AS alone FROM jsonb_to_recordset(?1::text::jsonb)
                         AS wish (k text, s bigint, u bigint, w bigint, t bigint, r bigint)) AS wishes
                   ORDER BY k) AS wishes
             ON CONFLICT (key) DO UPDATE SET full_at = {after} + {granted} * excluded.step, granted = {granted},
                 step = excluded.step, room = excluded.room, spent = excluded.spent, wanted = excluded.wanted
             RETURNING key, full_at, granted"
        );
        self.query(&sql, params![serde_json::Value::from(wishes).to_string(), now], |row| {
            Ok(BucketAnswer { key: row.text()?, full_at: row.int()?, granted: row.int()? })
        })
    }

    /// Notes that a node is there, and says how many are.
    pub fn meet_nodes(&mut self, node: &str, now: Timestamp, gone: Timestamp) -> Result<u32, StoreError> {
        let sql = "INSERT INTO rate_nodes (node, seen_at) VALUES (?1, ?2)
                   ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at";
        self.execute(sql, params![node, now])?;
        let sql = "SELECT COUNT(*) FROM (SELECT 1 FROM rate_nodes WHERE seen_at > ?1 LIMIT 1000) AS nodes";
        let nodes = self.query_one(sql, params![gone], |row| row.int())?;
        Ok(nodes.and_then(|nodes| u32::try_from(nodes).ok()).unwrap_or(1).max(1))
    }

    /// Forgets up to `most` buckets that are full, and says how many; and nodes that are gone.
    ///
    /// Whichever are found first: an index by when they are full would have to be changed with every token that is taken,
    /// which rows with room beside them (the fill factor) are spared.
    pub fn forget_buckets(&mut self, full: i64, gone: Timestamp, most: u32) -> Result<u64, StoreError> {
        self.execute("DELETE FROM rate_nodes WHERE seen_at <= ?1", params![gone])?;
        // Asked twice, since somebody may take a token from one that was just found.
        let sql = "DELETE FROM rate_buckets WHERE full_at <= ?1
                   AND key IN (SELECT key FROM rate_buckets WHERE full_at <= ?1 LIMIT ?2)";
        self.execute(sql, params![full, most])
    }
}
