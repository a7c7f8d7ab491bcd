//! What has been kept long enough: found page by page without holding anybody up, and deleted a few at a time.

use chancery_domain::{AuthorizationId, OrderId, Timestamp};

use super::audit::first_id;
use super::quota::day;
use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

/// Control was shown once, whatever became of the authorization: certificates may rest on what was seen then. A quote
/// within a text of the JSON has a backslash before it, so nothing but a state looks like this.
const PROVEN: &str = r#"challenges LIKE '%"state":"valid"%'"#;

/// How an order has ended that may be deleted, with all that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedOrder {
    /// Cancelled or failed: nothing came of it.
    InVain,
    /// Nobody finished it in time.
    Lapsed,
    /// Its certificate has expired.
    Expired,
}

/// What is known of the clock by which things are deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepTimes {
    pub swept: Option<Timestamp>,
    pub doubted: Option<Timestamp>,
}

/// Until when something must have ended to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// By when it must have ended.
    pub from: Timestamp,
    /// What was shown of a name counts for certificates of other orders as well: by when it must have stopped to count.
    /// None: it is kept for ever.
    pub evidence_from: Option<Timestamp>,
}

/// What became of something that was to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// It is gone, with so many rows.
    Whole(u32),
    /// So many of its rows are gone, and there are more than may be deleted with one commit.
    Part(u32),
    /// Something needs it, or somebody is busy with it.
    Nothing,
}

/// Where a page of what has ended begins: the time and the id of the last before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedAfter {
    pub at: Timestamp,
    pub id: String,
}

impl EndedAfter {
    pub const BEGINNING: Self = Self { at: Timestamp::from_millis(i64::MIN), id: String::new() };
}

impl Tx<'_> {
    /// Up to `most` orders that ended before `from`, the oldest first, and where the next page begins.
    pub fn ended_orders(
        &mut self,
        ended: EndedOrder,
        from: Timestamp,
        after: &EndedAfter,
        most: u32,
    ) -> Result<Vec<(OrderId, EndedAfter)>, StoreError> {
        let (at, id, rows) = match ended {
            EndedOrder::InVain => ("state_at", "id", "orders WHERE state IN ('cancelled', 'invalid')"),
            EndedOrder::Lapsed => ("expires_at", "id", "orders WHERE state IN ('pending', 'ready')"),
            EndedOrder::Expired => ("not_after", "order_id", "certificates WHERE not_after IS NOT NULL"),
        };
        let sql = format!(
            "SELECT {id}, {at} FROM {rows} AND {at} < ?1 AND ({at}, {id}) > (?2, ?3) ORDER BY {at}, {id} LIMIT ?4"
        );
        self.query(&sql, params![from, after.at, after.id.as_str(), most], |row| {
            let id = row.text()?;
            let order = id.parse().map_err(|_| StoreError::corrupt("orders.id"))?;
            Ok((order, EndedAfter { at: row.time()?, id }))
        })
    }

    /// Deletes an order with its certificate and its authorizations, if it has ended so and nothing needs it any more; no more
    /// than `most` rows of it. Order and certificate go last: until then the rest of it can be found. An order that somebody
    /// else is busy with is left for the next time.
    pub fn delete_ended_order(
        &mut self,
        id: OrderId,
        ended: EndedOrder,
        kept: Kept,
        most: u32,
    ) -> Result<Deleted, StoreError> {
        let condition = match ended {
            EndedOrder::InVain => "state IN ('cancelled', 'invalid') AND state_at < ?2",
            EndedOrder::Lapsed => "state IN ('pending', 'ready') AND expires_at < ?2",
            // Each revoked certificate is on one list after its end (RFC 5280 section 3.3), and that is made from its row.
            EndedOrder::Expired => {
                "EXISTS (SELECT 1 FROM certificates WHERE order_id = orders.id AND state IN ('issued', 'revoked')
                 AND not_after < ?2 AND NOT EXISTS (SELECT 1 FROM crls WHERE crls.issuer_id = certificates.issuer_id
                 AND crls.shard = certificates.crl_shard AND crls.scheduled_at <= certificates.not_after))"
            }
        };
        let sql = format!(
            "SELECT id FROM orders WHERE id = ?1 AND {condition} AND NOT EXISTS (SELECT 1 FROM authorizations
             WHERE order_id = orders.id AND {PROVEN} AND expires_at >= ?3)"
        );
        let evidence = kept.evidence_from.unwrap_or(Timestamp::from_millis(i64::MIN));
        let found = self.query_skipping_locked(&sql, params![id, kept.from, evidence], |row| row.text())?;
        if found.is_empty() {
            return Ok(Deleted::Nothing);
        }
        let names = "DELETE FROM certificate_names WHERE (reseller_id, name, certificate_id) IN (
                     SELECT reseller_id, name, certificate_id FROM certificate_names
                     WHERE certificate_id IN (SELECT id FROM certificates WHERE order_id = ?1) LIMIT ?2)";
        let authorizations = "DELETE FROM authorizations WHERE id IN (
                              SELECT id FROM authorizations WHERE order_id = ?1 LIMIT ?2)";
        let mut gone = 0;
        for parts in [names, authorizations] {
            let deleted = self.execute(parts, params![id, most - gone])?;
            gone += u32::try_from(deleted).unwrap_or(most);
            // There may be more.
            if gone >= most {
                return Ok(Deleted::Part(gone));
            }
        }
        let whole = [
            "DELETE FROM jobs WHERE kind = 'issue' AND subject = ?1",
            "DELETE FROM certificates WHERE order_id = ?1",
            "DELETE FROM orders WHERE id = ?1",
        ];
        if most - gone < whole.len() as u32 {
            return Ok(Deleted::Part(gone));
        }
        for part in whole {
            gone += u32::try_from(self.execute(part, params![id])?).unwrap_or(most);
        }
        Ok(Deleted::Whole(gone))
    }

    /// Up to `most` authorizations without an order that ended before `from`, and where the next page begins.
    pub fn ended_authorizations(
        &mut self,
        from: Timestamp,
        after: &EndedAfter,
        most: u32,
    ) -> Result<Vec<(AuthorizationId, EndedAfter)>, StoreError> {
        let sql = "SELECT id, expires_at FROM authorizations WHERE order_id IS NULL AND expires_at < ?1
                   AND (expires_at, id) > (?2, ?3) ORDER BY expires_at, id LIMIT ?4";
        self.query(sql, params![from, after.at, after.id.as_str(), most], |row| {
            let id = row.text()?;
            let authorization = id.parse().map_err(|_| StoreError::corrupt("authorizations.id"))?;
            Ok((authorization, EndedAfter { at: row.time()?, id }))
        })
    }

    /// Deletes an authorization without an order, if nothing rests on it any more.
    pub fn delete_ended_authorization(&mut self, id: AuthorizationId, kept: Kept) -> Result<Deleted, StoreError> {
        let sql = format!(
            "SELECT id FROM authorizations WHERE id = ?1 AND order_id IS NULL AND expires_at < ?2
             AND NOT ({PROVEN} AND expires_at >= ?3)"
        );
        let evidence = kept.evidence_from.unwrap_or(Timestamp::from_millis(i64::MIN));
        if self.query_skipping_locked(&sql, params![id, kept.from, evidence], |row| row.text())?.is_empty() {
            return Ok(Deleted::Nothing);
        }
        match self.execute("DELETE FROM authorizations WHERE id = ?1", params![id])? {
            0 => Ok(Deleted::Nothing),
            _ => Ok(Deleted::Whole(1)),
        }
    }

    /// Deletes up to `most` lines of the trail from before `from`, and says how many. Lines that tell of refusals may have
    /// a later date.
    pub fn cut_audit(
        &mut self,
        from: Option<Timestamp>,
        refusals_from: Option<Timestamp>,
        most: u32,
    ) -> Result<u64, StoreError> {
        let mut gone = 0;
        // On SQLite the next position is the one after the newest line: that line stays, or positions would begin anew below
        // where those who follow stand.
        let newest = if self.is_postgres() { "" } else { "AND rowid < (SELECT max(rowid) FROM audit)" };
        if let Some(from) = from {
            self.note_time("audit_kept_from", from)?;
            self.note_time("refusals_kept_from", refusals_from.map_or(from, |refusals| refusals.max(from)))?;
            let sql = format!(
                "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id < ?1 {newest} ORDER BY id LIMIT ?2)"
            );
            gone += self.execute(&sql, params![first_id(from), most])?;
        }
        if let Some(from) = refusals_from.filter(|refusals| gone == 0 && from.is_none_or(|all| *refusals > all)) {
            self.note_time("refusals_kept_from", from)?;
            // Spelled out, because an index on some rows only serves a condition that is known beforehand.
            let sql = format!(
                "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE outcome = 'refused' AND id < ?1 {newest}
                 ORDER BY id DESC NULLS LAST LIMIT ?2)"
            );
            gone += self.execute(&sql, params![first_id(from), most])?;
        }
        Ok(gone)
    }

    /// Deletes up to `most` counts of days that no quota asks about any more, and says how many.
    pub fn forget_counts(&mut self, now: Timestamp, most: u32) -> Result<u64, StoreError> {
        // A week is the longest that is asked about; what ended yesterday is not active.
        let issued = "DELETE FROM issued_per_day WHERE (account_id, day) IN
                      (SELECT account_id, day FROM issued_per_day WHERE day < ?1 ORDER BY day LIMIT ?2)";
        let active = "DELETE FROM active_until_day WHERE (account_id, day) IN
                      (SELECT account_id, day FROM active_until_day WHERE day < ?1 ORDER BY day LIMIT ?2)";
        match self.execute(issued, params![day(now) - 32, most])? {
            0 => self.execute(active, params![day(now) - 2, most]),
            gone => Ok(gone),
        }
    }

    /// Takes, or holds on to, what only one node at a time may do. An end beyond `beyond` was set by a clock that was
    /// wrong, and does not count.
    pub fn take_lease(
        &mut self,
        name: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
        beyond: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO leases (name, holder, until) VALUES (?1, ?2, ?3)
                   ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
                   WHERE leases.holder = ?2 OR leases.until <= ?4 OR leases.until > ?5";
        Ok(self.execute(sql, params![name, holder, until, now, beyond])? == 1)
    }

    /// When all this was last looked after, and since when the clock is doubted.
    pub fn sweep_times(&mut self) -> Result<SweepTimes, StoreError> {
        let mut time =
            |name: &str| self.query_one("SELECT value FROM epochs WHERE name = ?1", params![name], |row| row.time());
        Ok(SweepTimes { swept: time("swept_at")?, doubted: time("sweep_doubted_at")? })
    }

    /// Whether a clock that was believed has shown a later time than this: then it is this one that is behind.
    pub fn is_behind(&mut self, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.sweep_times()?.swept.is_some_and(|swept| swept > now))
    }

    /// Notes that all this is looked after now, by a clock that is believed.
    pub fn note_sweep(&mut self, now: Timestamp) -> Result<(), StoreError> {
        self.execute("DELETE FROM epochs WHERE name = ?1", params!["sweep_doubted_at"])?;
        self.note_time("swept_at", now)
    }

    /// Notes that the clock is doubted from now on.
    pub fn note_doubt(&mut self, now: Timestamp) -> Result<(), StoreError> {
        self.note_time("sweep_doubted_at", now)
    }

    /// Writes something that means nothing: it tells whether writing is possible.
    pub fn probe(&mut self, holder: &str, now: Timestamp) -> Result<(), StoreError> {
        let sql = "INSERT INTO leases (name, holder, until) VALUES ('probe', ?1, ?2)
                   ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until";
        self.execute(sql, params![holder, now]).map(drop)
    }

    fn note_time(&mut self, name: &str, at: Timestamp) -> Result<(), StoreError> {
        let sql = "INSERT INTO epochs (name, value) VALUES (?1, ?2)
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.execute(sql, params![name, at]).map(drop)
    }
}
