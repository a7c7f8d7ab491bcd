//! Revocation lists: which are due, who makes them, and the newest of each.
//!
//! A list is made outside of any unit of work, in three steps: claim it and draw its number, read what belongs on it,
//! keep it. Only the number and the count of revocations that it covers decide whether it may replace another.

use chancery_domain::{CertificateId, IssuerId, Timestamp};

use super::certificate::CrlEntry;
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// The newest list of a shard, as it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrlRow {
    pub issuer: IssuerId,
    pub shard: i64,
    pub number: i64,
    pub der: Vec<u8>,
    pub this_update: Timestamp,
    pub next_update: Timestamp,
}

/// Where a list stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrlHead {
    pub issuer: IssuerId,
    pub shard: i64,
    /// Of the list that is published; zero before the first.
    pub number: i64,
    /// Whether something is missing on it: a revocation, or an address that it is known by.
    pub lacking: bool,
    /// When the last list was made that was made because its time had come.
    pub scheduled_at: Timestamp,
    /// Of the list that is published.
    pub this_update: Timestamp,
    pub next_update: Timestamp,
}

/// What a new list is made from, all of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrlFacts {
    /// How often something has changed that belongs on it.
    pub changes: i64,
    /// That of the list before.
    pub this_update: Timestamp,
    pub scheduled_at: Timestamp,
    /// The list before.
    pub previous: Option<Vec<u8>>,
    pub entries: Vec<CrlEntry>,
}

impl Tx<'_> {
    /// Sees to it that there is such a list.
    pub fn want_crl(&mut self, issuer: IssuerId, shard: i64) -> Result<(), StoreError> {
        let sql = "INSERT INTO crls (issuer_id, shard, changes, drawn, claimed_until, number, covers, this_update,
                   next_update, scheduled_at) VALUES (?1, ?2, 0, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING";
        self.put(sql, params![issuer, shard])
    }

    /// Counts a revocation on the list that it belongs on. The row is held until the unit ends, so whoever sees the
    /// count sees the revocation.
    pub(crate) fn count_revocation(&mut self, id: CertificateId) -> Result<(), StoreError> {
        let sql = "INSERT INTO crls (issuer_id, shard, changes, drawn, claimed_until, number, covers, this_update,
                   next_update, scheduled_at) SELECT issuer_id, crl_shard, 1, 0, 0, 0, 0, 0, 0, 0 FROM certificates
                   WHERE id = ?1 ON CONFLICT (issuer_id, shard) DO UPDATE SET changes = crls.changes + 1";
        self.put(sql, params![id])
    }

    /// Counts that something on a list has changed, so that it is made anew: new revocations, or what it says of itself.
    pub fn count_change(&mut self, issuer: IssuerId, shard: i64) -> Result<(), StoreError> {
        let sql = "INSERT INTO crls (issuer_id, shard, changes, drawn, claimed_until, number, covers, this_update,
                   next_update, scheduled_at) VALUES (?1, ?2, 1, 0, 0, 0, 0, 0, 0, 0)
                   ON CONFLICT (issuer_id, shard) DO UPDATE SET changes = crls.changes + 1";
        self.put(sql, params![issuer, shard])
    }

    /// Has the next list get a number beyond this one, which was given already; it is made at once where the last had a smaller one.
    pub fn pass_crl_number(&mut self, issuer: IssuerId, shard: i64, number: i64) -> Result<bool, StoreError> {
        self.want_crl(issuer, shard)?;
        let sql =
            "UPDATE crls SET drawn = ?3, changes = changes + 1 WHERE issuer_id = ?1 AND shard = ?2 AND drawn < ?3";
        Ok(self.execute(sql, params![issuer, shard, number])? == 1)
    }

    /// Every list there is.
    pub fn crl_heads(&mut self) -> Result<Vec<CrlHead>, StoreError> {
        let sql = "SELECT issuer_id, shard, number, covers, changes, scheduled_at, this_update, next_update FROM crls
                   ORDER BY issuer_id, shard";
        self.query(sql, params![], |row| {
            Ok(CrlHead {
                issuer: row.parsed()?,
                shard: row.int()?,
                number: row.int()?,
                lacking: row.int()? < row.int()?,
                scheduled_at: row.time()?,
                this_update: row.time()?,
                next_update: row.time()?,
            })
        })
    }

    /// The list that is served, if there is one.
    pub fn crl(&mut self, issuer: IssuerId, shard: i64) -> Result<Option<CrlRow>, StoreError> {
        let sql = "SELECT issuer_id, shard, number, der, this_update, next_update FROM crls
                   WHERE issuer_id = ?1 AND shard = ?2 AND number > 0 AND der IS NOT NULL";
        self.query_one(sql, params![issuer, shard], read)
    }

    /// Draws the number for a list that is due, and keeps others from making it until `until`. None when it is not due
    /// (any more), or another has it. A list is due when a revocation is missing on it, or the last one that was made on
    /// schedule was made by `scheduled_by`. What lies beyond `until` comes from a clock that was wrong, and does not count.
    ///
    /// Numbers grow, and are not smaller than the time: they go on growing even after the database was restored from an
    /// old copy.
    pub fn claim_crl(
        &mut self,
        issuer: IssuerId,
        shard: i64,
        scheduled_by: Timestamp,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        let sql = "UPDATE crls SET drawn = CASE WHEN drawn >= ?3 THEN drawn + 1 ELSE ?3 END, claimed_until = ?4
                   WHERE issuer_id = ?1 AND shard = ?2 AND (claimed_until <= ?3 OR claimed_until > ?4)
                   AND (covers < changes OR scheduled_at <= ?5 OR scheduled_at > ?4) RETURNING drawn";
        self.query_one(sql, params![issuer, shard, now, until, scheduled_by], |row| row.int())
    }

    /// What belongs on a list now: the revoked certificates of all kinds that had not expired when the last list was made on
    /// schedule, so that each has been on one such list after its end (RFC 5280 section 3.3). Ask in a unit that reads:
    /// it sees one moment.
    pub fn crl_facts(&mut self, issuer: IssuerId, shard: i64, now: Timestamp) -> Result<Option<CrlFacts>, StoreError> {
        let sql = "SELECT changes, this_update, scheduled_at, der FROM crls WHERE issuer_id = ?1 AND shard = ?2";
        let found = self.query_one(sql, params![issuer, shard], |row| {
            Ok(CrlFacts {
                changes: row.int()?,
                this_update: row.time()?,
                scheduled_at: row.time()?,
                previous: row.bytes_or_none()?,
                entries: Vec::new(),
            })
        })?;
        let Some(facts) = found else { return Ok(None) };
        // The last second of a certificate counts, and lists are dated in whole seconds.
        let since = Timestamp::from_secs(facts.scheduled_at.min(now).as_secs());
        let mut entries = self.revoked(issuer, shard, since)?;
        entries.extend(self.revoked_precertificates(issuer, shard, since)?);
        entries.extend(self.revoked_recovered(issuer, shard, since)?);
        Ok(Some(CrlFacts { entries, ..facts }))
    }

    /// Publishes a list that covers so many revocations, unless one with a greater number, or with more on it, is there.
    pub fn store_crl(&mut self, crl: &CrlRow, covers: i64, scheduled_at: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE crls SET der = ?4, number = ?3, covers = ?5, this_update = ?6, next_update = ?7,
                   scheduled_at = ?8, claimed_until = CASE WHEN drawn = ?3 THEN 0 ELSE claimed_until END
                   WHERE issuer_id = ?1 AND shard = ?2 AND number < ?3 AND covers <= ?5";
        let CrlRow { issuer, shard, number, der, this_update, next_update } = crl;
        let params =
            params![*issuer, *shard, *number, der.as_slice(), covers, *this_update, *next_update, scheduled_at];
        Ok(self.execute(sql, params)? == 1)
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
