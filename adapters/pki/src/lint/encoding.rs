//! The encoding: DER, everywhere (RFC 5280 section 4.1).

use der::{
    Decode, Encode,
    asn1::{Null, OctetString},
};
use x509_cert::{
    certificate::TbsCertificate as StrictTbsCertificate,
    ext::pkix::{
        AuthorityInfoAccessSyntax, AuthorityKeyIdentifier, CertificatePolicies, CrlDistributionPoints,
        ExtendedKeyUsage, KeyUsage, SubjectAltName, SubjectKeyIdentifier,
    },
};
use x509_parser::{certificate::TbsCertificate, extensions::X509Extension, oid_registry as oid};

use super::Findings;
use crate::transparency::{POISON, SCT_LIST};

pub(super) fn lint(tbs: &[u8], parsed: &TbsCertificate<'_>, findings: &mut Findings) {
    findings.require(same::<StrictTbsCertificate>(tbs), "not_der", "the certificate is not in distinguished encoding");
    for extension in parsed.extensions() {
        let der = extension_is_der(extension).unwrap_or(true);
        findings.require(der, "not_der", format_args!("extension {} is not in distinguished encoding", extension.oid));
    }
}

/// None for an extension that has no business in these certificates, which is a finding of its own.
fn extension_is_der(extension: &X509Extension<'_>) -> Option<bool> {
    let is_der: fn(&[u8]) -> bool = match &extension.oid {
        id if *id == oid::OID_X509_EXT_KEY_USAGE => same::<KeyUsage>,
        id if *id == oid::OID_X509_EXT_EXTENDED_KEY_USAGE => same::<ExtendedKeyUsage>,
        id if *id == oid::OID_X509_EXT_SUBJECT_KEY_IDENTIFIER => same::<SubjectKeyIdentifier>,
        id if *id == oid::OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER => same::<AuthorityKeyIdentifier>,
        id if *id == oid::OID_PKIX_AUTHORITY_INFO_ACCESS => same::<AuthorityInfoAccessSyntax>,
        id if *id == oid::OID_X509_EXT_SUBJECT_ALT_NAME => same::<SubjectAltName>,
        id if *id == oid::OID_X509_EXT_CERTIFICATE_POLICIES => same::<CertificatePolicies>,
        id if *id == oid::OID_X509_EXT_CRL_DISTRIBUTION_POINTS => same::<CrlDistributionPoints>,
        id if id.as_bytes() == POISON.as_bytes() => same::<Null>,
        id if id.as_bytes() == SCT_LIST.as_bytes() => same::<OctetString>,
        _ => return None,
    };
    Some(is_der(extension.value))
}

/// Whether decoding strictly and encoding again gives the same bytes.
fn same<T: Encode + for<'a> Decode<'a>>(bytes: &[u8]) -> bool {
    T::from_der(bytes).is_ok_and(|value| value.to_der().is_ok_and(|again| again == bytes))
}
