//! The certificate of a delegated responder.

use der::{
    asn1::{ObjectIdentifier, OctetString},
    oid::db::rfc5912::ID_KP_OCSP_SIGNING,
    referenced::OwnedToRef,
};
use x509_cert::ext::{Extension, pkix::KeyUsages};

use crate::{
    certificate::Certificate,
    error::PkiError,
    extensions,
    issuer::Issuer,
    names::CaName,
    serial::Serial,
    tbs::{Contents, public_key},
    validity::Validity,
};

/// id-pkix-ocsp-nocheck.
const NO_CHECK: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.48.1.5");

/// What a responder's certificate is to say.
pub struct ResponderCertificate<'a> {
    /// Its name; not its issuer's.
    pub subject: &'a CaName,
    /// Its public key, a SubjectPublicKeyInfo in DER.
    pub spki: &'a [u8],
    /// How long it is valid. Short: nobody can revoke it, since nobody asks about it.
    pub validity: Validity,
    /// Its serial number, not used by this issuer before.
    pub serial: Serial,
}

/// Makes the certificate by which an issuer delegates its OCSP answers to another key (RFC 6960 section 4.2.2.2,
/// Baseline Requirements section 7.1.2.8).
pub fn responder_certificate(issuer: &Issuer, responder: &ResponderCertificate<'_>) -> Result<Certificate, PkiError> {
    let spki = public_key(responder.spki)?;
    let no_check = OctetString::new([0x05, 0x00]).map_err(PkiError::Encoding)?;
    let extensions = vec![
        extensions::key_usage(KeyUsages::DigitalSignature)?,
        extensions::purposes(vec![ID_KP_OCSP_SIGNING])?,
        extensions::subject_key_id(spki.owned_to_ref())?,
        issuer.authority_key_id()?,
        Extension { extn_id: NO_CHECK, critical: false, extn_value: no_check },
    ];
    issuer.certify(Contents {
        serial: responder.serial,
        issuer: issuer.name(),
        validity: responder.validity,
        subject: responder.subject.encode()?,
        spki,
        extensions,
    })
}
