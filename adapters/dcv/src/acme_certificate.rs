//! The certificate that answers tls-alpn-01 (RFC 8737 section 3, RFC 8738 section 6).

use std::net::IpAddr;

use chancery_domain::Identifier;
use data_encoding::HEXLOWER;
use der::asn1::{AnyRef, ObjectIdentifier, OctetString};
use der::{Decode, Encode, Reader, SliceReader};
use rustls::crypto::aws_lc_rs::default_provider;
use x509_cert::certificate::{CertificateInner, Raw, TbsCertificateInner, Version};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use crate::tls::signed_by;

/// id-pe-acmeIdentifier.
const ACME_IDENTIFIER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.1.31");
const SUBJECT_ALT_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");

/// Why a certificate does not answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrongCertificate {
    pub why: String,
    /// The digest that it has, where it has one.
    pub digest: Option<String>,
}

/// Whether the certificate is for the identifier alone, is signed by itself, and holds the digest of the key
/// authorization in a critical extension.
pub(crate) fn check(der: &[u8], identifier: &Identifier, digest: &[u8]) -> Result<(), WrongCertificate> {
    let wrong = |why: &str| WrongCertificate { why: why.to_owned(), digest: None };
    let certificate = CertificateInner::<Raw>::from_der(der).map_err(|error| wrong(&format!("it cannot be read: {error}")))?;
    let tbs = certificate.tbs_certificate();
    if tbs.version() != Version::V3 {
        return Err(wrong("it is not an X.509 version 3 certificate"));
    }
    if tbs.issuer() != tbs.subject() || !is_self_signed(der, &certificate) {
        return Err(wrong("it is not signed by its own key"));
    }
    let names = only(tbs, SUBJECT_ALT_NAME).map_err(|count| wrong(&format!("it has {count} subjectAltName extensions, not 1")))?;
    let names = SubjectAltName::from_der(names.extn_value.as_bytes()).map_err(|_| wrong("its subjectAltName cannot be read"))?;
    let [name] = names.0.as_slice() else {
        return Err(wrong(&format!("it is for {} names, not 1", names.0.len())));
    };
    if !is_for(name, identifier) {
        return Err(wrong(&format!("it is for {}, not for {identifier}", described(name))));
    }
    let acme = only(tbs, ACME_IDENTIFIER).map_err(|count| wrong(&format!("it has {count} acmeIdentifier extensions, not 1")))?;
    if !acme.critical {
        return Err(wrong("its acmeIdentifier extension is not critical"));
    }
    let found = OctetString::from_der(acme.extn_value.as_bytes()).map_err(|_| wrong("its acmeIdentifier is no OCTET STRING"))?;
    if found.as_bytes() != digest {
        let shown = HEXLOWER.encode(&found.as_bytes()[..found.as_bytes().len().min(64)]);
        let why = "its acmeIdentifier is not the SHA-256 digest of the key authorization".to_owned();
        return Err(WrongCertificate { why, digest: Some(shown) });
    }
    Ok(())
}

/// The one extension of a kind, or how many there are.
fn only(tbs: &TbsCertificateInner<Raw>, kind: ObjectIdentifier) -> Result<&Extension, usize> {
    let found: Vec<_> = tbs.extensions().into_iter().flatten().filter(|extension| extension.extn_id == kind).collect();
    if let [extension] = found.as_slice() { Ok(extension) } else { Err(found.len()) }
}

/// RFC 8737 compares names without regard to case; RFC 8738 compares addresses as octets.
fn is_for(name: &GeneralName, identifier: &Identifier) -> bool {
    match (name, identifier) {
        (GeneralName::DnsName(found), Identifier::Dns(name)) => found.as_str().eq_ignore_ascii_case(name.as_str()),
        (GeneralName::IpAddress(found), Identifier::Ip(IpAddr::V4(address))) => found.as_bytes() == address.octets(),
        (GeneralName::IpAddress(found), Identifier::Ip(IpAddr::V6(address))) => found.as_bytes() == address.octets(),
        _ => false,
    }
}

fn described(name: &GeneralName) -> String {
    match name {
        GeneralName::DnsName(name) => format!("the name {:?}", crate::text::shown(name.as_bytes())),
        GeneralName::IpAddress(address) => format!("the address {}", HEXLOWER.encode(&address.as_bytes()[..address.as_bytes().len().min(16)])),
        _ => "another kind of name".to_owned(),
    }
}

/// Over the bytes that were received: written again they might differ.
fn is_self_signed(der: &[u8], certificate: &CertificateInner<Raw>) -> bool {
    let Some(signed) = signed_part(der) else { return false };
    let inside = certificate.tbs_certificate().signature();
    let (Ok(key), Ok(algorithm), Some(signature)) = (
        certificate.tbs_certificate().subject_public_key_info().to_der(),
        certificate.signature_algorithm().to_der(),
        certificate.signature().as_bytes(),
    ) else {
        return false;
    };
    let Ok(algorithm) = AnyRef::from_der(&algorithm) else { return false };
    let known = default_provider().signature_verification_algorithms.all.iter().copied();
    let named = known.filter(|known| known.signature_alg_id().as_ref() == algorithm.value());
    inside == certificate.signature_algorithm() && signed_by(&key, named, signed, signature)
}

fn signed_part(der: &[u8]) -> Option<&[u8]> {
    let outer = AnyRef::from_der(der).ok()?;
    SliceReader::new(outer.value()).ok()?.tlv_bytes().ok()
}
