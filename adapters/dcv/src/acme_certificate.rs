//! The certificate that answers tls-alpn-01 (RFC 8737 section 3, RFC 8738 section 6).

use std::net::IpAddr;

use chancery_domain::Identifier;
use data_encoding::HEXLOWER;
use der::asn1::{AnyRef, BitStringRef, OctetStringRef};
use der::{Decode, Reader, SliceReader, Tag, Tagged};
use rustls::crypto::aws_lc_rs::default_provider;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_parser::certificate::{TbsCertificate, X509Certificate};
use x509_parser::oid_registry::{OID_X509_EXT_SUBJECT_ALT_NAME, Oid, asn1_rs::oid};
use x509_parser::parse_x509_certificate;
use x509_parser::prelude::X509Extension;
use x509_parser::x509::X509Version;

use crate::tls::signed_by;

/// id-pe-acmeIdentifier.
const ACME_IDENTIFIER: Oid<'static> = oid!(1.3.6.1.5.5.7.1.31);

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
    let certificate = match parse_x509_certificate(der) {
        Ok(([], certificate)) => certificate,
        Ok(_) => return Err(wrong("something follows it")),
        Err(error) => return Err(wrong(&format!("it cannot be read: {error}"))),
    };
    let tbs = &certificate.tbs_certificate;
    if tbs.version != X509Version::V3 {
        return Err(wrong("it is not an X.509 version 3 certificate"));
    }
    if tbs.issuer.as_raw() != tbs.subject.as_raw() || !is_self_signed(der, &certificate) {
        return Err(wrong("it is not signed by its own key"));
    }
    let one =
        |kind, what: &str| only(tbs, kind).map_err(|count| wrong(&format!("it has {count} extensions {what}, not 1")));
    let names = one(OID_X509_EXT_SUBJECT_ALT_NAME, "subjectAltName")?;
    let names = SubjectAltName::from_der(names.value).map_err(|_| wrong("its subjectAltName cannot be read"))?;
    let [name] = names.0.as_slice() else {
        return Err(wrong(&format!("it is for {} names, not 1", names.0.len())));
    };
    if !is_for(name, identifier) {
        return Err(wrong(&format!("it is for {}, not for {identifier}", described(name))));
    }
    let acme = one(ACME_IDENTIFIER, "acmeIdentifier")?;
    if !acme.critical {
        return Err(wrong("its acmeIdentifier is not critical"));
    }
    let found = <&OctetStringRef>::from_der(acme.value).map_err(|_| wrong("its acmeIdentifier is no OCTET STRING"))?;
    if found.as_bytes() != digest {
        let shown = HEXLOWER.encode(&found.as_bytes()[..found.as_bytes().len().min(64)]);
        let why = "its acmeIdentifier is not the SHA-256 digest of the key authorization".to_owned();
        return Err(WrongCertificate { why, digest: Some(shown) });
    }
    Ok(())
}

/// The one extension of a kind, or how many there are.
fn only<'a>(tbs: &'a TbsCertificate<'a>, kind: Oid<'static>) -> Result<&'a X509Extension<'a>, usize> {
    let found: Vec<_> = tbs.extensions().iter().filter(|extension| extension.oid == kind).collect();
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
        GeneralName::IpAddress(address) => {
            format!("the address {}", HEXLOWER.encode(&address.as_bytes()[..address.as_bytes().len().min(16)]))
        }
        _ => "another kind of name".to_owned(),
    }
}

/// Over the bytes that were received: written again they might differ.
fn is_self_signed(der: &[u8], certificate: &X509Certificate<'_>) -> bool {
    let Some((signed, algorithm, signature)) = parts(der) else { return false };
    let known = default_provider().signature_verification_algorithms.all.iter().copied();
    let named = known.filter(|known| known.signature_alg_id().as_ref() == algorithm);
    let key = certificate.tbs_certificate.subject_pki.raw;
    // RFC 5280 section 4.1.1.2: the algorithm is named twice, the same both times.
    certificate.signature_algorithm == certificate.tbs_certificate.signature && signed_by(key, named, signed, signature)
}

/// What is signed, the inside of the algorithm's name, and the signature: by a strict reader, for the other one does
/// not look at every bit of what is not signed.
fn parts(der: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let sequence = |any: AnyRef<'_>| (any.tag() == Tag::Sequence).then_some(());
    let outer = AnyRef::from_der(der).ok()?;
    sequence(outer)?;
    let mut inside = SliceReader::new(outer.value()).ok()?;
    let signed = inside.tlv_bytes().ok()?;
    let algorithm: AnyRef<'_> = inside.decode().ok()?;
    sequence(algorithm)?;
    let signature: BitStringRef<'_> = inside.decode().ok()?;
    inside.is_finished().then_some((signed, algorithm.value(), signature.as_bytes()?))
}

#[cfg(test)]
mod tests {
    use chancery_testkit::der::{HandMade, alt_names, dns_name};
    use chancery_testkit::tls_alpn::acme_identifier;
    use proptest::prelude::*;

    use super::*;

    fn right() -> Vec<u8> {
        HandMade::new(vec![alt_names(&[dns_name("example.test")]), acme_identifier(true, "key")]).make().0
    }

    fn judged(der: &[u8]) -> Result<(), WrongCertificate> {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, b"key");
        check(der, &Identifier::parse("example.test").unwrap(), digest.as_ref())
    }

    #[test]
    fn what_follows_a_certificate_and_older_versions_are_refused() {
        assert_eq!(judged(&right()), Ok(()));
        assert_eq!(judged(&[right(), vec![0]].concat()).unwrap_err().why, "something follows it");
        for version in [0, 1] {
            let why = judged(&HandMade { version, ..HandMade::new(Vec::new()) }.make().0).unwrap_err().why;
            assert_eq!(why, "it is not an X.509 version 3 certificate");
        }
    }

    #[test]
    fn no_bit_of_a_right_certificate_can_be_changed() {
        let right = right();
        for (at, bit) in (0..right.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut changed = right.clone();
            changed[at] ^= 1_u8 << bit;
            assert!(judged(&changed).is_err(), "bit {bit} of octet {at}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            prop_assert!(judged(&bytes).is_err());
        }

        #[test]
        fn no_cut_or_stretched_certificate_makes_it_panic(at: prop::sample::Index, with: Vec<u8>, over in 0..40_usize) {
            let mut der = right();
            let at = at.index(der.len());
            let end = (at + over).min(der.len());
            der.splice(at..end, with);
            let _ = judged(&der);
        }
    }
}
