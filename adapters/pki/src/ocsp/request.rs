//! Requests.

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD};
use der::{
    Any, AnyRef, Decode, Encode, Sequence,
    asn1::{ObjectIdentifier, OctetString, OctetStringRef},
};
use spki::AlgorithmIdentifierOwned;
use x509_cert::ext::Extension;

use super::response::{NONCE, OcspFailure};
use crate::serial::Serial;

/// The most bytes of a request in DER. One about one certificate has about 100.
pub const MAX_OCSP_REQUEST_BYTES: usize = 4096;

/// The most certificates of one request.
const MAX_CERTIFICATES: usize = 16;

/// RFC 9654 section 2.1.
const MAX_NONCE: usize = 128;

const SHA1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.14.3.2.26");
const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");

/// What someone wants to know: the states of one certificate or a few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OcspRequest {
    /// The certificates, in their order; at least one.
    pub certificates: Vec<CertId>,
    /// What the answer must repeat, so that it cannot be an old one; 1 to 128 octets.
    pub nonce: Option<Vec<u8>>,
}

/// A certificate, named by hashes of its issuer's name and key and by its serial number (RFC 6960 section 4.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertId {
    /// As it was received: the answer repeats it.
    pub(super) der: Vec<u8>,
    /// None for a hash that nobody here computes.
    pub(super) hash: Option<HashAlgorithm>,
    pub(super) issuer_name_hash: Vec<u8>,
    pub(super) issuer_key_hash: Vec<u8>,
    serial: Vec<u8>,
}

/// The hashes by which issuers are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashAlgorithm {
    /// What nearly every client uses; it identifies here, and protects nothing.
    Sha1,
    /// What RFC 9654's companions ask for.
    Sha256,
}

impl OcspRequest {
    /// Reads the body of a POST. What cannot be read is answered with the failure.
    pub fn parse(der: &[u8]) -> Result<Self, OcspFailure> {
        if der.len() > MAX_OCSP_REQUEST_BYTES {
            return Err(OcspFailure::MalformedRequest);
        }
        let request = Request::from_der(der).map_err(|_| OcspFailure::MalformedRequest)?.tbs;
        let few = (1..=MAX_CERTIFICATES).contains(&request.list.len());
        if !few || request.version.is_some_and(|version| version != 0) {
            return Err(OcspFailure::MalformedRequest);
        }
        let extensions = request.extensions.unwrap_or_default();
        let certificates = request.list.iter().map(CertId::read).collect::<Option<_>>();
        Ok(Self {
            certificates: certificates.ok_or(OcspFailure::MalformedRequest)?,
            nonce: nonce(&extensions).ok_or(OcspFailure::MalformedRequest)?,
        })
    }

    /// Reads the last part of the path of a GET: base64, with or without padding and percent signs (RFC 6960 appendix
    /// A.1). Slashes that belong to the base64 may be in it.
    pub fn from_path(path: &str) -> Result<Self, OcspFailure> {
        if path.len() > MAX_OCSP_REQUEST_BYTES * 4 {
            return Err(OcspFailure::MalformedRequest);
        }
        let text = percent_decode(path.as_bytes()).ok_or(OcspFailure::MalformedRequest)?;
        let text = text.trim_ascii_end();
        let padding = text.iter().rev().take_while(|byte| **byte == b'=').count().min(2);
        let text = &text[..text.len() - padding];
        let url_safe = text.contains(&b'-') || text.contains(&b'_');
        let form = if url_safe { BASE64URL_NOPAD } else { BASE64_NOPAD };
        Self::parse(&form.decode(text).map_err(|_| OcspFailure::MalformedRequest)?)
    }
}

impl CertId {
    /// Its serial number, if it is one that could have been drawn here.
    pub fn serial(&self) -> Option<Serial> {
        Serial::from_bytes(&self.serial)
    }

    fn read(single: &SingleRequest) -> Option<Self> {
        let parts = single.cert_id.decode_as::<CertIdParts>().ok()?;
        if single.extensions.iter().flatten().any(|extension| extension.critical) {
            return None;
        }
        // The answer repeats all of it, and is DER only if this is.
        let serial = AnyRef::from(&parts.serial);
        let is_integer = der::Tagged::tag(&serial) == der::Tag::Integer && is_minimal(serial.value());
        // RFC 5754 section 2: hashes have no parameters, or NULL.
        let has_parameters = parts.hash.parameters.as_ref().is_some_and(|given| AnyRef::from(given) != AnyRef::NULL);
        let hash = match parts.hash.oid {
            SHA1 => Some(HashAlgorithm::Sha1),
            SHA256 => Some(HashAlgorithm::Sha256),
            _ => None,
        };
        Some(Self {
            der: single.cert_id.to_der().ok().filter(|_| is_integer && !has_parameters)?,
            hash,
            issuer_name_hash: parts.issuer_name_hash.as_bytes().to_vec(),
            issuer_key_hash: parts.issuer_key_hash.as_bytes().to_vec(),
            serial: serial.value().to_vec(),
        })
    }
}

/// Whether an INTEGER has these octets in DER: at least one, and none that could be left out (X.690 section 8.3.2).
fn is_minimal(octets: &[u8]) -> bool {
    match octets {
        [] => false,
        [0x00, second, ..] => *second >= 0x80,
        [0xff, second, ..] => *second < 0x80,
        [..] => true,
    }
}

/// The nonce, if there is one; nothing at all if it, or something else that must be understood, is not.
#[allow(clippy::option_option, reason = "no nonce and a bad nonce are two things")]
fn nonce(extensions: &[Extension]) -> Option<Option<Vec<u8>>> {
    let mut nonce = None;
    for extension in extensions {
        if extension.extn_id == NONCE {
            let value = <&OctetStringRef>::from_der(extension.extn_value.as_bytes()).ok()?.as_bytes();
            if nonce.is_some() || !(1..=MAX_NONCE).contains(&value.len()) {
                return None;
            }
            nonce = Some(value.to_vec());
        } else if extension.critical {
            return None;
        }
    }
    Some(nonce)
}

fn percent_decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || char::from(*rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => *other,
        });
    }
    Some(decoded)
}

/// RFC 6960 section 4.1.1.
#[derive(Sequence)]
struct Request {
    tbs: TbsRequest,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    #[allow(dead_code, reason = "signed requests are answered like others")]
    signature: Option<Any>,
}

#[derive(Sequence)]
struct TbsRequest {
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    version: Option<u8>,
    #[asn1(context_specific = "1", tag_mode = "EXPLICIT", optional = "true")]
    #[allow(dead_code, reason = "everybody is answered")]
    requestor: Option<Any>,
    list: Vec<SingleRequest>,
    #[asn1(context_specific = "2", tag_mode = "EXPLICIT", optional = "true")]
    extensions: Option<Vec<Extension>>,
}

#[derive(Sequence)]
struct SingleRequest {
    cert_id: Any,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    extensions: Option<Vec<Extension>>,
}

#[derive(Sequence)]
struct CertIdParts {
    hash: AlgorithmIdentifierOwned,
    issuer_name_hash: OctetString,
    issuer_key_hash: OctetString,
    serial: Any,
}
