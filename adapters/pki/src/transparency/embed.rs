//! From a precertificate to what logs sign, and to the certificate with their promises in it.

use aws_lc_rs::digest;
use der::{
    Decode, Encode,
    asn1::{ObjectIdentifier, OctetString, OctetStringRef},
};
use x509_cert::ext::Extension;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::sct::{self, Sct};
use crate::{draft::Draft, error::PkiError, issuer::Issuer, public_key::verify, tbs};

/// What tells a precertificate (RFC 6962 section 3.1).
pub(crate) const POISON: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.11129.2.4.3");
/// Where a certificate has its timestamps (RFC 6962 section 3.3).
pub(crate) const SCT_LIST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.4.1.11129.2.4.2");
/// NULL: what the mark of a precertificate says.
const NOTHING: [u8; 2] = [5, 0];

/// What logs keep of a precertificate, and sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The SHA-256 of the issuer's key.
    issuer_key: [u8; 32],
    /// What is to be signed of the certificate, without the mark and without timestamps.
    tbs: Vec<u8>,
}

impl LogEntry {
    /// Of a precertificate or a certificate with timestamps: the same for both.
    pub(crate) fn of(tbs: &[u8], issuer: &Issuer) -> Result<Self, PkiError> {
        let tbs = without_logs(tbs)?;
        let hash = digest::digest(&digest::SHA256, &issuer.certificate().spki()?);
        Ok(Self { issuer_key: hash.as_ref().try_into().expect("SHA-256 has 32 bytes"), tbs })
    }

    /// What a log has signed with this timestamp (RFC 6962 section 3.2); none where it is too long.
    pub fn signed_with(&self, sct: &Sct) -> Option<Vec<u8>> {
        const V1: u8 = 0;
        const CERTIFICATE_TIMESTAMP: u8 = 0;
        const PRECERT_ENTRY: u16 = 1;
        let length = u32::try_from(self.tbs.len()).ok()?.to_be_bytes();
        let [0, length @ ..] = length else { return None };
        let mut signed = vec![V1, CERTIFICATE_TIMESTAMP];
        signed.extend(sct.timestamp.to_be_bytes());
        signed.extend(PRECERT_ENTRY.to_be_bytes());
        signed.extend(self.issuer_key);
        signed.extend(length);
        signed.extend(&self.tbs);
        signed.extend(sct::short(&sct.extensions)?);
        Some(signed)
    }
}

impl Draft {
    /// What logs keep of it.
    pub fn log_entry(&self, issuer: &Issuer) -> Result<LogEntry, PkiError> {
        LogEntry::of(self.tbs_der(), issuer)
    }

    /// The draft of the certificate, from that of its precertificate and what logs have promised.
    pub fn with_scts(&self, scts: &[Sct]) -> Result<Self, PkiError> {
        let list = sct::encode_list(scts).ok_or(PkiError::Scts)?;
        let list = OctetString::new(list).and_then(|list| list.to_der()).and_then(OctetString::new);
        let list = Extension { extn_id: SCT_LIST, critical: false, extn_value: list.map_err(PkiError::Encoding)? };
        let mut found = false;
        let tbs = tbs::map_extensions(self.tbs_der(), |extensions| {
            let mark = extensions.iter_mut().find(|extension| extension.extn_id == POISON);
            found = mark.map(|mark| *mark = list).is_some();
        })?;
        if found { Self::from_stored(&tbs) } else { Err(PkiError::Scts) }
    }
}

/// Whether this is what logs were shown of a certificate, both in DER: signed by the same CA, whose public key is given as a DER
/// SubjectPublicKeyInfo, and the same in all but what tells a precertificate and what logs have promised.
pub fn is_precertificate_of(shown: &[u8], certificate: &[u8], issuer_spki: &[u8]) -> bool {
    let parse = |der| X509Certificate::from_der(der).ok().filter(|(rest, _)| rest.is_empty()).map(|(_, parsed)| parsed);
    let (Some(shown), Some(certificate)) = (parse(shown), parse(certificate)) else { return false };
    let tbs = shown.tbs_certificate.as_ref();
    let is_marked = shown.extensions().iter().any(|extension| extension.oid.as_bytes() == POISON.as_bytes());
    is_marked
        && verify(issuer_spki, tbs, &shown.signature_value.data).is_ok()
        && without_logs(tbs).is_ok_and(|bare| {
            without_logs(certificate.tbs_certificate.as_ref()).is_ok_and(|certificate| certificate == bare)
        })
}

fn without_logs(tbs: &[u8]) -> Result<Vec<u8>, PkiError> {
    tbs::map_extensions(tbs, |extensions| {
        extensions.retain(|extension| ![POISON, SCT_LIST].contains(&extension.extn_id));
    })
}

/// The mark of a precertificate.
pub(crate) fn poison() -> Result<Extension, PkiError> {
    let extn_value = OctetString::new(NOTHING).map_err(PkiError::Encoding)?;
    Ok(Extension { extn_id: POISON, critical: true, extn_value })
}

/// Whether this is all that the mark says.
pub(crate) fn is_poison(value: &[u8]) -> bool {
    value == NOTHING
}

/// The timestamps in the extension that has them.
pub(crate) fn sct_list(value: &[u8]) -> Option<Vec<Sct>> {
    sct::decode_list(<&OctetStringRef>::from_der(value).ok()?.as_bytes())
}
