//! The CA's own certificates: a root, and the issuing CAs below it.

use der::referenced::OwnedToRef;
use x509_cert::ext::{Extension, pkix::KeyUsages};

use crate::{
    certificate::Certificate,
    error::{IssuerError, PkiError},
    extensions::{self, CaPolicy},
    issuer::Issuer,
    keys::Signer,
    names::CaName,
    profile::Purpose,
    serial::Serial,
    tbs::{Contents, public_key},
    validity::Validity,
};

/// Makes a root: a CA certificate signed with its own key.
///
/// After the Baseline Requirements section 7.1.2.1: basic constraints and key usage are critical, no
/// path length, no extended key usage, no policies; its issuer's key is named as its own.
pub fn root(key: &dyn Signer, subject: &CaName, validity: Validity, serial: Serial) -> Result<Certificate, PkiError> {
    let spki = public_key(key.spki())?;
    let name = subject.encode()?;
    let key_id = extensions::key_id(spki.owned_to_ref())?;
    let extensions = vec![
        extensions::ca(None)?,
        ca_key_usage()?,
        extensions::subject_key_id(spki.owned_to_ref())?,
        extensions::authority_key_id(key_id)?,
    ];
    Contents { serial, issuer: name.clone(), validity, subject: name, spki, extensions }.sign(key)
}

/// What an issuing CA's certificate is to say.
pub struct IssuingCa<'a> {
    /// Its name; not its issuer's.
    pub subject: &'a CaName,
    /// Its public key, a SubjectPublicKeyInfo in DER.
    pub spki: &'a [u8],
    /// How long it is valid; not longer than its issuer.
    pub validity: Validity,
    /// Its serial number, not used by this issuer before.
    pub serial: Serial,
    /// Under which policies it may issue.
    pub policy: CaPolicy,
    /// What its certificates may be for; those for TLS servers always are.
    pub purposes: &'a [Purpose],
    /// Where its issuer's certificate can be had, if it is published; an `http://` URL.
    pub ca_issuers_url: Option<&'a str>,
    /// Where its issuer's revocation list can be had, if there is one; an `http://` URL.
    pub crl_url: Option<&'a str>,
}

/// Makes an issuing CA: it may sign certificates for its purposes and revocation lists, and no CAs.
///
/// After the Baseline Requirements section 7.1.2.6; section 7.1.2.10.6 wants `serverAuth` and allows `clientAuth`.
pub fn issuing(issuer: &Issuer, ca: &IssuingCa<'_>) -> Result<Certificate, PkiError> {
    if !issuer.may_have_cas_below() {
        return Err(IssuerError::PathLength.into());
    }
    let subject = ca.subject.encode()?;
    if subject == issuer.name() {
        return Err(IssuerError::SameName.into());
    }
    let spki = public_key(ca.spki)?;
    let mut extensions = vec![
        extensions::ca(Some(0))?,
        ca_key_usage()?,
        extensions::ca_purposes(ca.purposes)?,
        extensions::subject_key_id(spki.owned_to_ref())?,
        issuer.authority_key_id()?,
        extensions::policy(ca.policy)?,
    ];
    extensions.extend(ca.ca_issuers_url.map(extensions::ca_issuers).transpose()?);
    extensions.extend(ca.crl_url.map(extensions::crl).transpose()?);
    let (serial, validity) = (ca.serial, ca.validity);
    issuer.certify(Contents { serial, issuer: issuer.name(), validity, subject, spki, extensions })
}

fn ca_key_usage() -> Result<Extension, PkiError> {
    extensions::key_usage(KeyUsages::KeyCertSign | KeyUsages::CRLSign)
}
