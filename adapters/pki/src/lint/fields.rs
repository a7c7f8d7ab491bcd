//! The fields of a certificate beside its extensions (RFC 5280 sections 4.1.2.1 to 4.1.2.8).

use der::Encode;
use x509_parser::{
    certificate::TbsCertificate,
    der_parser::asn1_rs::Tag,
    oid_registry::{
        OID_PKCS1_SHA256WITHRSA, OID_SIG_ECDSA_WITH_SHA256, OID_SIG_ECDSA_WITH_SHA384, OID_X509_COMMON_NAME,
    },
    x509::X509Version,
};

use super::Findings;
use crate::{
    names::MAX_CHARACTERS,
    period::{MAX_DISTANCE, ceiling_days},
    public_key::KeyAlgorithm,
    subscriber::Terms,
};

const DAY: i64 = 86_400;

pub(super) fn lint(tbs: &TbsCertificate<'_>, terms: &Terms<'_>, findings: &mut Findings) {
    findings.require(tbs.version() == X509Version::V3, "version", "the version is not 3");
    serial(tbs.raw_serial(), findings);
    signature_algorithm(tbs, terms.issuer.algorithm(), findings);
    let issuer = terms.issuer.name().to_der().unwrap_or_default();
    findings.require(tbs.issuer().as_raw() == issuer, "issuer_name", "the issuer's name is not its own subject");
    validity(tbs, terms, findings);
    subject(tbs, terms, findings);
    key(tbs, terms, findings);
    let no_unique_ids = tbs.issuer_uid.is_none() && tbs.subject_uid.is_none();
    findings.require(no_unique_ids, "unique_id", "unique identifiers are forbidden");
}

/// RFC 5280 section 4.1.2.2, and more than the 64 random bits of the Baseline Requirements (section 7.1).
fn serial(octets: &[u8], findings: &mut Findings) {
    findings.require(octets.len() <= 20, "serial", format_args!("the serial number has {} octets", octets.len()));
    findings.require(octets.len() > 16, "serial", "the serial number has too few octets for 128 random bits");
    findings.require(octets.first().is_some_and(|first| *first < 0x80), "serial", "the serial number is negative");
}

/// RFC 5758 section 3.2 and RFC 4055 section 5.
fn signature_algorithm(tbs: &TbsCertificate<'_>, key: KeyAlgorithm, findings: &mut Findings) {
    let (oid, null) = match key {
        KeyAlgorithm::EcP256 => (OID_SIG_ECDSA_WITH_SHA256, false),
        KeyAlgorithm::EcP384 => (OID_SIG_ECDSA_WITH_SHA384, false),
        KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => (OID_PKCS1_SHA256WITHRSA, true),
    };
    let parameters = tbs.signature.parameters.as_ref();
    let fits = parameters.map(|any| any.header.tag() == Tag::Null && any.data.is_empty()) == null.then_some(true);
    let holds = tbs.signature.algorithm == oid && fits;
    findings.require(holds, "signature_algorithm", "the signature algorithm is not that of the issuer's key");
}

fn validity(tbs: &TbsCertificate<'_>, terms: &Terms<'_>, findings: &mut Findings) {
    let (first, last) = (tbs.validity().not_before, tbs.validity().not_after);
    for time in [first, last] {
        // RFC 5280 section 4.1.2.5: UTCTime through 2049.
        let utc = time.to_datetime().year() < 2050;
        findings.require(
            time.is_utctime() == utc,
            "validity_encoding",
            format_args!("{time} is written in the wrong form"),
        );
    }
    let (first, last, now) = (first.timestamp(), last.timestamp(), terms.now);
    let seconds = last - first + 1;
    findings.require(seconds >= 1, "validity_period", "it ends before it begins");
    let longest = i64::from(terms.profile.validity_days) * DAY;
    findings.require(
        seconds <= longest,
        "validity_period",
        format_args!("{seconds} s are longer than the profile's {longest} s"),
    );
    if terms.profile.public {
        let days = ceiling_days(first.max(now));
        let holds = seconds <= i64::from(days) * DAY;
        findings.require(
            holds,
            "validity_ceiling",
            format_args!("{seconds} s are longer than the {days} days of today"),
        );
        let near = (first - now).abs() <= MAX_DISTANCE;
        findings.require(near, "not_before", "it begins more than 48 hours from its signing");
    }
    findings.require(last >= now, "validity_period", "it is over already");
    let issuer_ends = terms.issuer.certificate().not_after();
    findings.require(
        last <= issuer_ends,
        "outlives_issuer",
        format_args!("it ends after its issuer, at {issuer_ends}"),
    );
}

/// Empty, or a common name that is one of the names (Baseline Requirements sections 7.1.2.7.2 and 7.1.4.3).
fn subject(tbs: &TbsCertificate<'_>, terms: &Terms<'_>, findings: &mut Findings) {
    let mut rdns = tbs.subject().iter_rdn();
    let Some(rdn) = rdns.next() else { return };
    let mut attributes = rdn.iter();
    let (Some(attribute), None, None) = (attributes.next(), attributes.next(), rdns.next()) else {
        return findings.add("subject", "the subject has more than one attribute");
    };
    if *attribute.attr_type() != OID_X509_COMMON_NAME {
        return findings.add("subject", "the subject has an attribute that is not a common name");
    }
    findings.require(terms.profile.common_name, "subject", "the profile has no common name");
    let value = attribute.attr_value();
    findings.require(value.header.tag() == Tag::Utf8String, "subject", "the common name is not a UTF8String");
    let text = str::from_utf8(value.data).unwrap_or_default();
    findings.require(text.len() <= MAX_CHARACTERS, "subject", "the common name is longer than 64 characters");
    let is_name = terms.names.iter().any(|name| name.to_string() == text);
    findings.require(is_name, "subject", format_args!("the common name {text:?} is none of the names"));
}

fn key(tbs: &TbsCertificate<'_>, terms: &Terms<'_>, findings: &mut Findings) {
    findings.require(tbs.public_key().raw == terms.key.spki(), "key", "the key is not the one agreed on");
    let key_type = terms.key.key_type();
    findings.require(
        terms.profile.key_types.contains(&key_type),
        "key",
        format_args!("the profile has no {key_type} keys"),
    );
    for weakness in terms.key.weaknesses() {
        findings.add("key", weakness);
    }
}
