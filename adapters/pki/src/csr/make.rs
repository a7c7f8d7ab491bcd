//! A request of our own: for those who want a key and a certificate at once.

use std::collections::BTreeSet;

use chancery_domain::Identifier;
use der::{Encode, asn1::ObjectIdentifier};
use x509_cert::name::RdnSequence;

use crate::{
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

/// A PKCS #10 request (RFC 2986) in DER for these names, which stand in the subject alternative names alone.
pub fn make_request(key: &dyn Signer, names: &[Identifier]) -> Result<Vec<u8>, PkiError> {
    let names: BTreeSet<_> = names.iter().collect();
    if names.is_empty() {
        return Err(NameError::NoNames.into());
    }
    let subject = der(&RdnSequence::default())?;
    let extensions = tlv(SEQUENCE, &[&der(&extensions::names(names, false)?)?])?;
    let attribute = tlv(SEQUENCE, &[&der(&EXTENSION_REQUEST)?, &tlv(SET, &[&extensions])?])?;
    let info = tlv(SEQUENCE, &[INTEGER_ZERO, &subject, key.spki(), &tlv(CONTEXT_0, &[&attribute])?])?;
    tbs::sign(&info, key)
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
