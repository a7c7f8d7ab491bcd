//! The certificate of the service's own HTTPS listener. Subscribers' certificates are not made here.

use std::collections::BTreeSet;

use chancery_domain::Identifier;
use x509_cert::{ext::pkix::KeyUsages, name::RdnSequence};

use crate::{
    certificate::Certificate,
    error::{NameError, PkiError},
    extensions,
    issuer::Issuer,
    serial::Serial,
    tbs::{Contents, public_key},
    validity::Validity,
};

/// What the listener's certificate is to say.
pub struct ServerCertificate<'a> {
    /// The names and addresses clients connect to; at least one.
    pub names: &'a [Identifier],
    /// The listener's public key, a SubjectPublicKeyInfo in DER.
    pub spki: &'a [u8],
    /// How long it is valid; not longer than its issuer.
    pub validity: Validity,
    /// Its serial number, not used by this issuer before.
    pub serial: Serial,
}

/// Makes a TLS server certificate. Its names are in the subject alternative names only; the subject is empty.
pub fn server_certificate(issuer: &Issuer, server: &ServerCertificate<'_>) -> Result<Certificate, PkiError> {
    let names: BTreeSet<_> = server.names.iter().collect();
    if names.is_empty() {
        return Err(NameError::NoNames.into());
    }
    let extensions = vec![
        extensions::key_usage(KeyUsages::DigitalSignature)?,
        extensions::server_auth()?,
        issuer.authority_key_id()?,
        extensions::sole_names(names)?,
    ];
    issuer.certify(Contents {
        serial: server.serial,
        issuer: issuer.name(),
        validity: server.validity,
        subject: RdnSequence::default(),
        spki: public_key(server.spki)?,
        extensions,
    })
}
