//! From the parts of a certificate to the signed bytes.

use der::{
    Decode, Encode, Sequence,
    asn1::{Any, BitString},
};
use spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use x509_cert::{
    certificate::Version, ext::Extension, name::RdnSequence, serial_number::SerialNumber,
    time::Validity as EncodedValidity,
};

use crate::{
    certificate::Certificate,
    error::{KeyError, PkiError},
    keys::Signer,
    public_key::{KeyAlgorithm, verify},
    serial::Serial,
    validity::Validity,
};

/// Everything a certificate says, except who signs it and how.
pub(crate) struct Draft {
    pub(crate) serial: Serial,
    pub(crate) issuer: RdnSequence,
    pub(crate) validity: Validity,
    pub(crate) subject: RdnSequence,
    pub(crate) spki: SubjectPublicKeyInfoOwned,
    pub(crate) extensions: Vec<Extension>,
}

impl Draft {
    /// Encodes, signs, and checks the signature: a faulty signer must not get a certificate out.
    pub(crate) fn sign(self, signer: &dyn Signer) -> Result<Certificate, PkiError> {
        let signature_algorithm = signer.algorithm().signature_algorithm();
        let tbs = TbsCertificate {
            version: Version::V3,
            serial_number: self.serial.encode()?,
            signature: signature_algorithm.clone(),
            issuer: self.issuer,
            validity: self.validity.encode()?,
            subject: self.subject,
            subject_public_key_info: self.spki,
            extensions: self.extensions,
        };
        let tbs = tbs.to_der().map_err(PkiError::Encoding)?;
        let signature = signer.sign(&tbs)?;
        verify(signer.spki(), &tbs, &signature)?;
        // The very bytes that were signed go into the certificate; they are not encoded again.
        let signed = || {
            let tbs_certificate = Any::from_der(&tbs)?;
            let signature = BitString::from_bytes(&signature)?;
            SignedCertificate { tbs_certificate, signature_algorithm, signature }.to_der()
        };
        Certificate::from_der(&signed().map_err(PkiError::Encoding)?)
    }
}

/// The public key of a certificate to be made; one of our kinds.
pub(crate) fn public_key(spki: &[u8]) -> Result<SubjectPublicKeyInfoOwned, PkiError> {
    KeyAlgorithm::of(spki).ok_or(KeyError::Unsupported)?;
    Ok(SubjectPublicKeyInfoOwned::from_der(spki).map_err(|_| KeyError::Unsupported)?)
}

/// RFC 5280 section 4.1; without the unique identifiers, which section 4.1.2.8 forbids.
#[derive(Sequence)]
struct TbsCertificate {
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT")]
    version: Version,
    serial_number: SerialNumber,
    signature: AlgorithmIdentifierOwned,
    issuer: RdnSequence,
    validity: EncodedValidity,
    subject: RdnSequence,
    subject_public_key_info: SubjectPublicKeyInfoOwned,
    #[asn1(context_specific = "3", tag_mode = "EXPLICIT")]
    extensions: Vec<Extension>,
}

/// RFC 5280 section 4.1.
#[derive(Sequence)]
struct SignedCertificate {
    tbs_certificate: Any,
    signature_algorithm: AlgorithmIdentifierOwned,
    signature: BitString,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PrivateKey;

    /// A signer whose hardware has gone wrong.
    struct Faulty(PrivateKey);

    impl Signer for Faulty {
        fn algorithm(&self) -> KeyAlgorithm {
            self.0.algorithm()
        }

        fn spki(&self) -> &[u8] {
            self.0.spki()
        }

        fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
            self.0.sign(&message[1..])
        }
    }

    struct Zeros;

    impl chancery_domain::Entropy for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    #[test]
    fn a_wrong_signature_never_becomes_a_certificate() {
        let faulty = Faulty(PrivateKey::generate(KeyAlgorithm::EcP256).unwrap());
        let draft = Draft {
            serial: Serial::draw(&Zeros),
            issuer: RdnSequence::default(),
            validity: Validity::days(0, 1).unwrap(),
            subject: RdnSequence::default(),
            spki: public_key(faulty.spki()).unwrap(),
            extensions: Vec::new(),
        };
        assert!(matches!(draft.sign(&faulty), Err(PkiError::Key(KeyError::BadSignature))));
    }
}
