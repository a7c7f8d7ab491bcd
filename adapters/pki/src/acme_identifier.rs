//! What a server shows for the challenge tls-alpn-01 (RFC 8737 section 3, RFC 8738 section 6).

use std::net::IpAddr;

use chancery_domain::Identifier;
use der::{Decode, asn1::OctetStringRef};
use x509_parser::{
    der_parser::{asn1_rs::oid, oid::Oid},
    extensions::{GeneralName, ParsedExtension},
    prelude::{FromDer, X509Certificate},
};

const ACME_IDENTIFIER: Oid<'static> = oid!(1.3.6.1.5.5.7.1.31);

/// Why the certificate that a server showed does not answer the challenge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcmeIdentifierProblem {
    /// It is no certificate.
    #[error("what the server sent is not a certificate")]
    NotACertificate,
    /// Its names are not exactly the one that is to be validated.
    #[error("the certificate must have {expected} as its only subject alternative name, and has: {found}")]
    Names {
        /// What it should say.
        expected: String,
        /// What it says.
        found: String,
    },
    /// It has no acmeIdentifier extension, or several.
    #[error("the certificate must have one acmeIdentifier extension (1.3.6.1.5.5.7.1.31), and has {0}")]
    Extensions(usize),
    /// The extension is not critical.
    #[error("the acmeIdentifier extension of the certificate is not critical")]
    NotCritical,
    /// The extension does not hold a SHA-256.
    #[error("the acmeIdentifier extension of the certificate is not an OCTET STRING of 32 octets")]
    Malformed,
    /// The extension holds the hash of something else.
    #[error("the acmeIdentifier extension holds {found}, and the SHA-256 of the key authorization is {expected}")]
    Digest {
        /// What it should hold, in hexadecimal.
        expected: String,
        /// What it holds, in hexadecimal.
        found: String,
    },
}

/// Whether this certificate, in DER, answers the challenge for the identifier: its only name is the identifier, and its
/// critical acmeIdentifier extension holds this SHA-256 of the key authorization.
pub fn check_acme_identifier(
    certificate: &[u8],
    identifier: &Identifier,
    digest: &[u8; 32],
) -> Result<(), AcmeIdentifierProblem> {
    let Ok(([], certificate)) = X509Certificate::from_der(certificate) else {
        return Err(AcmeIdentifierProblem::NotACertificate);
    };
    names(&certificate, identifier)?;
    let mut extensions = certificate.extensions().iter().filter(|extension| extension.oid == ACME_IDENTIFIER);
    let extension = match (extensions.next(), extensions.count()) {
        (Some(extension), 0) => extension,
        (found, more) => return Err(AcmeIdentifierProblem::Extensions(usize::from(found.is_some()) + more)),
    };
    if !extension.critical {
        return Err(AcmeIdentifierProblem::NotCritical);
    }
    let found = <&OctetStringRef>::from_der(extension.value).map_err(|_| AcmeIdentifierProblem::Malformed)?.as_bytes();
    if found.len() != digest.len() {
        return Err(AcmeIdentifierProblem::Malformed);
    }
    if found != digest {
        let hex = |bytes| data_encoding::HEXLOWER.encode(bytes);
        return Err(AcmeIdentifierProblem::Digest { expected: hex(digest), found: hex(found) });
    }
    Ok(())
}

fn names(certificate: &X509Certificate<'_>, identifier: &Identifier) -> Result<(), AcmeIdentifierProblem> {
    let mut found = Vec::new();
    for extension in certificate.extensions() {
        if let ParsedExtension::SubjectAlternativeName(names) = extension.parsed_extension() {
            found.extend(&names.general_names);
        }
    }
    let matches = match (found.as_slice(), identifier) {
        ([GeneralName::DNSName(name)], Identifier::Dns(wanted)) => name.eq_ignore_ascii_case(wanted.as_str()),
        ([GeneralName::IPAddress(octets)], Identifier::Ip(IpAddr::V4(wanted))) => *octets == wanted.octets(),
        ([GeneralName::IPAddress(octets)], Identifier::Ip(IpAddr::V6(wanted))) => *octets == wanted.octets(),
        _ => false,
    };
    if matches {
        return Ok(());
    }
    // Some of what a stranger sent, for the person who has to mend it.
    let text = found.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let found = if text.is_empty() { "none".to_owned() } else { text.chars().take(300).collect() };
    Err(AcmeIdentifierProblem::Names { expected: identifier.to_string(), found })
}
