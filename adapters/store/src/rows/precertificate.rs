//! What was signed for logs. It has the serial number of the certificate that is to come, and is answered for like one.

use std::collections::BTreeSet;

use chancery_domain::{CertificateId, IssuerId, OrderId, ResellerId, RevocationReason, Timestamp};

use super::certificate::{CrlEntry, Standing, read_entry, read_reason};
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// The step of the schema that this came with.
const SINCE: i64 = 17;

/// A precertificate, with what has to be known of it when nothing else of its order is there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrecertificateRow {
    pub serial: String,
    pub issuer: IssuerId,
    pub certificate: CertificateId,
    pub reseller: ResellerId,
    pub order: OrderId,
    pub shard: i64,
    pub key_hash: Vec<u8>,
    pub der: Vec<u8>,
    pub not_after: Timestamp,
    pub signed_at: Timestamp,
}

/// A precertificate that waits for its certificate, and what has become of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPrecertificate {
    pub serial: String,
    pub reseller: ResellerId,
    pub order: OrderId,
    pub fate: PrecertificateFate,
}

/// What has become of the certificate that a precertificate was signed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrecertificateFate {
    /// It may still come.
    Awaited,
    /// It is there.
    Issued,
    /// It will not come: its order has ended, or is issued with another serial number.
    GivenUp,
}

impl Tx<'_> {
    /// Keeps what was signed, before anybody else has it; or gives what was signed with this serial number before.
    ///
    /// Programs that know nothing of it would not answer for it: from the first on they do not start on this database.
    pub fn store_precertificate(&mut self, row: PrecertificateRow) -> Result<PrecertificateRow, StoreError> {
        if let Some(known) = self.precertificate(&row.serial)? {
            return Ok(known);
        }
        let sql = "INSERT INTO precertificates (serial, issuer_id, certificate_id, reseller_id, order_id, crl_shard,
                   key_hash, der, not_after, signed_at, state, state_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'open', ?10)";
        let params = params![
            row.serial.as_str(),
            row.issuer,
            row.certificate,
            row.reseller,
            row.order,
            row.shard,
            row.key_hash.as_slice(),
            row.der.as_slice(),
            row.not_after,
            row.signed_at,
        ];
        self.put(sql, params)?;
        self.shut_out_older_than(SINCE)?;
        Ok(row)
    }

    /// What was signed with this serial number, whatever has become of it.
    pub fn precertificate(&mut self, serial: &str) -> Result<Option<PrecertificateRow>, StoreError> {
        let sql =
            "SELECT serial, issuer_id, certificate_id, reseller_id, order_id, crl_shard, key_hash, der, not_after,
                   signed_at FROM precertificates WHERE serial = ?1";
        self.query_one(sql, params![serial], read)
    }

    /// Up to `most` of those that were waiting for their certificates, with serial numbers beyond this one.
    pub fn open_precertificates(&mut self, after: &str, most: u32) -> Result<Vec<OpenPrecertificate>, StoreError> {
        let sql = "SELECT precertificates.serial, precertificates.reseller_id, precertificates.order_id,
                   certificates.state FROM precertificates
                   LEFT JOIN certificates ON certificates.id = precertificates.certificate_id
                   AND certificates.serial = precertificates.serial
                   WHERE precertificates.state = 'open' AND precertificates.serial > ?1
                   ORDER BY precertificates.serial LIMIT ?2";
        self.query(sql, params![after, most], |row| {
            Ok(OpenPrecertificate {
                serial: row.text()?,
                reseller: row.parsed()?,
                order: row.parsed()?,
                fate: match row.text_or_none()?.as_deref() {
                    Some("pending") => PrecertificateFate::Awaited,
                    Some("issued" | "revoked") => PrecertificateFate::Issued,
                    Some(_) | None => PrecertificateFate::GivenUp,
                },
            })
        })
    }

    /// Whether the certificate of an order was shown to logs, and is not issued yet.
    pub fn waits_for_logs(&mut self, id: CertificateId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM certificates JOIN precertificates ON precertificates.serial = certificates.serial
                   WHERE certificates.id = ?1 AND certificates.state = 'pending' AND precertificates.state = 'open'";
        Ok(self.query_one(sql, params![id], |_| Ok(()))?.is_some())
    }

    /// Forgets one whose certificate is there: that answers for itself.
    pub fn forget_precertificate(&mut self, serial: &str) -> Result<(), StoreError> {
        self.execute("DELETE FROM precertificates WHERE serial = ?1", params![serial]).map(drop)
    }

    /// Revokes those of these that no certificate will come of, which is looked at once more, and counts them on their
    /// lists; gives the serial numbers of those that were revoked just now. One whose key is blocked is revoked for that.
    pub fn give_up_precertificates(&mut self, serials: &[String], now: Timestamp) -> Result<Vec<String>, StoreError> {
        let sql = format!(
            "UPDATE precertificates SET state = 'revoked', state_at = ?2, revocation_reason = {REASON}
             WHERE serial = ?1 AND state = 'open' AND NOT EXISTS (SELECT 1 FROM certificates
             WHERE certificates.id = precertificates.certificate_id AND certificates.serial = precertificates.serial
             AND certificates.state IN ('pending', 'issued', 'revoked')) RETURNING issuer_id, crl_shard"
        );
        let (mut revoked, mut lists) = (Vec::new(), BTreeSet::new());
        for serial in serials {
            if let Some(list) = self.query_one(&sql, params![serial.as_str(), now], read_list)? {
                lists.insert(list);
                revoked.push(serial.clone());
            }
        }
        self.count_changes(lists)?;
        Ok(revoked)
    }

    /// Revokes one, whatever may come of it; says whether that is new.
    pub fn revoke_precertificate(
        &mut self,
        serial: &str,
        reason: RevocationReason,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE precertificates SET state = 'revoked', state_at = ?2, revocation_reason = ?3
                   WHERE serial = ?1 AND state <> 'revoked' RETURNING issuer_id, crl_shard";
        let list = self.query_one(sql, params![serial, now, i64::from(reason.code())], read_list)?;
        let new = list.is_some();
        self.count_changes(list)?;
        Ok(new)
    }

    /// Has those that are revoked say that their key is compromised.
    pub(super) fn blame_key_for_precertificates(&mut self, key_hash: &[u8]) -> Result<(), StoreError> {
        let sql = "UPDATE precertificates SET revocation_reason = ?2 WHERE key_hash = ?1 AND state = 'revoked'
                   AND revocation_reason <> ?2 RETURNING issuer_id, crl_shard";
        let reason = i64::from(RevocationReason::KeyCompromise.code());
        let lists: BTreeSet<_> = self.query(sql, params![key_hash, reason], read_list)?.into_iter().collect();
        self.count_changes(lists)
    }

    /// Leaves those that were waiting for their certificates as they are, for good; says how many.
    pub fn leave_precertificates(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        let sql = "UPDATE precertificates SET state = 'left', state_at = ?1 WHERE state = 'open'";
        self.execute(sql, params![now])
    }

    /// Deletes up to `most` that ended before `from`, once each that is revoked has been on a list after its end (RFC 5280
    /// section 3.3); says how many.
    pub fn delete_precertificates(&mut self, from: Timestamp, most: u32) -> Result<u64, StoreError> {
        let sql = "DELETE FROM precertificates WHERE serial IN (SELECT serial FROM precertificates
                   WHERE state <> 'open' AND not_after < ?1 AND NOT EXISTS (SELECT 1 FROM crls
                   WHERE crls.issuer_id = precertificates.issuer_id AND crls.shard = precertificates.crl_shard
                   AND crls.scheduled_at <= precertificates.not_after) ORDER BY not_after LIMIT ?2)";
        self.execute(sql, params![from, most])
    }

    /// What is known of a serial number that no certificate has.
    pub(super) fn precertificate_standing(&mut self, issuer: IssuerId, serial: &str) -> Result<Standing, StoreError> {
        let sql = "SELECT state, state_at, revocation_reason FROM precertificates
                   WHERE serial = ?1 AND issuer_id = ?2";
        let found = self.query_one(sql, params![serial, issuer], |row| {
            let (state, at, reason) = (row.text()?, row.time()?, row.int_or_none()?);
            match (state.as_str(), reason) {
                ("open" | "left", None) => Ok(Standing::Issued),
                ("revoked", Some(reason)) => Ok(Standing::Revoked { at, reason: read_reason(reason)? }),
                _ => Err(StoreError::corrupt("precertificates.state")),
            }
        })?;
        match found {
            Some(known) => Ok(known),
            None => self.recovered_standing(issuer, serial),
        }
    }

    /// The revoked ones of a shard that had not ended before `since`, by serial.
    pub(super) fn revoked_precertificates(
        &mut self,
        issuer: IssuerId,
        shard: i64,
        since: Timestamp,
    ) -> Result<Vec<CrlEntry>, StoreError> {
        let sql = "SELECT serial, state_at, revocation_reason FROM precertificates
                   WHERE issuer_id = ?1 AND crl_shard = ?2 AND state = 'revoked' AND not_after >= ?3 ORDER BY serial";
        self.query(sql, params![issuer, shard, since], read_entry)
    }

    /// Each list once, sorted, and after all rows: no two units wait for each other.
    pub(super) fn count_changes(&mut self, lists: impl IntoIterator<Item = (IssuerId, i64)>) -> Result<(), StoreError> {
        lists.into_iter().try_for_each(|(issuer, shard)| self.count_change(issuer, shard))
    }
}

/// Why one is revoked that nobody asked to have revoked: because others have its key (1, keyCompromise), or for no reason that
/// could be told.
const REASON: &str = "CASE WHEN EXISTS (SELECT 1 FROM blocked_keys
                      WHERE blocked_keys.key_hash = precertificates.key_hash) THEN 1 ELSE 0 END";

/// The list that a row belongs on.
pub(super) fn read_list(row: &mut Columns<'_>) -> Result<(IssuerId, i64), StoreError> {
    Ok((row.parsed()?, row.int()?))
}

fn read(row: &mut Columns<'_>) -> Result<PrecertificateRow, StoreError> {
    Ok(PrecertificateRow {
        serial: row.text()?,
        issuer: row.parsed()?,
        certificate: row.parsed()?,
        reseller: row.parsed()?,
        order: row.parsed()?,
        shard: row.int()?,
        key_hash: row.bytes()?,
        der: row.bytes()?,
        not_after: row.time()?,
        signed_at: row.time()?,
    })
}
