//! Revocation by those who may ask for it (RFC 8555 section 7.6): who ordered the certificate, who controls all of its
//! names, or who has its key.

use chancery_domain::{CertificateRecord, CertificateState, Identifier, Revocation, RevocationReason};
use chancery_jose::Jwk;
use chancery_pki::{Certificate, is_precertificate_of};
use chancery_store::{Store, Tx};

use super::{Acme, AcmeCaller, AcmeError, require_still};
use crate::caller::{Actor, Origin};
use crate::certificates::{Revoking, revoke};
use crate::error::ServiceError;
use crate::kernel::Kernel;
use crate::orders::has_shown;
use crate::recovery::{self, Known, OurCas, UnorderedFate};

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
        let parsed = Certificate::from_der(&request.certificate)
            .and_then(|parsed| Ok((parsed.info()?, parsed.spki()?, parsed.identifiers()?, parsed)));
        let (info, spki, names, certificate) = parsed.map_err(|error| {
            AcmeError::Malformed(format!("`certificate` must be the DER of a certificate in base64url: {error}"))
        })?;
        let brought = Brought { spki, names, certificate };
        match self.revoke_known(&who, &request, info.serial, brought.clone()).await {
            Err(ServiceError::Acme(AcmeError::NotFound(_))) => self.revoke_lost(who, request.reason, brought).await,
            done => done,
        }
    }

    async fn revoke_known(
        &self,
        who: &Revoker,
        request: &RevocationRequest,
        serial: String,
        brought: Brought,
    ) -> Result<(), ServiceError> {
        let (kernel, who, request) = (self.kernel.clone(), who.clone(), request.clone());
        who.store(&self.kernel)
            .write(move |tx| {
                let found = find(tx, &serial, &request.certificate)?;
                let right = right(&kernel, tx, &who, Some(&found), &brought)?;
                require_believable(right, request.reason)?;
                let (actor, origin) = who.by();
                let revocation = Revocation { at: kernel.now(), reason: request.reason, comment: None };
                Ok::<_, ServiceError>(match revoke(&kernel, tx, (&actor, origin), found, revocation)? {
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

    /// One that the store knows nothing of, though a CA of ours has signed it. Who says so has shown a right to it, and
    /// does not wait for an operator.
    async fn revoke_lost(&self, who: Revoker, reason: RevocationReason, brought: Brought) -> Result<(), ServiceError> {
        let store = who.store(&self.kernel);
        let cas = OurCas::read(store.read(|tx| Ok::<_, ServiceError>(tx.issuers()?)).await?)?;
        let row = cas.recognise(&self.kernel, &brought.certificate).map_err(|_| not_here())?;
        // Whoever has the key of a CA that is revoked could fill its list.
        if cas.is_revoked(row.issuer) || recovery::is_of_ca(&row) {
            return Err(not_here().into());
        }
        let kernel = self.kernel.clone();
        store
            .write(move |tx| {
                let known = cas.known(tx, &row)?;
                if matches!(known, Some(Known::Ca(_) | Known::Certificate(_) | Known::Forged)) {
                    return Err(not_here().into());
                }
                let right = right(&kernel, tx, &who, None, &brought)?;
                require_believable(right, reason)?;
                let (actor, origin) = who.by();
                let by = (&actor, origin);
                let revocation = Revocation { at: kernel.now(), reason, comment: None };
                match known {
                    None if recovery::is_over(&kernel, &row) => {
                        recovery::blame_expired(&kernel, tx, by, &row, &revocation)?;
                        return Ok(Err(expired().into()));
                    }
                    None | Some(Known::Recovered(_)) => drop(recovery::keep(&kernel, tx, by, &row)?),
                    Some(_) => {}
                }
                Ok::<_, ServiceError>(match recovery::revoke(&kernel, tx, by, &row.serial, &revocation)? {
                    Some((_, UnorderedFate::Revoked)) => Ok(()),
                    Some((_, UnorderedFate::Already)) => Err(AcmeError::AlreadyRevoked.into()),
                    Some((_, UnorderedFate::Expired)) => Err(expired().into()),
                    Some((_, UnorderedFate::Unreasoned)) | None => {
                        Err(ServiceError::internal("a certificate that was kept a moment ago"))
                    }
                })
            })
            .await?
    }
}

/// A certificate as it was brought.
#[derive(Clone)]
struct Brought {
    certificate: Certificate,
    spki: Vec<u8>,
    /// None where it has names of other kinds as well, which nobody here can control.
    names: Option<Vec<Identifier>>,
}

impl Revoker {
    /// The store for the units of work of the request.
    fn store(&self, kernel: &Kernel) -> Store {
        match self {
            Self::Account(by) => kernel.store_of(by.caller.reseller),
            Self::Key(..) => kernel.anonymous_store(),
        }
    }

    fn by(&self) -> (Actor, &Origin) {
        match self {
            Self::Account(by) => (by.caller.actor.clone(), &by.caller.origin),
            Self::Key(key, origin) => (Actor::Acme(format!("key {}", key.thumbprint())), origin),
        }
    }
}

/// The certificate that is the same to the last bit; or the one whose precertificate this is, which logs show.
fn find(tx: &mut Tx<'_>, serial: &str, der: &[u8]) -> Result<CertificateRecord, ServiceError> {
    // What has the serial number of an order that came to nothing is something else.
    let found = tx.certificate_by_serial(serial)?.filter(|found| !found.is_cancelled());
    let found = found.ok_or_else(not_here)?;
    match tx.certificate_der(found.id)? {
        Some(own) if own == der || is_shown_for(tx, &found, &own, der)? => Ok(found),
        None if tx.precertificate(serial)?.is_some_and(|shown| shown.der == der) => Ok(found),
        Some(_) | None => Err(not_here().into()),
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

fn require_believable(right: Right, reason: RevocationReason) -> Result<(), ServiceError> {
    match (right, reason) {
        (Right::OfNames, RevocationReason::KeyCompromise) => Err(AcmeError::BadRevocationReason(NOT_THEIR_KEY).into()),
        _ => Ok(()),
    }
}

fn right(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    who: &Revoker,
    known: Option<&CertificateRecord>,
    brought: &Brought,
) -> Result<Right, ServiceError> {
    let refuse = |why: &str| Err(AcmeError::Unauthorized(why.to_owned()).into());
    match who {
        Revoker::Key(key, _) if key.to_spki() == brought.spki => Ok(Right::OfCertificate),
        Revoker::Key(..) => refuse("the request is signed by another key than that of the certificate"),
        Revoker::Account(by) => {
            require_still(tx, &by.caller)?;
            let order = known.map(|known| tx.order(known.reseller, known.order)).transpose()?.flatten();
            if order.and_then(|order| order.acme_account) == Some(by.account.id) {
                return Ok(Right::OfCertificate);
            }
            let names = known.map_or(brought.names.as_ref(), |known| Some(&known.identifiers));
            // Who controls no name of it controls all of none.
            let mut shown = names.is_some_and(|names| !names.is_empty());
            for name in names.into_iter().flatten() {
                shown = shown && has_shown(&kernel.settings, tx, &by.account, name, kernel.now())?;
            }
            match shown {
                true => Ok(Right::OfNames),
                false => refuse(
                    "another account ordered the certificate, and this one has no valid authorization for each of its \
                     names; authorize them first, or sign with the key of the certificate",
                ),
            }
        }
    }
}

fn not_here() -> AcmeError {
    AcmeError::NotFound("the certificate was not issued here".to_owned())
}

/// Why a precertificate cannot be revoked whose certificate is not issued yet.
fn not_yet() -> AcmeError {
    AcmeError::Malformed("the certificate is not issued yet; ask again when it is".to_owned())
}

fn expired() -> AcmeError {
    AcmeError::Malformed("the certificate has expired, so there is nothing to revoke".to_owned())
}
