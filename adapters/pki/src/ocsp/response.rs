//! Responses, encoded.

use der::{
    DateTime, Encode,
    asn1::{BitStringRef, GeneralizedTime, ObjectIdentifier},
};
use std::time::Duration;

use super::{request::CertId, responder::CertificateStatus};
use crate::{
    error::{PkiError, ValidityError},
    keys::Signer,
    public_key::verify,
    tlv::tlv,
};

/// id-pkix-ocsp-nonce.
pub(super) const NONCE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.48.1.2");
/// id-pkix-ocsp-basic.
const BASIC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.48.1.1");

const SEQUENCE: u8 = 0x30;
const OCTET_STRING: u8 = 0x04;
const ENUMERATED: u8 = 0x0a;
/// `[n]`, explicit or of something constructed.
const fn context(number: u8) -> u8 {
    0xa0 | number
}

/// Why there is no answer (RFC 6960 section 2.3). Failures are not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OcspFailure {
    /// The request cannot be read.
    #[error("the OCSP request is malformed")]
    MalformedRequest,
    /// Something went wrong here.
    #[error("the OCSP responder failed")]
    InternalError,
    /// Not now.
    #[error("the OCSP responder is busy")]
    TryLater,
    /// The certificates are not of an issuer that is answered for here.
    #[error("the OCSP responder does not answer for this issuer")]
    Unauthorized,
}

impl OcspFailure {
    /// The response that says so.
    pub fn to_der(self) -> Vec<u8> {
        let status = match self {
            Self::MalformedRequest => 1,
            Self::InternalError => 2,
            Self::TryLater => 3,
            Self::Unauthorized => 6,
        };
        vec![SEQUENCE, 3, ENUMERATED, 1, status]
    }
}

/// One certificate's state, from when until when.
pub(super) fn single(
    id: &CertId,
    status: CertificateStatus,
    this_update: i64,
    next_update: i64,
) -> Result<Vec<u8>, PkiError> {
    let status = match status {
        CertificateStatus::Good => vec![0x80, 0],
        CertificateStatus::Unknown => vec![0x82, 0],
        CertificateStatus::Revoked { at, reason } => {
            // As in revocation lists, `unspecified` is left out.
            let reason = match reason.code() {
                0 => Vec::new(),
                code => tlv(context(0), &[&[ENUMERATED, 1, code]])?,
            };
            tlv(context(1), &[&time(at)?, &reason])?
        }
    };
    let next_update = tlv(context(0), &[&time(next_update)?])?;
    tlv(SEQUENCE, &[&id.der, &status, &time(this_update)?, &next_update])
}

/// ResponseData: what is signed.
pub(super) fn data(
    key_hash: &[u8; 20],
    produced_at: i64,
    singles: &[Vec<u8>],
    nonce: Option<&[u8]>,
) -> Result<Vec<u8>, PkiError> {
    let by_key = tlv(context(2), &[&octets(key_hash)?])?;
    let extensions = match nonce {
        Some(nonce) => {
            let extension = tlv(SEQUENCE, &[&der(&NONCE)?, &octets(&octets(nonce)?)?])?;
            tlv(context(1), &[&tlv(SEQUENCE, &[&extension])?])?
        }
        None => Vec::new(),
    };
    tlv(SEQUENCE, &[&by_key, &time(produced_at)?, &tlv(SEQUENCE, &[&singles.concat()])?, &extensions])
}

/// Signs, checks the signature, and puts the responder's certificate and the wrapping around it.
pub(super) fn sign(data: &[u8], signer: &dyn Signer, certificate: &[u8]) -> Result<Vec<u8>, PkiError> {
    let signature = signer.sign(data)?;
    verify(signer.spki(), data, &signature)?;
    let algorithm = der(&signer.algorithm().signature_algorithm())?;
    let signature = der(&BitStringRef::from_bytes(&signature).map_err(PkiError::Encoding)?)?;
    let certificates = tlv(context(0), &[&tlv(SEQUENCE, &[certificate])?])?;
    let basic = tlv(SEQUENCE, &[data, &algorithm, &signature, &certificates])?;
    let bytes = tlv(SEQUENCE, &[&der(&BASIC)?, &octets(&basic)?])?;
    tlv(SEQUENCE, &[&[ENUMERATED, 1, 0], &tlv(context(0), &[&bytes])?])
}

/// GeneralizedTime in whole seconds (RFC 6960 section 4.2.2.1).
fn time(seconds: i64) -> Result<Vec<u8>, PkiError> {
    let seconds = u64::try_from(seconds).map_err(|_| ValidityError::OutOfRange)?;
    let time = DateTime::from_unix_duration(Duration::from_secs(seconds)).map_err(PkiError::Encoding)?;
    der(&GeneralizedTime::from_date_time(time))
}

fn octets(bytes: &[u8]) -> Result<Vec<u8>, PkiError> {
    tlv(OCTET_STRING, &[bytes])
}

fn der(value: &impl Encode) -> Result<Vec<u8>, PkiError> {
    value.to_der().map_err(PkiError::Encoding)
}
