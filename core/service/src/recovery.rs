//! Certificates that a CA of ours has signed, and the store knows nothing of.
//!
//! A database that was put back from a copy does not know what was issued after it, and whoever got hold of a CA's key can
//! sign what no database has seen. The signature shows whose such a certificate is. Once somebody has brought it, it is
//! kept and answered for: OCSP knows it, and it can be revoked. It belongs to no order and no reseller.

use aws_lc_rs::digest::{SHA256, digest};
use chancery_domain::{CertificateRecord, CertificateState, IssuerId, Revocation, RevocationReason, Timestamp};
use chancery_pki::{Certificate, KeptCrl, RevokedCertificate, Serial};
use chancery_store::{IssuerKind, IssuerRecord, PrecertificateRow, RecoveredCertificate, RecoveredRow, Tx};
use serde_json::json;

use crate::caller::{Actor, Origin};
use crate::error::ServiceError;
use crate::kernel::Kernel;
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
    /// A CA of ours has signed it, but with a serial number that was never drawn here: somebody else has its key.
    StrangeSerial,
}

/// What the store knows of a serial number already.
pub(crate) enum Known {
    Certificate(Box<CertificateRecord>),
    /// What was signed for logs.
    Precertificate,
    /// It is that of a CA.
    Ca(Box<IssuerRecord>),
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

    fn ca_with(&self, serial: &str) -> Option<&IssuerRecord> {
        let has = |ca: &Certificate| ca.serial().is_some_and(|own| own.to_string() == serial);
        self.signer(has)
    }

    /// What there is to keep of a certificate, if it is to be answered for.
    pub(crate) fn recognise(&self, kernel: &Kernel, certificate: &Certificate) -> Result<RecoveredRow, NotTaken> {
        let signer = self.signer(|ca| certificate.was_signed_by(ca).unwrap_or(false)).ok_or(NotTaken::NotOurs)?;
        if certificate.is_ocsp_responder().unwrap_or(false) {
            return Err(NotTaken::Responder);
        }
        let serial = certificate.serial().ok_or(NotTaken::StrangeSerial)?;
        let key = certificate.spki().map_err(|_| NotTaken::NotOurs)?;
        let found = RecoveredCertificate {
            der: certificate.as_der().to_vec(),
            key_hash: digest(&SHA256, &key).as_ref().to_vec(),
        };
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

    /// What is known of a serial number without anything having been brought.
    pub(crate) fn known(&self, tx: &mut Tx<'_>, serial: &str) -> Result<Option<Known>, ServiceError> {
        if let Some(ca) = self.ca_with(serial) {
            return Ok(Some(Known::Ca(Box::new(ca.clone()))));
        }
        let certificate = tx.certificate_by_serial(serial)?;
        // One whose order has ended was not signed as far as the store knows, and it was as this shows.
        let certificate = certificate.filter(|known| !matches!(known.state, CertificateState::Cancelled { .. }));
        Ok(match certificate {
            Some(certificate) => Some(Known::Certificate(Box::new(certificate))),
            None => tx.precertificate(serial)?.map(|_| Known::Precertificate),
        })
    }
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
    kernel.audit_as(tx, None, actor, origin, "certificate.recover", row.serial.clone(), &detail)?;
    // A list may have said before that its key is compromised, and which key that is comes with the certificate.
    let told = tx.recovered(&row.serial)?.and_then(|kept| Some((kept.revoked?, kept.found?)));
    if let Some(((_, reason), found)) = told {
        block_if_compromised(kernel, tx, Some(&found.key_hash), reason)?;
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
    if block_if_compromised(kernel, tx, Some(&shown.key_hash), *reason)? || new {
        let detail = json!({"serial": shown.serial, "reason": reason.as_str()});
        let (reseller, order) = (Some(shown.reseller), shown.order.to_string());
        kernel.audit_as(tx, reseller, actor, origin, "precertificate.revoke", order, &detail)?;
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
    let Revocation { at, reason, comment } = revocation;
    let fate = match row.not_after < kernel.now() {
        true => UnorderedFate::Expired,
        false if tx.revoke_recovered(&row.serial, *reason, *at)? => UnorderedFate::Revoked,
        false => UnorderedFate::Already,
    };
    let key_hash = row.found.as_ref().map(|found| found.key_hash.as_slice());
    if block_if_compromised(kernel, tx, key_hash, *reason)? || fate == UnorderedFate::Revoked {
        let names = row.found.as_ref().map(|found| names_of(&found.der));
        let detail = json!({"serial": row.serial, "names": names, "reason": reason.as_str(), "comment": comment});
        kernel.audit_as(tx, None, actor, origin, "recovered.revoke", row.serial.clone(), &detail)?;
    }
    Ok(fate)
}

/// Whether the key is blocked now, and was not before.
fn block_if_compromised(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    key_hash: Option<&[u8]>,
    reason: RevocationReason,
) -> Result<bool, ServiceError> {
    match (key_hash, reason) {
        (Some(hash), RevocationReason::KeyCompromise) => Ok(tx.block_key(hash, reason.as_str(), kernel.now())?),
        _ => Ok(false),
    }
}

/// For those who read of it.
pub(crate) fn names_of(der: &[u8]) -> Vec<String> {
    let names = Certificate::from_der(der).and_then(|certificate| certificate.identifiers());
    names.unwrap_or_default().iter().map(ToString::to_string).collect()
}
