//! Certificates of ours that the database knew nothing of, and that somebody brought: from a file, from logs, or named by a
//! revocation list. They belong to no order and no reseller, and are answered for like all others.

use std::collections::BTreeSet;

use chancery_domain::{IssuerId, RevocationReason, Timestamp};

use super::certificate::{CrlEntry, Standing, read_entry, read_reason};
use super::precertificate::read_list;
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// The step of the schema that this came with.
const SINCE: i64 = 19;

/// A certificate that was brought back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredRow {
    pub serial: String,
    pub issuer: IssuerId,
    pub shard: i64,
    /// What there is of it; nothing where only a list tells of it.
    pub found: Option<RecoveredCertificate>,
    /// The end of its CA where only a list tells of it.
    pub not_after: Timestamp,
    pub recovered_at: Timestamp,
    pub revoked: Option<(Timestamp, RevocationReason)>,
}

/// The certificate itself, or its precertificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredCertificate {
    pub der: Vec<u8>,
    pub key_hash: Vec<u8>,
}

impl Tx<'_> {
    /// Keeps one that no certificate and no precertificate is known for; says whether anything of it is new. Of one that only
    /// a list told of, the rest is added.
    ///
    /// Programs that know nothing of it would not answer for it: from the first on they do not start on this database.
    pub fn store_recovered(&mut self, row: &RecoveredRow) -> Result<bool, StoreError> {
        let sql = "INSERT INTO recovered_certificates (serial, issuer_id, crl_shard, key_hash, der, not_after,
                   recovered_at, revoked_at, revocation_reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                   ON CONFLICT (serial) DO UPDATE SET key_hash = excluded.key_hash, der = excluded.der,
                   not_after = excluded.not_after
                   WHERE recovered_certificates.der IS NULL AND excluded.der IS NOT NULL";
        let found = row.found.as_ref();
        let params = params![
            row.serial.as_str(),
            row.issuer,
            row.shard,
            found.map(|found| found.key_hash.as_slice()),
            found.map(|found| found.der.as_slice()),
            row.not_after,
            row.recovered_at,
            row.revoked.map(|(at, _)| at),
            row.revoked.map(|(_, reason)| i64::from(reason.code())),
        ];
        let new = self.execute(sql, params)? == 1;
        if new {
            self.shut_out_older_than(SINCE)?;
        }
        if new && row.revoked.is_some() {
            self.count_change(row.issuer, row.shard)?;
        }
        Ok(new)
    }

    /// What was brought back with this serial number.
    pub fn recovered(&mut self, serial: &str) -> Result<Option<RecoveredRow>, StoreError> {
        let sql = "SELECT serial, issuer_id, crl_shard, key_hash, der, not_after, recovered_at, revoked_at,
                   revocation_reason FROM recovered_certificates WHERE serial = ?1";
        self.query_one(sql, params![serial], read)
    }

    /// What was brought back with this serial number, for this unit of work alone until it ends.
    pub fn claim_recovered(&mut self, serial: &str) -> Result<Option<RecoveredRow>, StoreError> {
        self.query_claimed("SELECT 1 FROM recovered_certificates WHERE serial = ?1", params![serial], |_| Ok(()))?;
        self.recovered(serial)
    }

    /// Revokes one; says whether that is new. That its key is compromised replaces another reason, and the time stays.
    pub fn revoke_recovered(
        &mut self,
        serial: &str,
        reason: RevocationReason,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let unless = match reason {
            RevocationReason::KeyCompromise => "revocation_reason = ?3",
            _ => "revoked_at IS NOT NULL",
        };
        let sql = format!(
            "UPDATE recovered_certificates SET revoked_at = COALESCE(revoked_at, ?2), revocation_reason = ?3
             WHERE serial = ?1 AND (revoked_at IS NULL OR NOT ({unless})) RETURNING issuer_id, crl_shard"
        );
        let list = self.query_one(&sql, params![serial, at, i64::from(reason.code())], read_list)?;
        let new = list.is_some();
        self.count_changes(list)?;
        Ok(new)
    }

    /// Has those that are revoked say that their key is compromised.
    pub(super) fn blame_key_for_recovered(&mut self, key_hash: &[u8]) -> Result<(), StoreError> {
        let sql = "UPDATE recovered_certificates SET revocation_reason = ?2 WHERE key_hash = ?1
                   AND revoked_at IS NOT NULL AND revocation_reason <> ?2 RETURNING issuer_id, crl_shard";
        let reason = i64::from(RevocationReason::KeyCompromise.code());
        let lists: BTreeSet<_> = self.query(sql, params![key_hash, reason], read_list)?.into_iter().collect();
        self.count_changes(lists)
    }

    /// Deletes up to `most` that ended before `from`, once each that is revoked has been on a list after its end (RFC 5280
    /// section 3.3); says how many.
    pub fn delete_recovered(&mut self, from: Timestamp, most: u32) -> Result<u64, StoreError> {
        let sql = "DELETE FROM recovered_certificates WHERE serial IN (SELECT serial FROM recovered_certificates
                   WHERE not_after < ?1 AND NOT EXISTS (SELECT 1 FROM crls
                   WHERE crls.issuer_id = recovered_certificates.issuer_id
                   AND crls.shard = recovered_certificates.crl_shard
                   AND crls.scheduled_at <= recovered_certificates.not_after) ORDER BY not_after LIMIT ?2)";
        self.execute(sql, params![from, most])
    }

    /// What is known of a serial number that neither a certificate nor a precertificate has.
    pub(super) fn recovered_standing(&mut self, issuer: IssuerId, serial: &str) -> Result<Standing, StoreError> {
        let found = self.recovered(serial)?.filter(|row| row.issuer == issuer);
        Ok(found.map_or(Standing::NotIssued, |row| match row.revoked {
            Some((at, reason)) => Standing::Revoked { at, reason },
            None => Standing::Issued,
        }))
    }

    /// The revoked ones of a shard that had not ended before `since`, by serial.
    pub(super) fn revoked_recovered(
        &mut self,
        issuer: IssuerId,
        shard: i64,
        since: Timestamp,
    ) -> Result<Vec<CrlEntry>, StoreError> {
        let sql = "SELECT serial, revoked_at, revocation_reason FROM recovered_certificates
                   WHERE issuer_id = ?1 AND crl_shard = ?2 AND revoked_at IS NOT NULL AND not_after >= ?3 ORDER BY serial";
        self.query(sql, params![issuer, shard, since], read_entry)
    }
}

fn read(row: &mut Columns<'_>) -> Result<RecoveredRow, StoreError> {
    let (serial, issuer, shard) = (row.text()?, row.parsed()?, row.int()?);
    let found = match (row.bytes_or_none()?, row.bytes_or_none()?) {
        (Some(key_hash), Some(der)) => Some(RecoveredCertificate { der, key_hash }),
        _ => None,
    };
    let (not_after, recovered_at) = (row.time()?, row.time()?);
    let revoked = match (row.time_or_none()?, row.int_or_none()?) {
        (Some(at), Some(reason)) => Some((at, read_reason(reason)?)),
        _ => None,
    };
    Ok(RecoveredRow { serial, issuer, shard, found, not_after, recovered_at, revoked })
}
