//! The audit trail in the order of commits, for those who follow it.
//!
//! Ids are made before the commit, so one that is smaller than what a reader has seen may still come. A position is the
//! number of the transaction: what lies below every transaction in flight is complete, and nothing will ever be added to it.
//! On SQLite, with its one writer, rows come in the order of commits by themselves. A base is added, on both, which grows
//! where a database is put back from a copy of itself.

use chancery_domain::{
    AccountId, AuditId, CertificateId, CertificateRecord, Identifier, OrderId, ResellerId, Timestamp,
};

use super::audit::{self, AuditRecord, SELECTED, first_id};
use super::{END, OWN, certificate, page};
use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

/// A place in the order of commits: after this record.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub position: i64,
    /// The id of the record, among those of one commit; empty before the first.
    pub id: String,
}

/// A record, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub place: Place,
    pub record: AuditRecord,
}

/// A certificate that ends, and whether another has taken its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiring {
    pub certificate: CertificateRecord,
    pub replaced: bool,
}

/// On SQLite: the position of the next record, and so the first that is not there yet.
pub(super) const NEXT_POSITION: &str = "SELECT coalesce(max(rowid), 0) + 1
    + coalesce((SELECT value FROM watermarks WHERE name = 'audit_base'), 0) FROM audit";

/// The oldest transaction of this database that may still add to it, or else the next one. Those of other databases of the
/// cluster do not count; where another role is at work here, whose transactions are hidden, those of all do.
const HORIZON: &str = "SELECT base + CASE WHEN hidden THEN xmin ELSE LEAST(xmax, oldest) END
    FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xmin,
        pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xmax,
        pg_sequence_last_value('audit_base'::regclass) AS base) AS now,
    LATERAL (SELECT coalesce(bool_or(query = '<insufficient privilege>'), false) AS hidden,
        min(xmax - ((xmax - backend_xid::text::bigint) & 4294967295))
            FILTER (WHERE (xmax - backend_xid::text::bigint) & 4294967295 < 2147483648) AS oldest
        FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()) AS others";

impl Tx<'_> {
    /// The first position that is not known to be complete. Whoever reads up to it does so in a unit of work that begins
    /// after this one has ended: then all that was committed below it is there to be seen.
    pub fn event_horizon(&mut self) -> Result<i64, StoreError> {
        let sql = if self.is_postgres() { HORIZON } else { NEXT_POSITION };
        Ok(self.query_one(sql, params![], |row| row.int())?.unwrap_or(0))
    }

    /// Up to `most` records of a reseller after a place and below a position, in the order of commits; fewer if this unit of work
    /// has read as many bytes as a page may. The first of them comes in any case.
    pub fn records_after(
        &mut self,
        reseller: ResellerId,
        after: &Place,
        below: i64,
        most: u32,
    ) -> Result<Vec<Placed>, StoreError> {
        let sql = format!(
            "SELECT position, {} FROM audit WHERE reseller_id = ?1 AND position >= ?2 AND position < ?5
             AND (position > ?2 OR id > ?3) ORDER BY position, id LIMIT ?4",
            *SELECTED
        );
        let mut found: Vec<Placed> = Vec::new();
        loop {
            let left = most.saturating_sub(u32::try_from(found.len()).unwrap_or(most)).min(page::PART);
            let Place { position, id } = found.last().map_or(after, |last| &last.place);
            let params = params![reseller, *position, id.as_str(), left, below];
            let rows = self.query(&sql, params, |row| Ok((row.int()?, audit::read(row)?)))?;
            let is_full = rows.len() >= left as usize;
            for (position, row) in rows {
                let record = row.complete(self)?;
                found.push(Placed { place: Place { position, id: record.id.to_string() }, record });
            }
            if !is_full || found.len() >= most as usize || self.has_read_a_page() {
                return Ok(found);
            }
        }
    }

    /// A place from which on every record of a reseller comes that is not older than this, and some that are.
    pub fn place_at(&mut self, reseller: ResellerId, at: Timestamp) -> Result<Place, StoreError> {
        // Units that run at the same time are committed in another order than their records were made in, but take seconds
        // at most: what was made a minute before was committed before. Refusals are written later, so the first of many.
        let before = first_id(at.minus(std::time::Duration::from_secs(60)));
        let sql = "SELECT min(position) FROM (SELECT position FROM audit WHERE reseller_id = ?1 AND id < ?2
                   AND position IS NOT NULL ORDER BY id DESC NULLS LAST LIMIT 1000) AS before";
        let position = self.query_one(sql, params![reseller, before], |row| row.int_or_none())?.flatten();
        Ok(Place { position: position.unwrap_or(0), id: String::new() })
    }

    /// One record of a reseller.
    pub fn audit_record(&mut self, reseller: ResellerId, id: AuditId) -> Result<Option<AuditRecord>, StoreError> {
        let sql = format!("SELECT {} FROM audit WHERE {OWN}", *SELECTED);
        Ok(self.audit_rows(&sql, params![id, reseller])?.pop())
    }

    /// What the trail has to say of each time that this was done to a certificate, by clocks that had not come to `until`.
    pub fn details_of(
        &mut self,
        certificate: CertificateId,
        action: &str,
        until: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        // A certificate has few lines. Were the action asked for here, all lines that have it might be read instead.
        let sql = format!("SELECT {} FROM audit WHERE subject = ?1 AND id < ?2", *SELECTED);
        let lines = self.audit_rows(&sql, params![certificate, first_id(until)])?;
        Ok(lines.into_iter().filter(|line| line.action == action).map(|line| line.detail).collect())
    }

    /// Sees to it that positions go on growing: a database that was restored into another cluster counts its transactions
    /// from there, and what is written next must not come before what was there.
    /// For PostgreSQL alone.
    pub fn settle_positions(&mut self) -> Result<(), StoreError> {
        let restored = "SELECT setval('audit_base', newest + 1)
            FROM (SELECT max(position) AS newest FROM (SELECT position FROM audit ORDER BY id DESC LIMIT 1000) AS last)
                AS known
            WHERE newest >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
                + pg_sequence_last_value('audit_base'::regclass)";
        self.query(restored, params![], |_| Ok(())).map(drop)
    }

    /// Up to `most` live certificates that end after `from` and not after `to`, the earliest first, and whether another
    /// that ends later has all their names in the same account. Those that end at the same time come in the order of their
    /// orders; `seen` is the last of the page before.
    pub fn expiring(
        &mut self,
        from: Timestamp,
        seen: Option<&(Timestamp, OrderId)>,
        to: Timestamp,
        most: u32,
    ) -> Result<Vec<Expiring>, StoreError> {
        let sql = format!(
            "{} WHERE state || '' = 'issued' AND not_after IS NOT NULL AND not_after <= ?1
             AND (not_after, order_id) > (?2, ?3)
             ORDER BY not_after, order_id LIMIT ?4",
            certificate::SELECT
        );
        let (after, order) = match seen.filter(|(end, _)| *end > from) {
            Some((end, order)) => (*end, order.to_string()),
            None => (from, END.to_owned()),
        };
        let ending = self.query(&sql, params![to, after, order, most], certificate::read)?;
        let replaced = self.ask_each(&ending, |tx, certificate| {
            let end = certificate.issued().map_or(to, |issued| issued.not_after);
            tx.is_replaced(certificate.id, certificate.account, &certificate.identifiers, end)
        })?;
        let ending = ending.into_iter().zip(replaced);
        Ok(ending.map(|(certificate, replaced)| Expiring { certificate, replaced }).collect())
    }

    /// Whether another certificate of the account has all of these names, and ends later.
    fn is_replaced(
        &mut self,
        id: CertificateId,
        account: AccountId,
        names: &[Identifier],
        end: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = format!(
            "{} WHERE account_id = ?1 AND state = 'issued' AND not_after > ?2 AND certificates.id <> ?3
             AND EXISTS (SELECT 1 FROM certificate_names WHERE certificate_names.certificate_id = certificates.id
                AND certificate_names.reseller_id = certificates.reseller_id AND certificate_names.name = ?4)
             ORDER BY not_after DESC LIMIT 20",
            certificate::SELECT
        );
        let Some(first) = names.first() else { return Ok(false) };
        let later = self.query(&sql, params![account, end, id, first.to_string()], certificate::read)?;
        Ok(later.iter().any(|other| names.iter().all(|name| other.identifiers.contains(name))))
    }

    /// How far something has come, for this unit of work alone until it ends; it begins at `start`.
    pub fn claim_watermark(&mut self, name: &str, start: i64) -> Result<i64, StoreError> {
        self.execute(
            "INSERT INTO watermarks (name, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            params![name, start],
        )?;
        let found =
            self.query_claimed("SELECT value FROM watermarks WHERE name = ?1", params![name], |row| row.int())?;
        found.into_iter().next().ok_or_else(|| StoreError::corrupt("watermarks"))
    }

    pub fn watermark(&mut self, name: &str) -> Result<Option<i64>, StoreError> {
        self.query_one("SELECT value FROM watermarks WHERE name = ?1", params![name], |row| row.int())
    }

    pub fn set_watermark(&mut self, name: &str, value: i64) -> Result<(), StoreError> {
        self.execute("UPDATE watermarks SET value = ?2 WHERE name = ?1", params![name, value]).map(drop)
    }
}
