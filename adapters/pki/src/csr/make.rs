//! A request of our own: for those who want a key and a certificate at once.

use std::collections::BTreeSet;

use chancery_domain::Identifier;
use der::{
    Encode,
    asn1::ObjectIdentifier,
    oid::db::rfc5280::{
        ID_CE_BASIC_CONSTRAINTS, ID_CE_CERTIFICATE_POLICIES, ID_CE_EXT_KEY_USAGE, ID_CE_KEY_USAGE,
        ID_CE_SUBJECT_KEY_IDENTIFIER,
    },
    pem::{self, LineEnding},
};
use x509_cert::{ext::Extension, name::RdnSequence};

use super::envelope::LABEL;
use crate::{
    certificate::Certificate,
    error::{NameError, PkiError},
    extensions,
    keys::Signer,
    tbs,
    tlv::tlv,
};

const INTEGER_ZERO: &[u8] = &[0x02, 1, 0];
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
/// `[0]`, constructed.
const CONTEXT_0: u8 = 0xa0;
/// PKCS #9: the extensions that are asked for (RFC 2985 section 5.4.2).
const EXTENSION_REQUEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.14");

/// What the certificate of a CA says of what it may do, and of its key. The rest is for whoever signs it to say.
const OF_A_CA: [ObjectIdentifier; 5] = [
    ID_CE_BASIC_CONSTRAINTS,
    ID_CE_KEY_USAGE,
    ID_CE_EXT_KEY_USAGE,
    ID_CE_CERTIFICATE_POLICIES,
    ID_CE_SUBJECT_KEY_IDENTIFIER,
];

/// A PKCS #10 request (RFC 2986) in DER for these names, which stand in the subject alternative names alone. Whoever gets it checks
/// its signature.
pub fn make_request(key: &dyn Signer, names: &[Identifier]) -> Result<Vec<u8>, PkiError> {
    let names: BTreeSet<_> = names.iter().collect();
    if names.is_empty() {
        return Err(NameError::NoNames.into());
    }
    tbs::sign_unchecked(&wish(key, &der(&RdnSequence::default())?, &[extensions::names(names, false)?])?, key)
}

/// One for a CA that has a certificate already, with the same subject.
pub(crate) fn make_ca_request(key: &dyn Signer, certificate: &Certificate) -> Result<Vec<u8>, PkiError> {
    let wanted = certificate.extensions().iter().filter(|extension| OF_A_CA.contains(&extension.extn_id));
    tbs::sign(&wish(key, &der(certificate.subject())?, &wanted.cloned().collect::<Vec<_>>())?, key)
}

/// One PEM block, ending in a newline.
pub fn request_to_pem(der: &[u8]) -> Result<String, PkiError> {
    pem::encode_string(LABEL, LineEnding::LF, der).map_err(|_| PkiError::Pem("it cannot be written"))
}

/// What is signed (`CertificationRequestInfo`).
fn wish(key: &dyn Signer, subject: &[u8], wanted: &[Extension]) -> Result<Vec<u8>, PkiError> {
    let wanted = wanted.iter().map(der).collect::<Result<Vec<_>, _>>()?.concat();
    let extensions = tlv(SEQUENCE, &[&wanted])?;
    let attribute = tlv(SEQUENCE, &[&der(&EXTENSION_REQUEST)?, &tlv(SET, &[&extensions])?])?;
    tlv(SEQUENCE, &[INTEGER_ZERO, subject, key.spki(), &tlv(CONTEXT_0, &[&attribute])?])
}

fn der(value: &impl Encode) -> Result<Vec<u8>, PkiError> {
    value.to_der().map_err(PkiError::Encoding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CertificateRequest, CsrRules, KeyAlgorithm, NameRules, NoKnownBadKeys, PrivateKey};

    #[test]
    fn what_we_ask_for_ourselves_can_be_granted() {
        let names = ["hello.test", "*.hello.test", "192.0.2.1"].map(|name| Identifier::parse(name).unwrap());
        for algorithm in [KeyAlgorithm::EcP256, KeyAlgorithm::EcP384, KeyAlgorithm::Rsa2048] {
            let request = make_request(&PrivateKey::generate(algorithm).unwrap(), &names).unwrap();
            let request = CertificateRequest::parse(request).unwrap();
            let rules = NameRules { internal_names: true, special_addresses: true, ..NameRules::default() };
            let rules = CsrRules { names: rules, ..CsrRules::default() };
            let problems: Vec<_> = request.check(&rules, &NoKnownBadKeys).iter().map(ToString::to_string).collect();
            assert_eq!(problems, [""; 0]);
            let (mut found, mut wanted) = (request.identifiers(), names.to_vec());
            found.sort();
            wanted.sort();
            assert_eq!(found, wanted);
        }
    }
}
