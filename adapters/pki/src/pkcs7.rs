//! A chain as PKCS #7: the form that Windows and Java tools like to import.

use der::{
    Encode,
    asn1::ObjectIdentifier,
    oid::db::rfc5911::{ID_DATA, ID_SIGNED_DATA},
};

use crate::{certificate::Certificate, error::PkiError, tlv::tlv};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// `[0]`, constructed.
const CONTEXT_0: u8 = 0xa0;

/// The certificates as SignedData without content and without signatures (RFC 5652 section 5.1, "certs-only"), in DER
/// but for the order, which is the one given: readers take the first for the subject's.
pub fn chain_to_pkcs7<'a>(chain: impl IntoIterator<Item = &'a Certificate>) -> Result<Vec<u8>, PkiError> {
    let version: &[u8] = &[0x02, 1, 1];
    let certificates: Vec<&[u8]> = chain.into_iter().map(Certificate::as_der).collect();
    let no_digests = tlv(SET, &[])?;
    let no_content = tlv(SEQUENCE, &[&oid(ID_DATA)?])?;
    let no_signatures = tlv(SET, &[])?;
    let certificates = tlv(CONTEXT_0, &certificates)?;
    let signed_data = tlv(SEQUENCE, &[version, &no_digests, &no_content, &certificates, &no_signatures])?;
    tlv(SEQUENCE, &[&oid(ID_SIGNED_DATA)?, &tlv(CONTEXT_0, &[&signed_data])?])
}

fn oid(oid: ObjectIdentifier) -> Result<Vec<u8>, PkiError> {
    oid.to_der().map_err(PkiError::Encoding)
}
