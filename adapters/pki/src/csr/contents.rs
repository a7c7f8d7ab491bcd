//! What a request says, read from its DER.

use std::collections::HashSet;

use der::{
    AnyRef, Decode, Reader, SliceReader, Tag, TagNumber, Tagged,
    asn1::{BitStringRef, BmpString, ObjectIdentifier, OctetStringRef},
    oid::db::{rfc4519::COMMON_NAME, rfc5280, rfc5912::ID_EXTENSION_REQ},
};
use x509_cert::ext::pkix::{KeyUsage, KeyUsages};

use crate::profile::Purpose;

/// "Must staple" (RFC 7633 section 4.1).
const TLS_FEATURE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.1.24");

/// A CertificationRequest (RFC 2986 section 4), taken apart.
#[derive(Clone)]
pub(super) struct Contents {
    /// The CertificationRequestInfo as received: what was signed.
    pub(super) info: Vec<u8>,
    /// The SubjectPublicKeyInfo as received.
    pub(super) spki: Vec<u8>,
    /// The AlgorithmIdentifier of the signature as received.
    pub(super) signature_algorithm: Vec<u8>,
    pub(super) signature: Vec<u8>,
    /// The common names of the subject; none for one that is not text.
    pub(super) common_names: Vec<Option<String>>,
    /// The subject alternative names, if it has that extension.
    pub(super) names: Option<Vec<RequestedName>>,
    /// Whether it asks to be a CA.
    pub(super) asks_for_ca: bool,
    /// Whether it asks for TLS features, such as a stapled OCSP response.
    pub(super) asks_for_tls_features: bool,
    /// Extended key usages that no certificate of ours has.
    pub(super) foreign_usages: Vec<ObjectIdentifier>,
    /// Extensions whose meaning is known, and which no request can have its way with.
    pub(super) refused_extensions: Vec<ObjectIdentifier>,
    /// Extensions that must be understood, and that nobody here does.
    pub(super) unknown_critical: Vec<ObjectIdentifier>,
}

/// A subject alternative name as it stands in the request (RFC 5280 section 4.2.1.6).
#[derive(Clone)]
pub(super) enum RequestedName {
    Dns(String),
    Ip(Vec<u8>),
    Email(String),
    /// Another kind of name, by what RFC 5280 calls it.
    Other(&'static str),
}

type Read<T> = Result<T, &'static str>;

impl Contents {
    /// Reads DER with nothing after it; says what is wrong if it cannot.
    pub(super) fn read(der: &[u8]) -> Read<Self> {
        let request = sequence(der, "it is not one whole SEQUENCE")?;
        let [info, signature_algorithm, signature] = parts(request, "it does not have its three parts")?;
        let signature = BitStringRef::from_der(signature).map_err(|_| "its signature is not a BIT STRING")?;
        let signature = signature.as_bytes().ok_or("its signature does not end on a whole byte")?;
        sequence(signature_algorithm, "its signature algorithm cannot be read")?;

        let fields = elements(sequence(info, "its contents are not a SEQUENCE")?, "its contents cannot be read")?;
        // Attributes may be absent where there are none: some software leaves them out against RFC 2986.
        let (version, subject, spki, attributes) = match fields[..] {
            [version, subject, spki, attributes] => (version, subject, spki, Some(attributes)),
            [version, subject, spki] => (version, subject, spki, None),
            _ => return Err("its contents are not version, subject, key and attributes"),
        };
        if version != [0x02, 0x01, 0x00] {
            return Err("its version is not 1");
        }
        let mut contents = Self {
            info: info.to_vec(),
            spki: spki.to_vec(),
            signature_algorithm: signature_algorithm.to_vec(),
            signature: signature.to_vec(),
            common_names: common_names(subject)?,
            names: None,
            asks_for_ca: false,
            asks_for_tls_features: false,
            foreign_usages: Vec::new(),
            refused_extensions: Vec::new(),
            unknown_critical: Vec::new(),
        };
        if let Some(attributes) = attributes {
            contents.read_attributes(attributes)?;
        }
        Ok(contents)
    }

    fn read_attributes(&mut self, attributes: &[u8]) -> Read<()> {
        const BROKEN: &str = "its attributes cannot be read";
        let set = AnyRef::from_der(attributes).map_err(|_| BROKEN)?;
        if set.tag() != (Tag::ContextSpecific { constructed: true, number: TagNumber(0) }) {
            return Err(BROKEN);
        }
        let mut seen = false;
        for attribute in elements(set.value(), BROKEN)? {
            let [oid, values] = parts(sequence(attribute, BROKEN)?, BROKEN)?;
            if oid_of(oid, BROKEN)? != ID_EXTENSION_REQ {
                continue;
            }
            if std::mem::replace(&mut seen, true) {
                return Err("it has two lists of extensions");
            }
            let values = AnyRef::from_der(values).map_err(|_| BROKEN)?;
            if values.tag() != Tag::Set {
                return Err(BROKEN);
            }
            let [extensions] = parts(values.value(), "it has two lists of extensions")?;
            self.read_extensions(extensions)?;
        }
        Ok(())
    }

    fn read_extensions(&mut self, extensions: &[u8]) -> Read<()> {
        const BROKEN: &str = "its extensions cannot be read";
        let mut seen = HashSet::new();
        for extension in elements(sequence(extensions, BROKEN)?, BROKEN)? {
            let (oid, critical, value) = match elements(sequence(extension, BROKEN)?, BROKEN)?[..] {
                [oid, value] => (oid, false, value),
                [oid, critical, value] => (oid, bool::from_der(critical).map_err(|_| BROKEN)?, value),
                _ => return Err(BROKEN),
            };
            let oid = oid_of(oid, BROKEN)?;
            let value = <&OctetStringRef>::from_der(value).map_err(|_| BROKEN)?.as_bytes();
            if !seen.insert(oid) {
                return Err("it has the same extension twice");
            }
            match oid {
                rfc5280::ID_CE_SUBJECT_ALT_NAME => self.names = Some(names(value)?),
                rfc5280::ID_CE_BASIC_CONSTRAINTS => self.asks_for_ca |= asks_for_ca(value)?,
                // Which of the other usages a certificate gets is the profile's business.
                rfc5280::ID_CE_KEY_USAGE => self.asks_for_ca |= asks_to_sign_as_ca(value)?,
                rfc5280::ID_CE_EXT_KEY_USAGE => self.foreign_usages = foreign_usages(value)?,
                TLS_FEATURE => self.asks_for_tls_features = true,
                // Whoever asks for these wants something of the certificate that it would then lack, critical or not
                // (RFC 8555 section 7.4).
                rfc5280::ID_CE_CERTIFICATE_POLICIES
                | rfc5280::ID_CE_NAME_CONSTRAINTS
                | rfc5280::ID_CE_POLICY_CONSTRAINTS => self.refused_extensions.push(oid),
                // What the certificate says here is the profile's business.
                rfc5280::ID_CE_SUBJECT_KEY_IDENTIFIER => {}
                other if critical => self.unknown_critical.push(other),
                _ => {}
            }
        }
        Ok(())
    }
}

fn names(value: &[u8]) -> Read<Vec<RequestedName>> {
    const BROKEN: &str = "its subject alternative names cannot be read";
    let text = |value: &[u8]| match std::str::from_utf8(value) {
        Ok(text) if text.is_ascii() => Ok(text.to_owned()),
        Ok(_) | Err(_) => Err("a subject alternative name is not ASCII; internationalised names go in as xn--…"),
    };
    elements(sequence(value, BROKEN)?, BROKEN)?
        .into_iter()
        .map(|name| {
            let name = AnyRef::from_der(name).map_err(|_| BROKEN)?;
            let Tag::ContextSpecific { number, .. } = name.tag() else { return Err(BROKEN) };
            match number.value() {
                1 => text(name.value()).map(RequestedName::Email),
                2 => text(name.value()).map(RequestedName::Dns),
                7 => Ok(RequestedName::Ip(name.value().to_vec())),
                0 => Ok(RequestedName::Other("otherName")),
                3 => Ok(RequestedName::Other("x400Address")),
                4 => Ok(RequestedName::Other("directoryName")),
                5 => Ok(RequestedName::Other("ediPartyName")),
                6 => Ok(RequestedName::Other("uniformResourceIdentifier")),
                8 => Ok(RequestedName::Other("registeredID")),
                _ => Err(BROKEN),
            }
        })
        .collect()
}

fn asks_for_ca(value: &[u8]) -> Read<bool> {
    const BROKEN: &str = "its basic constraints cannot be read";
    let fields = elements(sequence(value, BROKEN)?, BROKEN)?;
    Ok(fields.first().is_some_and(|first| bool::from_der(first) == Ok(true)))
}

fn asks_to_sign_as_ca(value: &[u8]) -> Read<bool> {
    let usage = KeyUsage::from_der(value).map_err(|_| "its key usage cannot be read")?;
    Ok(usage.0.contains(KeyUsages::KeyCertSign) || usage.0.contains(KeyUsages::CRLSign))
}

/// The purposes that no profile has. Which of the others a certificate gets is the profile's business.
fn foreign_usages(value: &[u8]) -> Read<Vec<ObjectIdentifier>> {
    const BROKEN: &str = "its extended key usages cannot be read";
    let usages = elements(sequence(value, BROKEN)?, BROKEN)?.into_iter().map(|usage| oid_of(usage, BROKEN));
    let mut usages = usages.collect::<Read<Vec<_>>>()?;
    usages.retain(|usage| Purpose::ALL.iter().all(|purpose| purpose.oid() != *usage));
    Ok(usages)
}

fn common_names(subject: &[u8]) -> Read<Vec<Option<String>>> {
    const BROKEN: &str = "its subject cannot be read";
    let mut names = Vec::new();
    for rdn in elements(sequence(subject, BROKEN)?, BROKEN)? {
        let rdn = AnyRef::from_der(rdn).map_err(|_| BROKEN)?;
        if rdn.tag() != Tag::Set {
            return Err(BROKEN);
        }
        for attribute in elements(rdn.value(), BROKEN)? {
            let [oid, value] = parts(sequence(attribute, BROKEN)?, BROKEN)?;
            if oid_of(oid, BROKEN)? == COMMON_NAME {
                names.push(text(AnyRef::from_der(value).map_err(|_| BROKEN)?));
            }
        }
    }
    Ok(names)
}

/// Any of the strings of RFC 5280 section 4.1.2.4.
fn text(value: AnyRef<'_>) -> Option<String> {
    match value.tag() {
        Tag::BmpString => value.decode_as::<BmpString>().ok().map(|text| text.to_string()),
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::TeletexString => {
            String::from_utf8(value.value().to_vec()).ok()
        }
        _ => None,
    }
}

fn oid_of(der: &[u8], otherwise: &'static str) -> Read<ObjectIdentifier> {
    ObjectIdentifier::from_der(der).map_err(|_| otherwise)
}

/// What is inside a SEQUENCE that is all of these bytes.
fn sequence<'a>(der: &'a [u8], otherwise: &'static str) -> Read<&'a [u8]> {
    let any = AnyRef::from_der(der).map_err(|_| otherwise)?;
    if any.tag() == Tag::Sequence { Ok(any.value()) } else { Err(otherwise) }
}

/// The elements one after the other. Not as SET OF, whose order real software gets wrong.
fn elements<'a>(mut bytes: &'a [u8], otherwise: &'static str) -> Read<Vec<&'a [u8]>> {
    let mut elements = Vec::new();
    while !bytes.is_empty() {
        let mut reader = SliceReader::new(bytes).map_err(|_| otherwise)?;
        let element = reader.tlv_bytes().map_err(|_| otherwise)?;
        bytes = &bytes[element.len()..];
        elements.push(element);
    }
    Ok(elements)
}

fn parts<'a, const N: usize>(bytes: &'a [u8], otherwise: &'static str) -> Read<[&'a [u8]; N]> {
    elements(bytes, otherwise)?.try_into().map_err(|_| otherwise)
}
