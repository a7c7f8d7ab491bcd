//! From the parts of a certificate to the bytes to be signed, and from those to the certificate.

use der::{
    Decode, Encode, Sequence,
    asn1::{AnyRef, BitStringRef},
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

/// Everything a certificate says, except how it is signed.
pub(crate) struct Contents {
    pub(crate) serial: Serial,
    pub(crate) issuer: RdnSequence,
    pub(crate) validity: Validity,
    pub(crate) subject: RdnSequence,
    pub(crate) spki: SubjectPublicKeyInfoOwned,
    pub(crate) extensions: Vec<Extension>,
}

impl Contents {
    /// The bytes to be signed by a key of this kind.
    pub(crate) fn encode(self, signed_with: KeyAlgorithm) -> Result<Vec<u8>, PkiError> {
        let tbs = TbsCertificate {
            version: Version::V3,
            serial_number: self.serial.encode()?,
            signature: signed_with.signature_algorithm(),
            issuer: self.issuer,
            validity: self.validity.encode()?,
            subject: self.subject,
            subject_public_key_info: self.spki,
            extensions: self.extensions,
        };
        tbs.to_der().map_err(PkiError::Encoding)
    }

    /// Encodes and signs.
    pub(crate) fn sign(self, signer: &dyn Signer) -> Result<Certificate, PkiError> {
        Certificate::from_der(&sign(&self.encode(signer.algorithm())?, signer)?)
    }
}

/// Signs what is to be signed and puts the signature behind it: the form that certificates, revocation lists and
/// OCSP responses share (RFC 5280 section 4.1, RFC 6960 section 4.2.1).
///
/// Checks the signature: a faulty signer must not get anything out. The very bytes that were signed go into the
/// result; they are not encoded again.
pub(crate) fn sign(tbs: &[u8], signer: &dyn Signer) -> Result<Vec<u8>, PkiError> {
    let signature = signer.sign(tbs)?;
    verify(signer.spki(), tbs, &signature)?;
    put_behind(tbs, signer, &signature)
}

/// As [`sign`], without a check: for what is good for nothing unless somebody else has checked it.
pub(crate) fn sign_unchecked(tbs: &[u8], signer: &dyn Signer) -> Result<Vec<u8>, PkiError> {
    put_behind(tbs, signer, &signer.sign(tbs)?)
}

fn put_behind(tbs: &[u8], signer: &dyn Signer, signature: &[u8]) -> Result<Vec<u8>, PkiError> {
    let signed = || {
        let tbs = AnyRef::from_der(tbs)?;
        let signature = BitStringRef::from_bytes(signature)?;
        Signed { tbs, algorithm: signer.algorithm().signature_algorithm(), signature }.to_der()
    };
    signed().map_err(PkiError::Encoding)
}

/// The TBSCertificate in DER with its extensions changed.
pub(crate) fn map_extensions(tbs: &[u8], change: impl FnOnce(&mut Vec<Extension>)) -> Result<Vec<u8>, PkiError> {
    let mut tbs = TbsCertificate::from_der(tbs).map_err(PkiError::Der)?;
    change(&mut tbs.extensions);
    tbs.to_der().map_err(PkiError::Encoding)
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

#[derive(Sequence)]
struct Signed<'a> {
    tbs: AnyRef<'a>,
    algorithm: AlgorithmIdentifierOwned,
    signature: BitStringRef<'a>,
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
        let contents = Contents {
            serial: Serial::draw(&Zeros),
            issuer: RdnSequence::default(),
            validity: Validity::days(0, 1).unwrap(),
            subject: RdnSequence::default(),
            spki: public_key(faulty.spki()).unwrap(),
            extensions: Vec::new(),
        };
        assert!(matches!(contents.sign(&faulty), Err(PkiError::Key(KeyError::BadSignature))));
    }
}
