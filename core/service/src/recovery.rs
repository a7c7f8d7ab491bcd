//! Certificates that a CA of ours has signed, and the store knows nothing of.
//!
//! A database that was put back from a copy does not know what was issued after it, and whoever got hold of a CA's key can
//! sign what no database has seen. The signature shows whose such a certificate is. Once somebody has brought it, it is
//! kept and answered for: OCSP knows it, and it can be revoked. It belongs to no order and no reseller.

use aws_lc_rs::digest::{SHA256, digest};
use chancery_domain::{Action, CertificateRecord, IssuerId, Revocation, RevocationReason, Timestamp};
use chancery_pki::{Certificate, KeptCrl, RevokedCertificate, Serial};
use chancery_store::{IssuerKind, IssuerRecord, PrecertificateRow, RecoveredCertificate, RecoveredRow, Tx};
use serde_json::json;

use crate::caller::{Actor, Origin};
use crate::certificates::commented;
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::known_keys::block_if_compromised;
use crate::publication::CrlName;

/// Our CAs, to know by their signatures what is theirs.
pub(crate) struct OurCas(Vec<(IssuerRecord, Certificate)>);

/// Why a certificate that was brought is none to answer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// No CA of ours has signed it.
    NotOurs,
    /// It is for an OCSP responder, which nobody asks about.
    Responder,
    /// A CA of ours has signed it, but with a serial number that was never drawn here, or that another one has: somebody else has
    /// its key.
    StrangeSerial,
}

/// What the store knows already of a certificate that was brought, or that a list tells of.
pub(crate) enum Known {
    Certificate(Box<CertificateRecord>),
    /// What was signed for logs.
    Precertificate,
    /// It is that of a CA.
    Ca(Box<IssuerRecord>),
    /// It was brought back before, or a list told of it.
    Recovered(Box<RecoveredRow>),
    /// Another one has its serial number, by another CA or for another key. Nobody here has signed two.
    Forged,
}

impl OurCas {
    pub(crate) fn read(records: Vec<IssuerRecord>) -> Result<Self, ServiceError> {
        let read = |record: IssuerRecord| match Certificate::from_der(&record.certificate) {
            Ok(certificate) => Ok((record, certificate)),
            Err(error) => Err(ServiceError::internal(error)),
        };
        records.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whose list it is.
    pub(crate) fn signer_of_list(&self, list: &KeptCrl) -> Option<&IssuerRecord> {
        self.signer(|ca| list.was_signed_by(ca).unwrap_or(false))
    }

    fn signer(&self, signed: impl Fn(&Certificate) -> bool) -> Option<&IssuerRecord> {
        self.0.iter().find(|(_, ca)| signed(ca)).map(|(record, _)| record)
    }

    pub(crate) fn is_revoked(&self, ca: IssuerId) -> bool {
        self.0.iter().any(|(record, _)| record.id == ca && record.revocation.is_some())
    }

    fn ca_with(&self, serial: &str) -> Option<&(IssuerRecord, Certificate)> {
        self.0.iter().find(|(_, ca)| ca.serial().is_some_and(|own| own.to_string() == serial))
    }

    /// What there is to keep of a certificate, if it is to be answered for.
    pub(crate) fn recognise(&self, kernel: &Kernel, certificate: &Certificate) -> Result<RecoveredRow, NotTaken> {
        let signer = self.signer(|ca| certificate.was_signed_by(ca).unwrap_or(false)).ok_or(NotTaken::NotOurs)?;
        if certificate.is_ocsp_responder().unwrap_or(false) {
            return Err(NotTaken::Responder);
        }
        let serial = certificate.serial().ok_or(NotTaken::StrangeSerial)?;
        let key_hash = hash_of_key(certificate).ok_or(NotTaken::NotOurs)?;
        let found = RecoveredCertificate { der: certificate.as_der().to_vec(), key_hash };
        let urls = certificate.crl_urls().unwrap_or_default();
        Ok(RecoveredRow {
            serial: serial.to_string(),
            issuer: signer.id,
            shard: list_of(kernel, signer, &serial, &urls).column(),
            found: Some(found),
            not_after: Timestamp::from_secs(certificate.not_after()),
            recovered_at: kernel.now(),
            revoked: None,
        })
    }

    /// What a list tells of its certificates, should nothing else tell of them.
    pub(crate) fn told_by(&self, kernel: &Kernel, signer: &IssuerRecord, list: &KeptCrl) -> Vec<RecoveredRow> {
        let now = kernel.now();
        let ca = self.0.iter().find(|(record, _)| record.id == signer.id);
        let not_after = ca.map_or(now, |(_, ca)| Timestamp::from_secs(ca.not_after()));
        let row = |entry: &RevokedCertificate| RecoveredRow {
            serial: entry.serial.to_string(),
            issuer: signer.id,
            shard: list_of(kernel, signer, &entry.serial, &list.addresses).column(),
            found: None,
            not_after,
            recovered_at: now,
            // A clock that was ahead has dated it; lists must not tell of what is to come.
            revoked: Some((Timestamp::from_secs(entry.revoked_at).min(now), entry.reason)),
        };
        list.revoked.iter().map(row).collect()
    }

    /// What is known of it. Whoever has the key of a CA can sign what has the serial number of something else: nothing is known by
    /// its serial number alone.
    pub(crate) fn known(&self, tx: &mut Tx<'_>, row: &RecoveredRow) -> Result<Option<Known>, ServiceError> {
        let serial = row.serial.as_str();
        let key_hash = row.found.as_ref().map(|found| found.key_hash.as_slice());
        let is_same = |issuer: IssuerId, key: Option<&[u8]>| {
            issuer == row.issuer && key.is_none_or(|key| key_hash.is_none_or(|brought| brought == key))
        };
        let known = |is_same: bool, known: Known| Ok(Some(if is_same { known } else { Known::Forged }));
        if let Some((ca, own)) = self.ca_with(serial) {
            let key = hash_of_key(own);
            return known(is_same(ca.parent.unwrap_or(ca.id), key.as_deref()), Known::Ca(Box::new(ca.clone())));
        }
        let certificate = tx.certificate_by_serial(serial)?;
        // One whose order has ended was not signed as far as the store knows, and it was as this shows.
        if let Some(certificate) = certificate.filter(|known| !known.is_cancelled()) {
            let issuer = match certificate.issued() {
                Some(issued) => Some(issued.issuer),
                None => tx.draft(certificate.id)?.map(|draft| draft.issuer),
            };
            let key = tx.key_hash(certificate.id)?;
            let is_same = is_same(issuer.unwrap_or(row.issuer), key.as_deref());
            return known(is_same, Known::Certificate(Box::new(certificate)));
        }
        if let Some(shown) = tx.precertificate(serial)? {
            return known(is_same(shown.issuer, Some(&shown.key_hash)), Known::Precertificate);
        }
        let Some(before) = tx.recovered(serial)? else { return Ok(None) };
        let key = before.found.as_ref().map(|found| found.key_hash.as_slice());
        known(is_same(before.issuer, key), Known::Recovered(Box::new(before.clone())))
    }
}

fn hash_of_key(certificate: &Certificate) -> Option<Vec<u8>> {
    certificate.spki().ok().map(|key| digest(&SHA256, &key).as_ref().to_vec())
}

/// The list that a certificate is to be on: the one that it names itself, or else today's for its serial number.
fn list_of(kernel: &Kernel, signer: &IssuerRecord, serial: &Serial, urls: &[String]) -> CrlName {
    let today = || CrlName::Shard(kernel.settings.issuing.crls(signer.id).shard_of(serial));
    named_list(signer, urls).unwrap_or_else(today)
}

/// The one of a CA's lists that addresses name, which are those of a list itself or of a certificate.
pub(crate) fn named_list(signer: &IssuerRecord, urls: &[String]) -> Option<CrlName> {
    if signer.kind == IssuerKind::Root {
        return Some(CrlName::Root);
    }
    urls.iter().find_map(|url| match url.rsplit('/').next()?.strip_suffix(".crl")?.parse() {
        Ok(shard @ CrlName::Shard(_)) => Some(shard),
        Ok(CrlName::Root) | Err(()) => None,
    })
}

/// Keeps what is not known otherwise, and says whether anything of it is new.
pub(crate) fn keep(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    (actor, origin): (&Actor, &Origin),
    row: &RecoveredRow,
) -> Result<bool, ServiceError> {
    if !tx.store_recovered(row)? {
        return Ok(false);
    }
    let names = row.found.as_ref().map(|found| names_of(&found.der));
    let reason = row.revoked.map(|(_, reason)| reason.as_str());
    let detail = json!({"serial": row.serial, "issuer": row.issuer.to_string(), "names": names, "reason": reason});
    kernel.audit_as(tx, None, actor, origin, Action::CertificateRecover, row.serial.clone(), &detail)?;
    // A list may have said before that its key is compromised, and which key that is comes with the certificate.
    let told = tx.recovered(&row.serial)?.and_then(|kept| Some((kept.revoked?, kept.found?)));
    if let Some(((_, reason), found)) = told {
        block_if_compromised(kernel, tx, Some(&found.key_hash), Some(&found.der), reason)?;
    }
    Ok(true)
}

/// What is signed and belongs to no certificate of an order.
pub(crate) enum Unordered {
    Precertificate(PrecertificateRow),
    Recovered(RecoveredRow),
}

/// What came of one that was to be revoked. Whatever it is, the unit of work must end well: a compromised key is blocked in
/// all cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnorderedFate {
    Revoked,
    Already,
    Expired,
    /// It is a CA's, and that is not revoked for no reason.
    Unreasoned,
}

/// Revokes what has a serial number that no certificate of an order has; none where that is nothing.
pub(crate) fn revoke(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    by: (&Actor, &Origin),
    serial: &str,
    revocation: &Revocation,
) -> Result<Option<(Unordered, UnorderedFate)>, ServiceError> {
    if let Some(shown) = tx.precertificate(serial)? {
        let fate = revoke_precertificate(kernel, tx, by, &shown, revocation)?;
        return Ok(Some((Unordered::Precertificate(shown), fate)));
    }
    let Some(row) = tx.recovered(serial)? else { return Ok(None) };
    let fate = revoke_recovered(kernel, tx, by, &row, revocation)?;
    Ok(Some((Unordered::Recovered(row), fate)))
}

fn revoke_precertificate(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    (actor, origin): (&Actor, &Origin),
    shown: &PrecertificateRow,
    revocation: &Revocation,
) -> Result<UnorderedFate, ServiceError> {
    let Revocation { at, reason, .. } = revocation;
    let new = tx.revoke_precertificate(&shown.serial, *reason, *at)?;
    if block_if_compromised(kernel, tx, Some(&shown.key_hash), Some(&shown.der), *reason)? || new {
        let detail = commented(json!({"serial": shown.serial, "reason": reason.as_str()}), revocation);
        let (reseller, order) = (Some(shown.reseller), shown.order.to_string());
        kernel.audit_as(tx, reseller, actor, origin, Action::PrecertificateRevoke, order, &detail)?;
    }
    Ok(if new { UnorderedFate::Revoked } else { UnorderedFate::Already })
}

fn revoke_recovered(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    (actor, origin): (&Actor, &Origin),
    row: &RecoveredRow,
    revocation: &Revocation,
) -> Result<UnorderedFate, ServiceError> {
    let Revocation { at, reason, .. } = revocation;
    if is_of_ca(row) && *reason == RevocationReason::Unspecified {
        return Ok(UnorderedFate::Unreasoned);
    }
    let fate = match is_over(kernel, row) {
        true => UnorderedFate::Expired,
        false if tx.revoke_recovered(&row.serial, *reason, *at)? => UnorderedFate::Revoked,
        false => UnorderedFate::Already,
    };
    let found = row.found.as_ref();
    let (key_hash, der) = (found.map(|found| found.key_hash.as_slice()), found.map(|found| found.der.as_slice()));
    if block_if_compromised(kernel, tx, key_hash, der, *reason)? || fate == UnorderedFate::Revoked {
        let names = row.found.as_ref().map(|found| names_of(&found.der));
        let detail = json!({"serial": row.serial, "names": names, "reason": reason.as_str()});
        let detail = commented(detail, revocation);
        kernel.audit_as(tx, None, actor, origin, Action::RecoveredRevoke, row.serial.clone(), &detail)?;
    }
    Ok(fate)
}

/// Whether a root has signed it, which signs CAs and nothing else.
pub(crate) fn is_of_ca(row: &RecoveredRow) -> bool {
    row.shard == CrlName::Root.column()
}

pub(crate) fn is_over(kernel: &Kernel, row: &RecoveredRow) -> bool {
    row.not_after < kernel.now()
}

/// What is believed of a certificate that has expired, and is not kept: that others have its key.
pub(crate) fn blame_expired(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    (actor, origin): (&Actor, &Origin),
    row: &RecoveredRow,
    revocation: &Revocation,
) -> Result<(), ServiceError> {
    let Some(found) = &row.found else { return Ok(()) };
    let reason = revocation.reason;
    if block_if_compromised(kernel, tx, Some(&found.key_hash), Some(&found.der), reason)? {
        let detail = json!({"serial": row.serial, "names": names_of(&found.der), "reason": reason.as_str()});
        let detail = commented(detail, revocation);
        kernel.audit_as(tx, None, actor, origin, Action::CertificateBlockKey, row.serial.clone(), &detail)?;
    }
    Ok(())
}

/// For those who read of it.
pub(crate) fn names_of(der: &[u8]) -> Vec<String> {
    let names = Certificate::from_der(der).and_then(|certificate| certificate.identifiers());
    names.unwrap_or_default().unwrap_or_default().iter().map(ToString::to_string).collect()
}
