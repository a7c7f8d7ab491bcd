//! The extensions of our certificates, each encoded in one place.

use aws_lc_rs::digest;
use chancery_domain::Identifier;
use der::{
    Encode,
    asn1::{Ia5String, ObjectIdentifier, OctetString},
    flagset::FlagSet,
    oid::{
        AssociatedOid,
        db::{
            rfc5280::{ANY_POLICY, ID_AD_CA_ISSUERS, ID_AD_OCSP},
            rfc5912::ID_KP_SERVER_AUTH,
        },
    },
};
use spki::SubjectPublicKeyInfoRef;
use x509_cert::ext::{
    Extension,
    pkix::{
        AccessDescription, AuthorityInfoAccessSyntax, AuthorityKeyIdentifier, BasicConstraints, CertificatePolicies,
        CrlDistributionPoints, ExtendedKeyUsage, KeyUsage, KeyUsages, SubjectAltName, SubjectKeyIdentifier,
        certpolicy::PolicyInformation,
        crl::dp::DistributionPoint,
        name::{DistributionPointName, GeneralName},
    },
};

use crate::{
    error::PkiError,
    profile::{PolicyId, Purpose},
};

/// Under which policies an issuing CA may issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaPolicy {
    /// Any: `anyPolicy`, for a CA run by the operator of its root.
    Any,
    /// Domain validated only: 2.23.140.1.2.1.
    DomainValidated,
}

/// A CA, with at most this many CAs below it.
pub(crate) fn ca(path_length: Option<u8>) -> Result<Extension, PkiError> {
    extension(true, &BasicConstraints { ca: true, path_len_constraint: path_length })
}

pub(crate) fn key_usage(usages: impl Into<FlagSet<KeyUsages>>) -> Result<Extension, PkiError> {
    extension(true, &KeyUsage(usages.into()))
}

pub(crate) fn server_auth() -> Result<Extension, PkiError> {
    purposes(vec![ID_KP_SERVER_AUTH])
}

/// TLS servers, and whatever else is named.
pub(crate) fn ca_purposes(others: &[Purpose]) -> Result<Extension, PkiError> {
    let others = others.iter().filter(|purpose| **purpose != Purpose::ServerAuth).map(|purpose| purpose.oid());
    let mut all = vec![ID_KP_SERVER_AUTH];
    all.extend(others);
    all.dedup();
    purposes(all)
}

pub(crate) fn purposes(purposes: Vec<ObjectIdentifier>) -> Result<Extension, PkiError> {
    extension(false, &ExtendedKeyUsage(purposes))
}

pub(crate) fn subject_key_id(spki: SubjectPublicKeyInfoRef<'_>) -> Result<Extension, PkiError> {
    extension(false, &SubjectKeyIdentifier(key_id(spki)?))
}

/// Names a key by the first 160 bits of its SHA-256 (RFC 7093 section 2, method 1).
pub(crate) fn key_id(spki: SubjectPublicKeyInfoRef<'_>) -> Result<OctetString, PkiError> {
    let hash = digest::digest(&digest::SHA256, spki.subject_public_key.raw_bytes());
    OctetString::new(&hash.as_ref()[..20]).map_err(PkiError::Encoding)
}

/// Repeats the issuer's own key identifier (RFC 5280 section 4.2.1.1).
pub(crate) fn authority_key_id(issuer: OctetString) -> Result<Extension, PkiError> {
    extension(false, &AuthorityKeyIdentifier { key_identifier: Some(issuer), ..Default::default() })
}

pub(crate) fn policy(policy: CaPolicy) -> Result<Extension, PkiError> {
    let policy_identifier = match policy {
        CaPolicy::Any => ANY_POLICY,
        CaPolicy::DomainValidated => PolicyId::DOMAIN_VALIDATED.0,
    };
    policies(vec![policy_identifier])
}

pub(crate) fn policies(policies: Vec<ObjectIdentifier>) -> Result<Extension, PkiError> {
    let information = |policy_identifier| PolicyInformation { policy_identifier, policy_qualifiers: None };
    extension(false, &CertificatePolicies(policies.into_iter().map(information).collect()))
}

/// Where the issuer's certificate can be had.
pub(crate) fn ca_issuers(url: &str) -> Result<Extension, PkiError> {
    extension(false, &AuthorityInfoAccessSyntax(vec![access(ID_AD_CA_ISSUERS, url)?]))
}

/// Where the issuer's OCSP responder and its certificate can be had; nothing if neither can.
pub(crate) fn authority_info(ocsp: Option<&str>, ca_issuers: Option<&str>) -> Result<Option<Extension>, PkiError> {
    let accesses = [(ID_AD_OCSP, ocsp), (ID_AD_CA_ISSUERS, ca_issuers)];
    let accesses = accesses.into_iter().filter_map(|(method, url)| url.map(|url| access(method, url)));
    let accesses = accesses.collect::<Result<Vec<_>, _>>()?;
    if accesses.is_empty() { Ok(None) } else { extension(false, &AuthorityInfoAccessSyntax(accesses)).map(Some) }
}

/// Where the issuer's revocation list can be had.
pub(crate) fn crl(url: &str) -> Result<Extension, PkiError> {
    let name = DistributionPointName::FullName(vec![http_url(url)?]);
    let point = DistributionPoint { distribution_point: Some(name), reasons: None, crl_issuer: None };
    extension(false, &CrlDistributionPoints(vec![point]))
}

/// The names of a subject that has no distinguished name, and therefore critical (RFC 5280 section 4.2.1.6).
pub(crate) fn sole_names<'a>(identifiers: impl IntoIterator<Item = &'a Identifier>) -> Result<Extension, PkiError> {
    names(identifiers, true)
}

pub(crate) fn names<'a>(
    names: impl IntoIterator<Item = &'a Identifier>,
    critical: bool,
) -> Result<Extension, PkiError> {
    let general = |name: &Identifier| match name {
        Identifier::Dns(name) => Ia5String::new(name.as_str()).map(GeneralName::DnsName).map_err(PkiError::Encoding),
        Identifier::Ip(address) => Ok(GeneralName::from(*address)),
    };
    extension(critical, &SubjectAltName(names.into_iter().map(general).collect::<Result<_, _>>()?))
}

fn access(access_method: ObjectIdentifier, url: &str) -> Result<AccessDescription, PkiError> {
    Ok(AccessDescription { access_method, access_location: http_url(url)? })
}

/// Plain HTTP: fetching over TLS could need the very thing that is fetched (RFC 5280 section 8).
pub(crate) fn http_url(url: &str) -> Result<GeneralName, PkiError> {
    let refused = || PkiError::Url(url.to_owned());
    let rest = url.strip_prefix("http://").ok_or_else(refused)?;
    if rest.is_empty() || rest.starts_with('/') || !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refused());
    }
    Ia5String::new(url).map(GeneralName::UniformResourceIdentifier).map_err(PkiError::Encoding)
}

pub(crate) fn extension<T: AssociatedOid + Encode>(critical: bool, value: &T) -> Result<Extension, PkiError> {
    let extn_value = value.to_der().and_then(OctetString::new).map_err(PkiError::Encoding)?;
    Ok(Extension { extn_id: T::OID, critical, extn_value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_urls_are_published() {
        assert!(http_url("http://127.0.0.1:8080/ca/1.cer").is_ok());
        for bad in ["https://a.example/1.crl", "a.example", "http://", "http:///x", "http://a b", "http://ä.example/"]
        {
            assert!(matches!(http_url(bad), Err(PkiError::Url(url)) if url == bad), "{bad}");
        }
    }
}
