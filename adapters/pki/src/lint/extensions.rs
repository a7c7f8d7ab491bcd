//! The extensions: which there are, in which order, and what each says (RFC 5280 section 4.2, Baseline Requirements
//! section 7.1.2.7.6). The names have a file of their own.

use std::collections::HashSet;

use aws_lc_rs::digest;
use der::{Decode, asn1::ObjectIdentifier};
use x509_cert::ext::pkix::ExtendedKeyUsage;
use x509_parser::{
    certificate::TbsCertificate,
    extensions::{
        AccessDescription, CRLDistributionPoints, DistributionPointName, GeneralName, KeyUsage, ParsedExtension,
    },
    oid_registry::{
        OID_PKIX_ACCESS_DESCRIPTOR_CA_ISSUERS, OID_PKIX_ACCESS_DESCRIPTOR_OCSP, OID_PKIX_AUTHORITY_INFO_ACCESS,
        OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER, OID_X509_EXT_CERTIFICATE_POLICIES, OID_X509_EXT_CRL_DISTRIBUTION_POINTS,
        OID_X509_EXT_EXTENDED_KEY_USAGE, OID_X509_EXT_KEY_USAGE, OID_X509_EXT_SUBJECT_ALT_NAME,
        OID_X509_EXT_SUBJECT_KEY_IDENTIFIER, Oid,
    },
};

use super::Findings;
use crate::{draft::Stage, profile::Purpose, serial::Serial, subscriber::Terms, transparency};

pub(super) fn lint(tbs: &TbsCertificate<'_>, stage: Stage, terms: &Terms<'_>, findings: &mut Findings) {
    let expected = expected(tbs, stage, terms);
    shape(tbs, &expected, findings);
    for extension in tbs.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::KeyUsage(usage) => key_usage(usage, terms, findings),
            ParsedExtension::ExtendedKeyUsage(usage) => {
                let others = usage.any
                    || usage.code_signing
                    || usage.email_protection
                    || usage.time_stamping
                    || usage.ocsp_signing
                    || !usage.other.is_empty();
                let listed = |purpose| terms.profile.purposes.contains(&purpose);
                let once = ExtendedKeyUsage::from_der(extension.value)
                    .is_ok_and(|ExtendedKeyUsage(list)| list.len() == terms.profile.purposes.len());
                let holds = usage.server_auth == listed(Purpose::ServerAuth)
                    && usage.client_auth == listed(Purpose::ClientAuth)
                    && once
                    && !others;
                findings.require(holds, "extended_key_usage", "the purposes are not the profile's");
            }
            ParsedExtension::SubjectKeyIdentifier(id) => {
                // RFC 7093 section 2, method 1.
                let hash = digest::digest(&digest::SHA256, &tbs.public_key().subject_public_key.data);
                findings.require(id.0 == &hash.as_ref()[..20], "subject_key_id", "it does not name the subject's key");
            }
            ParsedExtension::AuthorityKeyIdentifier(id) => {
                let key = id.key_identifier.as_ref().map(|id| id.0) == Some(terms.issuer.key_id());
                let alone = id.authority_cert_issuer.is_none() && id.authority_cert_serial.is_none();
                findings.require(
                    key && alone,
                    "authority_key_id",
                    "it does not name the issuer's key, or more than it",
                );
            }
            ParsedExtension::CertificatePolicies(policies) => {
                let plain = policies.iter().all(|policy| policy.policy_qualifiers.is_none());
                let found = policies.iter().map(|policy| policy.policy_id.to_id_string());
                let holds = found.eq(terms.profile.policies.iter().map(ToString::to_string)) && plain;
                findings.require(holds, "policies", "the policies are not the profile's, or have qualifiers");
            }
            ParsedExtension::AuthorityInfoAccess(access) => authority_info(&access.accessdescs, terms, findings),
            ParsedExtension::CRLDistributionPoints(points) => crl(points, tbs, terms, findings),
            ParsedExtension::ParseError { error } => {
                findings.add("malformed", format_args!("extension {}: {error}", extension.oid));
            }
            // The names are looked at elsewhere, and what is left is not among the expected ones.
            _ => {}
        }
    }
    let revocable = terms.urls.crl.is_some() || terms.urls.ocsp.is_some();
    let holds = !terms.profile.public || revocable;
    findings.require(holds, "revocation", "a public certificate names a revocation list or an OCSP responder");
    let holds = !terms.profile.public || terms.urls.ca_issuers.is_some();
    findings.require(holds, "authority_info_access", "a public certificate says where its issuer's certificate is");
}

/// Which extensions there must be, in this order, and whether they are critical.
fn expected(tbs: &TbsCertificate<'_>, stage: Stage, terms: &Terms<'_>) -> Vec<(Oid<'static>, bool)> {
    let (profile, urls) = (terms.profile, terms.urls);
    let is_logged = profile.logs.is_some();
    let subject_is_empty = tbs.subject().iter_rdn().next().is_none();
    let all = [
        (true, OID_X509_EXT_KEY_USAGE, true),
        (true, OID_X509_EXT_EXTENDED_KEY_USAGE, false),
        (profile.subject_key_id, OID_X509_EXT_SUBJECT_KEY_IDENTIFIER, false),
        (true, OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER, false),
        (urls.ocsp.is_some() || urls.ca_issuers.is_some(), OID_PKIX_AUTHORITY_INFO_ACCESS, false),
        (true, OID_X509_EXT_SUBJECT_ALT_NAME, subject_is_empty),
        (!profile.policies.is_empty(), OID_X509_EXT_CERTIFICATE_POLICIES, false),
        (urls.crl.is_some(), OID_X509_EXT_CRL_DISTRIBUTION_POINTS, false),
        (is_logged && stage == Stage::Precertificate, oid(&transparency::POISON), true),
        (is_logged && stage == Stage::Certificate, oid(&transparency::SCT_LIST), false),
    ];
    all.into_iter().filter(|(present, ..)| *present).map(|(_, oid, critical)| (oid, critical)).collect()
}

/// As the parser writes it.
pub(super) fn oid(id: &ObjectIdentifier) -> Oid<'_> {
    Oid::new(id.as_bytes().into())
}

fn shape(tbs: &TbsCertificate<'_>, expected: &[(Oid<'_>, bool)], findings: &mut Findings) {
    let mut seen = HashSet::new();
    for extension in tbs.extensions() {
        let oid = &extension.oid;
        findings.require(seen.insert(oid), "duplicate_extension", format_args!("extension {oid} is there twice"));
        match expected.iter().find(|(wanted, _)| wanted == oid) {
            None => findings.add("unknown_extension", format_args!("extension {oid} has no business here")),
            Some((_, critical)) => {
                let message = format_args!("extension {oid} is critical or not, against the rules");
                findings.require(extension.critical == *critical, "criticality", message);
            }
        }
    }
    for (oid, _) in expected {
        findings.require(seen.contains(oid), "missing_extension", format_args!("extension {oid} is missing"));
    }
    let order = tbs.extensions().iter().map(|extension| &extension.oid);
    let order: Vec<_> = order.filter(|oid| expected.iter().any(|(wanted, _)| wanted == *oid)).collect();
    let wanted: Vec<_> = expected.iter().map(|(oid, _)| oid).filter(|oid| seen.contains(*oid)).collect();
    let same_set = order.len() == wanted.len();
    findings.require(!same_set || order == wanted, "extension_order", "the extensions are not in their order");
}

/// Baseline Requirements section 7.1.2.7.11.
fn key_usage(usage: &KeyUsage, terms: &Terms<'_>, findings: &mut Findings) {
    const DIGITAL_SIGNATURE: u16 = 1;
    const KEY_ENCIPHERMENT: u16 = 1 << 2;
    let enciphers = terms.profile.key_encipherment && terms.key.is_rsa();
    let wanted = if enciphers { DIGITAL_SIGNATURE | KEY_ENCIPHERMENT } else { DIGITAL_SIGNATURE };
    findings.require(usage.flags == wanted, "key_usage", format_args!("the usages are {usage}"));
}

fn authority_info(accesses: &[AccessDescription<'_>], terms: &Terms<'_>, findings: &mut Findings) {
    let wanted = [
        (OID_PKIX_ACCESS_DESCRIPTOR_OCSP, &terms.urls.ocsp),
        (OID_PKIX_ACCESS_DESCRIPTOR_CA_ISSUERS, &terms.urls.ca_issuers),
    ];
    let wanted = wanted.iter().filter_map(|(method, url)| Some((method, url.as_deref()?)));
    let found = accesses.iter().map(|access| (&access.access_method, uri(&access.access_location)));
    let holds = found.eq(wanted) && accesses.iter().all(|access| uri(&access.access_location).starts_with("http://"));
    findings.require(holds, "authority_info_access", "the addresses are not the issuer's");
}

/// One point, with one address and nothing else, and it is that of the list the serial number belongs to.
fn crl(points: &CRLDistributionPoints<'_>, tbs: &TbsCertificate<'_>, terms: &Terms<'_>, findings: &mut Findings) {
    let wanted = terms.urls.crl.as_ref().zip(Serial::from_bytes(tbs.raw_serial()));
    let wanted = wanted.map(|(shards, serial)| shards.url_of(&serial));
    let found = match points.points.as_slice() {
        [point] if point.reasons.is_none() && point.crl_issuer.is_none() => match &point.distribution_point {
            Some(DistributionPointName::FullName(names)) if names.len() == 1 => Some(uri(&names[0])),
            Some(_) | None => None,
        },
        _ => None,
    };
    let holds = found.is_some_and(|url| url.starts_with("http://")) && found == wanted.as_deref();
    findings.require(holds, "crl_distribution_point", "the address is not that of the revocation list it belongs to");
}

/// Empty for what is not a URI.
fn uri<'a>(name: &GeneralName<'a>) -> &'a str {
    match name {
        GeneralName::URI(uri) => uri,
        _ => "",
    }
}
