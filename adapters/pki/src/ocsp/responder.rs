//! The responder that signs OCSP answers: its key, and the certificate by which a CA vouches for it.

use std::sync::Arc;

use aws_lc_rs::digest;
use chancery_domain::RevocationReason;
use der::Encode;

use super::{
    request::{CertId, HashAlgorithm, OcspRequest},
    response::{self, OcspFailure},
};
use crate::{
    certificate::Certificate,
    error::{IssuerError, OcspError, PkiError},
    keys::Signer,
    serial::Serial,
};

const DAY: i64 = 86_400;

/// How long an answer may stand (Baseline Requirements section 4.9.10).
const MAX_DAYS: i64 = 10;

/// The state of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateStatus {
    /// It was issued and is not revoked. Nothing else is ever good.
    Good,
    /// It is revoked.
    Revoked {
        /// Since when, in Unix seconds.
        at: i64,
        /// Why.
        reason: RevocationReason,
    },
    /// It was never issued.
    Unknown,
}

/// When an answer is made, and for how long it stands; Unix seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OcspTimes {
    /// When the answer is signed.
    pub produced_at: i64,
    /// When the states were known to be right.
    pub this_update: i64,
    /// When newer answers are there at the latest: within ten days, and before the responder's certificate ends.
    pub next_update: i64,
}

/// Answers for one issuer with a key and a certificate of its own (RFC 6960 section 2.6). Cheap to clone.
#[derive(Clone)]
pub struct Responder {
    signer: Arc<dyn Signer>,
    certificate: Arc<Certificate>,
    key_hash: [u8; 20],
    issuer: IssuerHashes,
}

#[derive(Clone)]
struct IssuerHashes {
    name: Vec<u8>,
    key: Vec<u8>,
}

impl Responder {
    /// Joins a responder's certificate and key, if they belong together and the certificate is one that this issuer
    /// delegates its answers to.
    pub fn new(issuer: &Certificate, certificate: Certificate, signer: Arc<dyn Signer>) -> Result<Self, PkiError> {
        if certificate.spki()? != signer.spki() {
            return Err(IssuerError::WrongKey.into());
        }
        if !certificate.is_ocsp_responder()? || !certificate.was_signed_by(issuer)? {
            return Err(OcspError::NotDelegated.into());
        }
        let key_hash = hash(HashAlgorithm::Sha1, &certificate.public_key_bits());
        let issuer = IssuerHashes {
            name: issuer.subject().to_der().map_err(PkiError::Encoding)?,
            key: issuer.public_key_bits(),
        };
        Ok(Self {
            signer,
            key_hash: key_hash.try_into().expect("SHA-1 has 20 bytes"),
            certificate: Arc::new(certificate),
            issuer,
        })
    }

    /// Its certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Whether this is about a certificate of its issuer.
    pub fn answers_for(&self, id: &CertId) -> bool {
        id.hash.is_some_and(|algorithm| {
            hash(algorithm, &self.issuer.name) == id.issuer_name_hash
                && hash(algorithm, &self.issuer.key) == id.issuer_key_hash
        })
    }

    /// Whether all of a request is about certificates of its issuer. Of others it knows nothing, and does not sign
    /// `unknown` for what another has issued: it is not authorized to say (RFC 6960 section 2.3).
    pub fn answers(&self, request: &OcspRequest) -> bool {
        request.certificates.iter().all(|id| self.answers_for(id))
    }

    /// The serial numbers of its issuer that a request asks about, for looking them up beforehand.
    pub fn asked_about(&self, request: &OcspRequest) -> Vec<Serial> {
        let ours = request.certificates.iter().filter(|id| self.answers_for(id));
        ours.filter_map(CertId::serial).collect()
    }

    /// Answers about every certificate of the request what `status` says of it, and `unknown` for a serial number that
    /// was not drawn here.
    ///
    /// A request about a certificate of another issuer is answered with `unauthorized`. The nonce is repeated.
    pub fn respond(
        &self,
        request: &OcspRequest,
        times: OcspTimes,
        mut status: impl FnMut(&Serial) -> CertificateStatus,
    ) -> Result<Vec<u8>, PkiError> {
        let lasts = times.next_update.saturating_sub(times.this_update);
        let certificate_ends = self.certificate.not_after();
        if !(1..=MAX_DAYS * DAY).contains(&lasts) || times.next_update > certificate_ends {
            return Err(OcspError::NextUpdate { certificate_ends }.into());
        }
        if !self.answers(request) {
            return Ok(OcspFailure::Unauthorized.to_der());
        }
        let single = |id: &CertId| {
            let status = id.serial().map_or(CertificateStatus::Unknown, |serial| status(&serial));
            response::single(id, status, times.this_update, times.next_update)
        };
        let singles = request.certificates.iter().map(single).collect::<Result<Vec<_>, _>>()?;
        let data = response::data(&self.key_hash, times.produced_at, &singles, request.nonce.as_deref())?;
        response::sign(&data, &*self.signer, self.certificate.as_der())
    }
}

fn hash(algorithm: HashAlgorithm, bytes: &[u8]) -> Vec<u8> {
    let algorithm = match algorithm {
        HashAlgorithm::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
        HashAlgorithm::Sha256 => &digest::SHA256,
    };
    digest::digest(algorithm, bytes).as_ref().to_vec()
}
