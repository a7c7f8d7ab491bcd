//! What can go wrong, by what was being handled.

use crate::serial::Serial;

/// Why something was not made or not read.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A key was refused, or a signature could not be made.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A name cannot stand in a certificate.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A period cannot stand in a certificate.
    #[error(transparent)]
    Validity(#[from] ValidityError),
    /// The issuer cannot issue this.
    #[error(transparent)]
    Issuer(#[from] IssuerError),
    /// A revocation list cannot be made of this.
    #[error(transparent)]
    Crl(#[from] CrlError),
    /// An OCSP response cannot be made.
    #[error(transparent)]
    Ocsp(#[from] OcspError),
    /// An address for a certificate's readers is not a plain `http://` URL.
    #[error("{0:?} is not an http:// URL in ASCII")]
    Url(String),
    /// The bytes are not a certificate in DER.
    #[error("not a certificate in DER: {0}")]
    Der(der::Error),
    /// The text holds no certificate in PEM, or a broken one.
    #[error("not a certificate in PEM: {0}")]
    Pem(&'static str),
    /// A stored draft has a serial number that was not drawn here.
    #[error("the serial number is not one of 20 octets that was drawn here")]
    Serial,
    /// What was signed is not what was to be signed; a flaw of this program or of its signer.
    #[error("the signed certificate does not contain the linted draft")]
    NotTheDraft,
    /// What is to become a certificate with timestamps is not a precertificate, or has too many.
    #[error("timestamps of logs go into a precertificate, and fit into 64 kB")]
    Scts,
    /// What was to be written does not fit into DER; a flaw of this program.
    #[error("cannot encode: {0}")]
    Encoding(der::Error),
}

/// What is wrong with a key or a signature. Nothing of the key is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Neither a P-256, P-384 nor an RSA key of 2048, 3072 or 4096 bits.
    #[error("the key is broken or of a kind that is not supported")]
    Unsupported,
    /// The crypto library could not make a key.
    #[error("could not generate a key")]
    Generation,
    /// The key could not be written as PKCS#8.
    #[error("could not encode the private key")]
    Encoding,
    /// The signer did not sign.
    #[error("could not sign")]
    Signing,
    /// The signature is not one of this key over these bytes.
    #[error("the signature does not verify")]
    BadSignature,
    /// The token that has the key did not do it, which may pass.
    #[error("{0}")]
    Token(String),
}

/// What is wrong with a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A country that is not two capital letters.
    #[error("{0:?} is not a country code of two capital letters")]
    Country(String),
    /// An organization or common name that is empty, too long or not plain text.
    #[error("{0:?} is not 1 to 64 characters of plain text without blanks at its ends")]
    Text(String),
    /// A server certificate without a name.
    #[error("a server certificate needs at least one name")]
    NoNames,
}

/// What is wrong with a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValidityError {
    /// Shorter than a second.
    #[error("a certificate is valid for at least one second")]
    Empty,
    /// Begins before 1970 or ends after 9999.
    #[error("a certificate begins in 1970 or later and ends in 9999 or earlier")]
    OutOfRange,
}

/// Why an issuer cannot issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IssuerError {
    /// The signer's key is not the one in the issuer's certificate.
    #[error("the key does not belong to the issuer's certificate")]
    WrongKey,
    /// The certificate is not one of a CA that may sign certificates and has a key identifier.
    #[error("the issuer's certificate is not that of a CA that may sign certificates")]
    NotACa,
    /// The issuer's certificate forbids CAs below it.
    #[error("the issuer's certificate allows no CA below it")]
    PathLength,
    /// A CA cannot certify a CA of its own name; that would look like a new root.
    #[error("the new CA has the name of its issuer")]
    SameName,
    /// The draft was linted for another issuer.
    #[error("the draft was linted for another issuer")]
    OtherIssuer,
    /// The certificate would be valid for longer than its issuer's.
    #[error("the certificate would outlive its issuer's, which ends at {issuer_not_after}")]
    OutlivesIssuer {
        /// The last second of the issuer's certificate, in Unix seconds.
        issuer_not_after: i64,
    },
}

/// Why a revocation list cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrlError {
    /// It would be over at once, or stand for too long.
    #[error("the next revocation list must come after this one and within {max_days} days")]
    NextUpdate {
        /// How long it may stand.
        max_days: i64,
    },
    /// The same certificate twice.
    #[error("the certificate {0} is listed twice")]
    Duplicate(Serial),
}

/// Why an OCSP response cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OcspError {
    /// The certificate is not one by which the issuer delegates its answers.
    #[error("the certificate is not that of an OCSP responder of this issuer")]
    NotDelegated,
    /// It would be over at once, or stand for too long, or outlive the responder's certificate.
    #[error(
        "an OCSP response stands for at most 10 days, and not beyond its signer's certificate ({certificate_ends})"
    )]
    NextUpdate {
        /// The last second of the responder's certificate, in Unix seconds.
        certificate_ends: i64,
    },
}
