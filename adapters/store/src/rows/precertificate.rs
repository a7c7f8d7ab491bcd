//! What was signed for logs. It has the serial number of the certificate that is to come, and is answered for like one.

use chancery_domain::{CertificateId, IssuerId, OrderId, ResellerId, RevocationReason, Timestamp};

use super::certificate::{CrlEntry, Standing};
use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::params;

/// A precertificate, with what has to be known of it when nothing else of its order is there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrecertificateRow {
    pub serial: String,
    pub issuer: IssuerId,
    pub certificate: CertificateId,
    pub reseller: ResellerId,
    pub order: OrderId,
    pub shard: i64,
    pub der: Vec<u8>,
    pub not_after: Timestamp,
    pub signed_at: Timestamp,
}

/// A precertificate that waits for its certificate, and what has become of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPrecertificate {
    pub serial: String,
    pub issuer: IssuerId,
    pub reseller: ResellerId,
    pub order: OrderId,
    pub shard: i64,
    pub fate: Fate,
}

/// What has become of the certificate that a precertificate was signed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It may still come.
    Awaited,
    /// It is there.
    Issued,
    /// It will not come: its order has ended, or is issued with another serial number.
    GivenUp,
}

/// Nothing can be said of why: nobody asked for it.
const REASON: RevocationReason = RevocationReason::Unspecified;

impl Tx<'_> {
    /// Keeps what was signed, before anybody else has it.
    pub fn store_precertificate(&mut self, row: &PrecertificateRow) -> Result<(), StoreError> {
        let sql =
            "INSERT INTO precertificates (serial, issuer_id, certificate_id, reseller_id, order_id, crl_shard, der,
                   not_after, signed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING";
        let params = params![
            row.serial.as_str(),
            row.issuer,
            row.certificate,
            row.reseller,
            row.order,
            row.shard,
            row.der.as_slice(),
            row.not_after,
            row.signed_at,
        ];
        self.put(sql, params)
    }

    /// What was signed with this serial number.
    pub fn precertificate(&mut self, serial: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.query_one("SELECT der FROM precertificates WHERE serial = ?1", params![serial], |row| row.bytes())
    }

    /// Up to `most` of those that were waiting for their certificates, with serial numbers beyond this one.
    pub fn open_precertificates(&mut self, after: &str, most: u32) -> Result<Vec<OpenPrecertificate>, StoreError> {
        let sql = "SELECT precertificates.serial, precertificates.issuer_id, precertificates.reseller_id,
                   precertificates.order_id, precertificates.crl_shard, certificates.state
                   FROM precertificates LEFT JOIN certificates ON certificates.id = precertificates.certificate_id
                   AND certificates.serial = precertificates.serial
                   WHERE given_up_at IS NULL AND precertificates.serial > ?1 ORDER BY precertificates.serial LIMIT ?2";
        self.query(sql, params![after, most], |row| {
            Ok(OpenPrecertificate {
                serial: row.text()?,
                issuer: row.parsed()?,
                reseller: row.parsed()?,
                order: row.parsed()?,
                shard: row.int()?,
                fate: match row.text_or_none()?.as_deref() {
                    Some("pending") => Fate::Awaited,
                    Some("issued" | "revoked") => Fate::Issued,
                    Some(_) | None => Fate::GivenUp,
                },
            })
        })
    }

    /// Forgets one whose certificate is there: that answers for itself.
    pub fn forget_precertificate(&mut self, serial: &str) -> Result<(), StoreError> {
        self.execute("DELETE FROM precertificates WHERE serial = ?1", params![serial]).map(drop)
    }

    /// Revokes one that no certificate will come of, and counts that on the list it is to be published on. Says whether
    /// it was done just now.
    pub fn give_up_precertificate(&mut self, open: &OpenPrecertificate, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE precertificates SET given_up_at = ?2 WHERE serial = ?1 AND given_up_at IS NULL";
        let done = self.execute(sql, params![open.serial.as_str(), now])? == 1;
        if done {
            self.count_change(open.issuer, open.shard)?;
        }
        Ok(done)
    }

    /// Deletes up to `most` that were given up and ended before `from`, once each has been on a list after its end (RFC 5280
    /// section 3.3); says how many.
    pub fn delete_precertificates(&mut self, from: Timestamp, most: u32) -> Result<u64, StoreError> {
        let sql = "DELETE FROM precertificates WHERE serial IN (SELECT serial FROM precertificates
                   WHERE given_up_at IS NOT NULL AND not_after < ?1 AND NOT EXISTS (SELECT 1 FROM crls
                   WHERE crls.issuer_id = precertificates.issuer_id AND crls.shard = precertificates.crl_shard
                   AND crls.scheduled_at <= precertificates.not_after) ORDER BY not_after LIMIT ?2)";
        self.execute(sql, params![from, most])
    }

    /// What is known of a serial number that no certificate has.
    pub(super) fn precertificate_standing(&mut self, issuer: IssuerId, serial: &str) -> Result<Standing, StoreError> {
        let sql = "SELECT given_up_at FROM precertificates WHERE serial = ?1 AND issuer_id = ?2";
        let found = self.query_one(sql, params![serial, issuer], |row| row.time_or_none())?;
        Ok(match found {
            Some(Some(at)) => Standing::Revoked { at, reason: REASON },
            Some(None) => Standing::Issued,
            None => Standing::NotIssued,
        })
    }

    /// Those of a shard that were given up and had not ended before `since`.
    pub(super) fn given_up(
        &mut self,
        issuer: IssuerId,
        shard: i64,
        since: Timestamp,
    ) -> Result<Vec<CrlEntry>, StoreError> {
        let sql = "SELECT serial, given_up_at FROM precertificates
                   WHERE issuer_id = ?1 AND crl_shard = ?2 AND given_up_at IS NOT NULL AND not_after >= ?3 ORDER BY serial";
        self.query(sql, params![issuer, shard, since], |row| {
            Ok(CrlEntry { serial: row.text()?, revoked_at: row.time()?, reason: REASON })
        })
    }
}
