//! Revocation by those who may ask for it (RFC 8555 section 7.6): who ordered the certificate, who controls all of its
//! names, or who has its key.

use chancery_domain::{CertificateRecord, CertificateState, RevocationReason};
use chancery_jose::Jwk;
use chancery_pki::{Certificate, is_precertificate_of};
use chancery_store::Tx;

use super::{Acme, AcmeCaller, AcmeError, require_still};
use crate::caller::{Actor, Origin};
use crate::certificates::{Revoking, revoke};
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::orders::has_shown;

/// Who asks.
#[derive(Clone, Debug)]
pub enum Revoker {
    Account(Box<AcmeCaller>),
    /// Whoever has the key of the certificate.
    Key(Jwk, Origin),
}

/// What is to be revoked, and why.
#[derive(Clone, Debug)]
pub struct RevocationRequest {
    /// In DER.
    pub certificate: Vec<u8>,
    pub reason: RevocationReason,
}

impl Acme {
    /// Revokes a certificate. That its key is compromised is believed even where it is refused, as it has expired.
    pub async fn revoke(&self, who: Revoker, request: RevocationRequest) -> Result<(), ServiceError> {
        let parsed =
            Certificate::from_der(&request.certificate).and_then(|parsed| Ok((parsed.info()?, parsed.spki()?)));
        let (info, spki) = parsed.map_err(|error| {
            AcmeError::Malformed(format!("`certificate` must be the DER of a certificate in base64url: {error}"))
        })?;
        let kernel = self.kernel.clone();
        self.kernel
            .store
            .write(move |tx| {
                let found = find(tx, &info.serial, &request.certificate)?;
                let right = right(&kernel, tx, &who, &found, &spki)?;
                if right == Right::OfNames && request.reason == RevocationReason::KeyCompromise {
                    return Err(AcmeError::BadRevocationReason(NOT_THEIR_KEY).into());
                }
                let (actor, origin) = match &who {
                    Revoker::Account(by) => (by.caller.actor.clone(), &by.caller.origin),
                    Revoker::Key(key, origin) => (Actor::Acme(format!("key {}", key.thumbprint())), origin),
                };
                Ok::<_, ServiceError>(match revoke(&kernel, tx, (&actor, origin), found, request.reason, None)? {
                    Revoking::Done(_) => Ok(()),
                    Revoking::Already(_) => Err(AcmeError::AlreadyRevoked.into()),
                    // It is in logs, and nothing is issued yet: nothing will be, for a key that is compromised.
                    Revoking::Nothing { certificate, key_is_blocked } => match certificate.state {
                        CertificateState::Pending { .. } if key_is_blocked => Ok(()),
                        CertificateState::Pending { .. } => Err(not_yet().into()),
                        _ => Err(expired().into()),
                    },
                })
            })
            // A refusal does not undo the unit: a key that was blocked stays so.
            .await?
    }
}

/// The certificate that is the same to the last bit; or the one whose precertificate this is, which logs show.
fn find(tx: &mut Tx<'_>, serial: &str, der: &[u8]) -> Result<CertificateRecord, ServiceError> {
    let unknown = || AcmeError::NotFound("the certificate was not issued here".to_owned());
    let found = tx.certificate_by_serial(serial)?.ok_or_else(unknown)?;
    match tx.certificate_der(found.id)? {
        Some(own) if own == der || is_shown_for(tx, &found, &own, der)? => Ok(found),
        None if tx.precertificate(serial)?.is_some_and(|shown| shown.der == der) => Ok(found),
        Some(_) | None => Err(unknown().into()),
    }
}

/// Whether logs were shown this for a certificate.
fn is_shown_for(tx: &mut Tx<'_>, found: &CertificateRecord, own: &[u8], der: &[u8]) -> Result<bool, ServiceError> {
    let Some(issuer) = found.issued().map(|issued| issued.issuer) else { return Ok(false) };
    let Some(issuer) = tx.issuers()?.into_iter().find(|record| record.id == issuer) else { return Ok(false) };
    let spki = Certificate::from_der(&issuer.certificate).and_then(|issuer| issuer.spki());
    Ok(spki.is_ok_and(|spki| is_precertificate_of(der, own, &spki)))
}

/// What gives somebody the right to revoke.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Right {
    /// It is their certificate, or they have shown its key.
    OfCertificate,
    /// They control its names. That tells nothing of its key, which a compromise would bar for everybody and for ever.
    OfNames,
}

const NOT_THEIR_KEY: &str = "another account ordered the certificate: that its key is compromised is believed of that account, or of \
     whoever signs with that key; give another reason";

fn right(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    who: &Revoker,
    certificate: &CertificateRecord,
    spki: &[u8],
) -> Result<Right, ServiceError> {
    let refuse = |why: &str| Err(AcmeError::Unauthorized(why.to_owned()).into());
    match who {
        Revoker::Key(key, _) if key.to_spki() == spki => Ok(Right::OfCertificate),
        Revoker::Key(..) => refuse("the request is signed by another key than that of the certificate"),
        Revoker::Account(by) => {
            require_still(tx, &by.caller)?;
            let order = tx.order(certificate.reseller, certificate.order)?;
            if order.and_then(|order| order.acme_account) == Some(by.account.id) {
                return Ok(Right::OfCertificate);
            }
            for name in &certificate.identifiers {
                if !has_shown(&kernel.settings, tx, &by.account, name, kernel.now())? {
                    return refuse(
                        "another account ordered the certificate, and this one has no valid authorization for each of \
                         its names; authorize them first, or sign with the key of the certificate",
                    );
                }
            }
            Ok(Right::OfNames)
        }
    }
}

/// Of what only logs were shown.
fn not_yet() -> AcmeError {
    AcmeError::Malformed("the certificate is not issued yet; ask again when it is".to_owned())
}

fn expired() -> AcmeError {
    AcmeError::Malformed("the certificate has expired, so there is nothing to revoke".to_owned())
}
