use std::collections::BTreeSet;

use chancery_domain::{
    AccountId, AcmeAccountId, CertificateId, CertificateRecord, CertificateState, EmailAddress, Issued, IssuerId,
    KeyType, OrderId, ProfileName, ResellerId, Revocation, RevocationReason, Timestamp,
};

use super::evidence::{read_identifiers, write_identifiers};
use super::order::read_via;
use crate::error::StoreError;
use crate::tx::{Columns, Tx};
use crate::value::params;

/// A draft that was stored before it was signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftRow {
    pub issuer: IssuerId,
    pub serial: String,
    pub tbs: Vec<u8>,
}

/// A certificate as it is handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Downloadable {
    pub certificate: CertificateRecord,
    /// Who ordered it through ACME.
    pub acme_account: Option<AcmeAccountId>,
    /// None before it is issued.
    pub der: Option<Vec<u8>>,
}

/// A revoked certificate as a CRL lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrlEntry {
    pub serial: String,
    pub revoked_at: Timestamp,
    pub reason: RevocationReason,
}

/// What there is to say of a serial number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Issued,
    Revoked {
        at: Timestamp,
        reason: RevocationReason,
    },
    /// No certificate has it.
    NotIssued,
}

/// What `read` reads, but for the e-mail address of the account, which comes last.
macro_rules! columns {
    () => {
        "certificates.id, order_id, certificates.reseller_id, account_id, certificates.kid, via,
    profile, identifiers, state, state_at, issuer_id, serial, subject, key_type, not_before, not_after, fingerprint,
    issued_at, revoked_at, revocation_reason, revocation_comment, pending_until, certificates.created_at, certificates.updated_at,
    certificates.version"
    };
}

/// [`OWN`](super::OWN), where accounts are read as well.
const QUALIFIED_OWN: &str = "certificates.id = ?1 AND certificates.reseller_id || '' = ?2";
pub(super) const SELECT: &str = concat!(
    "SELECT ",
    columns!(),
    ", accounts.email FROM certificates JOIN accounts ON accounts.id = certificates.account_id"
);

/// What `read` reads, of rows that a statement changes: no other table can be joined to those.
const RETURNING: &str =
    concat!("RETURNING ", columns!(), ", (SELECT email FROM accounts WHERE accounts.id = certificates.account_id)");

impl Tx<'_> {
    /// Adds the row of a certificate that has just been ordered.
    pub fn insert_certificate(
        &mut self,
        certificate: &CertificateRecord,
        external_id: Option<&str>,
    ) -> Result<(), StoreError> {
        let CertificateState::Pending { until: pending_until } = certificate.state else {
            return Err(StoreError::corrupt("a new certificate that is not pending"));
        };
        self.put(
            "INSERT INTO certificates (id, order_id, reseller_id, account_id, kid, via, profile, identifiers,
             external_id, state, state_at, created_at, updated_at, version, pending_until)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'pending', ?10, ?10, ?11, ?12, ?13)",
            params![
                certificate.id,
                certificate.order,
                certificate.reseller,
                certificate.account,
                certificate.kid,
                certificate.via.as_str(),
                certificate.profile.as_str(),
                write_identifiers(&certificate.identifiers),
                external_id,
                certificate.created_at,
                certificate.updated_at,
                certificate.version,
                pending_until,
            ],
        )?;
        for identifier in &certificate.identifiers {
            self.put(
                "INSERT INTO certificate_names (reseller_id, name, certificate_id) VALUES (?1, ?2, ?3)",
                params![certificate.reseller, identifier.to_string(), certificate.id],
            )?;
        }
        Ok(())
    }

    pub fn certificate(
        &mut self,
        reseller: ResellerId,
        id: CertificateId,
    ) -> Result<Option<CertificateRecord>, StoreError> {
        let sql = format!("{SELECT} WHERE {QUALIFIED_OWN}");
        self.query_one(&sql, params![id, reseller], read)
    }

    /// For the operator, who sees every reseller's.
    pub fn any_certificate(&mut self, id: CertificateId) -> Result<Option<CertificateRecord>, StoreError> {
        self.query_one(&format!("{SELECT} WHERE certificates.id = ?1"), params![id], read)
    }

    /// For the service itself, which works for every reseller.
    pub fn certificate_of_order(&mut self, order: OrderId) -> Result<Option<CertificateRecord>, StoreError> {
        self.query_one(&format!("{SELECT} WHERE order_id = ?1"), params![order], read)
    }

    /// The certificate with this serial number, whosesoever it is.
    pub fn certificate_by_serial(&mut self, serial: &str) -> Result<Option<CertificateRecord>, StoreError> {
        self.query_one(&format!("{SELECT} WHERE serial = ?1"), params![serial], read)
    }

    /// The certificate with this serial number, whosesoever it is, for this unit of work alone until it ends.
    pub fn claim_certificate_by_serial(&mut self, serial: &str) -> Result<Option<CertificateRecord>, StoreError> {
        self.query_claimed("SELECT 1 FROM certificates WHERE serial = ?1", params![serial], |_| Ok(()))?;
        self.certificate_by_serial(serial)
    }

    /// A reseller's certificate with the ACME account that ordered it, and the certificate itself, in DER, once it is there.
    pub fn certificate_to_download(
        &mut self,
        reseller: ResellerId,
        id: CertificateId,
    ) -> Result<Option<Downloadable>, StoreError> {
        let record = SELECT.strip_prefix("SELECT ").unwrap_or(SELECT);
        let sql = format!(
            "SELECT (SELECT acme_account_id FROM orders WHERE orders.id = certificates.order_id), der, {record}
             WHERE {QUALIFIED_OWN}"
        );
        self.query_one(&sql, params![id, reseller], |row| {
            let (acme_account, der) = (row.through_or_none(str::parse::<AcmeAccountId>)?, row.bytes_or_none()?);
            Ok(Downloadable { certificate: read(row)?, acme_account, der })
        })
    }

    /// The certificate itself, in DER, once it is there.
    pub fn certificate_der(&mut self, id: CertificateId) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT der FROM certificates WHERE id = ?1 AND der IS NOT NULL";
        self.query_one(sql, params![id], |row| row.bytes())
    }

    /// Stores the draft that is to be signed, with its serial, which no other may have; it does not lapse with its order any
    /// more. A second draft for one certificate is stale.
    pub fn store_draft(&mut self, id: CertificateId, draft: &DraftRow, now: Timestamp) -> Result<(), StoreError> {
        self.update(
            "certificate",
            id,
            "UPDATE certificates SET issuer_id = ?2, serial = ?3, draft = ?4, pending_until = NULL, updated_at = ?5,
             version = version + 1 WHERE id = ?1 AND state = 'pending' AND draft IS NULL",
            params![id, draft.issuer, draft.serial.as_str(), draft.tbs.as_slice(), now],
        )
    }

    /// Puts another draft with the same serial number in the place of the one that there is. It stays counted by when that
    /// one was stored.
    pub fn replace_draft(&mut self, id: CertificateId, draft: &DraftRow) -> Result<(), StoreError> {
        self.update(
            "certificate",
            id,
            "UPDATE certificates SET draft = ?4, version = version + 1
             WHERE id = ?1 AND state = 'pending' AND issuer_id = ?2 AND serial = ?3 AND draft IS NOT NULL",
            params![id, draft.issuer, draft.serial.as_str(), draft.tbs.as_slice()],
        )
    }

    /// The draft of a certificate that is not issued yet.
    pub fn draft(&mut self, id: CertificateId) -> Result<Option<DraftRow>, StoreError> {
        let sql = "SELECT issuer_id, serial, draft FROM certificates
                   WHERE id = ?1 AND state = 'pending' AND draft IS NOT NULL";
        self.query_one(sql, params![id], |row| {
            Ok(DraftRow { issuer: row.parsed()?, serial: row.text()?, tbs: row.bytes()? })
        })
    }

    /// Drops the draft of a certificate that is not to be signed now, which lapses again with its order.
    pub fn drop_draft(&mut self, id: CertificateId, until: Timestamp, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE certificates SET issuer_id = NULL, serial = NULL, draft = NULL, pending_until = ?2,
                   updated_at = ?3, version = version + 1 WHERE id = ?1 AND state = 'pending'";
        self.put(sql, params![id, until, now])
    }

    /// Keeps the signed certificate in place of its draft.
    pub fn store_issued(
        &mut self,
        id: CertificateId,
        issued: &Issued,
        der: &[u8],
        key_hash: &[u8],
        shard: i64,
    ) -> Result<(), StoreError> {
        self.update(
            "certificate",
            id,
            "UPDATE certificates SET state = 'issued', state_at = ?2, der = ?3, draft = NULL, subject = ?4,
             key_type = ?5, key_hash = ?6, not_before = ?7, not_after = ?8, fingerprint = ?9, issued_at = ?2,
             crl_shard = ?10, updated_at = ?2, version = version + 1
             WHERE id = ?1 AND state = 'pending' AND serial = ?11 AND issuer_id = ?12",
            params![
                id,
                issued.issued_at,
                der,
                issued.subject.as_str(),
                issued.key_type.as_str(),
                key_hash,
                issued.not_before,
                issued.not_after,
                issued.fingerprint.as_str(),
                shard,
                issued.serial.as_str(),
                issued.issuer,
            ],
        )
    }

    /// Has a certificate that nobody has asked for yet lapse earlier, as its order does.
    pub fn lapse_earlier(&mut self, id: CertificateId, until: Timestamp) -> Result<(), StoreError> {
        let sql =
            "UPDATE certificates SET pending_until = ?2 WHERE id = ?1 AND state = 'pending' AND pending_until > ?2";
        self.put(sql, params![id, until])
    }

    /// Notes that the certificate was asked for: without a draft, too, it does not lapse with its order any more.
    pub fn await_certificate(&mut self, id: CertificateId) -> Result<(), StoreError> {
        let sql = "UPDATE certificates SET pending_until = NULL WHERE id = ?1 AND state = 'pending'";
        self.put(sql, params![id])
    }

    /// Marks that nothing came of the order. What has been issued stays.
    pub fn cancel_certificate(&mut self, id: CertificateId, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE certificates SET state = 'cancelled', state_at = ?2, updated_at = ?2, version = version + 1
                   WHERE id = ?1 AND state = 'pending'";
        self.put(sql, params![id, now])
    }

    /// Keeps a revocation, and counts it on the list that it is to be published on.
    pub fn store_revocation(&mut self, certificate: &CertificateRecord) -> Result<(), StoreError> {
        let revocation =
            certificate.revocation().ok_or_else(|| StoreError::corrupt("a certificate that is not revoked"))?;
        self.update(
            "certificate",
            certificate.id,
            "UPDATE certificates SET state = 'revoked', state_at = ?3, revoked_at = ?3, revocation_reason = ?4,
             revocation_comment = ?5, updated_at = ?6, version = version + 1
             WHERE id = ?1 AND version = ?2 AND state IN ('issued', 'revoked')",
            params![
                certificate.id,
                certificate.version,
                revocation.at,
                i64::from(revocation.reason.code()),
                revocation.comment.as_deref(),
                certificate.updated_at,
            ],
        )?;
        self.count_revocation(certificate.id)
    }

    /// Revokes up to `most` certificates of an account that are neither expired nor revoked, counts them on their lists,
    /// and counts them off as active; gives them as they are now.
    pub fn revoke_some(
        &mut self,
        account: AccountId,
        reason: RevocationReason,
        now: Timestamp,
        most: u32,
    ) -> Result<Vec<CertificateRecord>, StoreError> {
        let sql = format!(
            "UPDATE certificates SET state = 'revoked', state_at = ?2, revoked_at = ?2, revocation_reason = ?3,
             updated_at = ?2, version = version + 1
             WHERE id IN (SELECT id FROM certificates WHERE account_id = ?1 AND state = 'issued' AND not_after >= ?2
             ORDER BY not_after LIMIT ?4) AND state = 'issued' {RETURNING}, crl_shard"
        );
        let params = params![account, now, i64::from(reason.code()), most];
        let revoked = self.query(&sql, params, |row| Ok((read(row)?, row.int()?)))?;
        let list = |(certificate, shard): &(CertificateRecord, i64)| Some((certificate.issued()?.issuer, *shard));
        let lists: BTreeSet<_> = revoked.iter().filter_map(list).collect();
        // Certificates before lists, as with a single one, and each list once, sorted: no two units wait for each other.
        for (issuer, shard) in lists {
            self.count_change(issuer, shard)?;
        }
        let revoked: Vec<_> = revoked.into_iter().map(|(certificate, _)| certificate).collect();
        let ends = revoked.iter().filter_map(|certificate| Some(certificate.issued()?.not_after));
        self.count_all_revoked(account, ends)?;
        Ok(revoked)
    }

    /// The hash of a certificate's public key; also where it is only shown to logs yet.
    pub fn key_hash(&mut self, id: CertificateId) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT COALESCE(key_hash, (SELECT key_hash FROM precertificates
                   WHERE precertificates.serial = certificates.serial)) FROM certificates WHERE id = ?1";
        Ok(self.query_one(sql, params![id], |row| row.bytes_or_none())?.flatten())
    }

    /// A certificate, or what is shown to logs for it, in DER.
    pub fn signed(&mut self, id: CertificateId) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT COALESCE(der, (SELECT der FROM precertificates
                   WHERE precertificates.serial = certificates.serial)) FROM certificates WHERE id = ?1";
        Ok(self.query_one(sql, params![id], |row| row.bytes_or_none())?.flatten())
    }

    /// What is known of a serial number of an issuer. One that was drawn for a draft is not issued, unless logs were shown
    /// what it is to be.
    pub fn standing(&mut self, issuer: IssuerId, serial: &str) -> Result<Standing, StoreError> {
        let sql = "SELECT state, revoked_at, revocation_reason FROM certificates WHERE serial = ?1 AND issuer_id = ?2";
        let found = self.query_one(sql, params![serial, issuer], |row| {
            let (state, at, reason) = (row.text()?, row.time_or_none()?, row.int_or_none()?);
            match (state.as_str(), at, reason) {
                ("issued", None, None) => Ok(Standing::Issued),
                ("revoked", Some(at), Some(reason)) => Ok(Standing::Revoked { at, reason: read_reason(reason)? }),
                ("pending" | "cancelled", None, None) => Ok(Standing::NotIssued),
                _ => Err(StoreError::corrupt("certificates: a revocation that does not fit the state")),
            }
        })?;
        match found.unwrap_or(Standing::NotIssued) {
            Standing::NotIssued => self.precertificate_standing(issuer, serial),
            known => Ok(known),
        }
    }

    /// The revoked certificates of a shard that had not expired before `since`, by serial.
    pub(super) fn revoked(
        &mut self,
        issuer: IssuerId,
        shard: i64,
        since: Timestamp,
    ) -> Result<Vec<CrlEntry>, StoreError> {
        let sql = "SELECT serial, revoked_at, revocation_reason FROM certificates
                   WHERE issuer_id = ?1 AND crl_shard = ?2 AND revoked_at IS NOT NULL AND not_after >= ?3 ORDER BY serial";
        self.query(sql, params![issuer, shard, since], read_entry)
    }
}

pub(super) fn read_entry(row: &mut Columns<'_>) -> Result<CrlEntry, StoreError> {
    Ok(CrlEntry { serial: row.text()?, revoked_at: row.time()?, reason: read_reason(row.int()?)? })
}

pub(super) fn read(row: &mut Columns<'_>) -> Result<CertificateRecord, StoreError> {
    let id = row.parsed()?;
    let order = row.parsed()?;
    let reseller = row.parsed()?;
    let account = row.parsed()?;
    let kid = row.parsed()?;
    let via = row.through(read_via)?;
    let profile = row.through(ProfileName::parse)?;
    let identifiers = row.through(read_identifiers)?;
    let state = read_state(row)?;
    Ok(CertificateRecord {
        id,
        order,
        reseller,
        account,
        kid,
        via,
        profile,
        identifiers,
        state,
        created_at: row.time()?,
        updated_at: row.time()?,
        version: row.int()?,
        email: row.through(EmailAddress::parse)?,
    })
}

/// From `state` to `revocation_comment`.
fn read_state(row: &mut Columns<'_>) -> Result<CertificateState, StoreError> {
    let (state, at) = (row.text()?, row.time()?);
    let issuer = row.through_or_none(str::parse::<IssuerId>)?;
    let serial = row.text_or_none()?;
    let subject = row.text_or_none()?;
    let key_type = row.through_or_none(str::parse::<KeyType>)?;
    let (not_before, not_after) = (row.time_or_none()?, row.time_or_none()?);
    let fingerprint = row.text_or_none()?;
    let issued_at = row.time_or_none()?;
    let (revoked_at, reason, comment) = (row.time_or_none()?, row.int_or_none()?, row.text_or_none()?);
    let until = row.time_or_none()?;
    let issued = || {
        Some(Issued {
            issuer: issuer?,
            serial: serial?,
            subject: subject?,
            key_type: key_type?,
            not_before: not_before?,
            not_after: not_after?,
            fingerprint: fingerprint?,
            issued_at: issued_at?,
        })
    };
    let incomplete = || StoreError::corrupt("certificates: an issued one without all of its columns");
    match state.as_str() {
        "pending" => Ok(CertificateState::Pending { until }),
        "cancelled" => Ok(CertificateState::Cancelled { at }),
        "issued" => Ok(CertificateState::Issued(issued().ok_or_else(incomplete)?)),
        "revoked" => {
            let reason = read_reason(reason.ok_or_else(incomplete)?)?;
            let revocation = Revocation { at: revoked_at.ok_or_else(incomplete)?, reason, comment };
            Ok(CertificateState::Revoked { issued: issued().ok_or_else(incomplete)?, revocation })
        }
        other => Err(StoreError::corrupt(format!("certificates.state {other}"))),
    }
}

pub(super) fn read_reason(code: i64) -> Result<RevocationReason, StoreError> {
    RevocationReason::from_code(code).ok_or_else(|| StoreError::corrupt("a revocation reason"))
}
