//! A CA that can issue: its certificate together with its key.

use std::sync::Arc;

use der::asn1::OctetString;
use x509_cert::{ext::Extension, name::RdnSequence};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::{
    certificate::Certificate,
    csr::make_ca_request,
    draft::{Linted, LintedPrecertificate, Precertificate, Signed},
    error::{IssuerError, KeyError, PkiError},
    extensions,
    keys::Signer,
    profile::Purpose,
    public_key::KeyAlgorithm,
    tbs::{self, Contents},
};

/// A certificate that may sign certificates, and the key that belongs to it. Cheap to clone.
#[derive(Clone)]
pub struct Issuer {
    certificate: Arc<Certificate>,
    signer: Arc<dyn Signer>,
    key_id: OctetString,
    fingerprint: [u8; 32],
    may_have_cas_below: bool,
    /// The last second of what it issues to subscribers.
    not_after: i64,
}

impl Issuer {
    /// Joins the two, if they belong together and the certificate is a CA's with `keyCertSign` and a
    /// subject key identifier.
    pub fn new(certificate: Certificate, signer: Arc<dyn Signer>) -> Result<Self, PkiError> {
        if certificate.spki()? != signer.spki() {
            return Err(IssuerError::WrongKey.into());
        }
        let constraints = certificate.basic_constraints()?.filter(|constraints| constraints.ca);
        let constraints = constraints.ok_or(IssuerError::NotACa)?;
        if !certificate.key_usage()?.is_some_and(|usage| usage.key_cert_sign()) {
            return Err(IssuerError::NotACa.into());
        }
        let key_id = certificate.subject_key_id()?.ok_or(IssuerError::NotACa)?;
        let may_have_cas_below = constraints.path_len_constraint != Some(0);
        let (fingerprint, not_after) = (certificate.sha256(), certificate.not_after());
        Ok(Self { certificate: Arc::new(certificate), signer, key_id, fingerprint, may_have_cas_below, not_after })
    }

    /// Has nothing that it issues to subscribers last beyond this second, with which what they rely on ends,
    /// if its own certificate does not end before.
    pub fn until(mut self, last: i64) -> Self {
        self.not_after = self.not_after.min(last);
        self
    }

    /// Its certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// What kind of key it signs with.
    pub fn algorithm(&self) -> KeyAlgorithm {
        self.signer.algorithm()
    }

    /// Whether its key has to be waited for.
    pub fn signs_elsewhere(&self) -> bool {
        self.signer.is_elsewhere()
    }

    /// Whether its key could sign now.
    pub fn check_key(&self) -> Result<(), KeyError> {
        self.signer.check()
    }

    /// The last second that a certificate of its subscribers may have, in Unix seconds.
    pub fn not_after(&self) -> i64 {
        self.not_after
    }

    /// Whether its certificates may be for all of these purposes.
    pub fn covers(&self, purposes: &[Purpose]) -> bool {
        self.certificate.covers(purposes).unwrap_or(false)
    }

    /// Signs a linted draft, and so uses it up.
    ///
    /// What comes out was checked: its signature verifies, and what was signed is the draft, byte for byte. If the
    /// signer fails, the stored draft can be linted and signed again.
    pub fn sign(&self, linted: Linted) -> Result<Signed, PkiError> {
        Certificate::from_der(&self.sign_linted(&linted)?).map(Signed::new)
    }

    /// Signs a linted precertificate, and so uses it up.
    ///
    /// Whoever signs one promises to issue the certificate, and answers for it.
    pub fn sign_precertificate(&self, linted: LintedPrecertificate) -> Result<Precertificate, PkiError> {
        self.sign_linted(&linted.into_inner()).map(Precertificate::new)
    }

    fn sign_linted(&self, linted: &Linted) -> Result<Vec<u8>, PkiError> {
        if linted.issuer() != self.fingerprint() {
            return Err(IssuerError::OtherIssuer.into());
        }
        // The signature is checked there; here, by a parser that had no part in writing, what it is a signature of.
        let der = self.sign_bytes(linted.tbs_der())?;
        match X509Certificate::from_der(&der) {
            Ok((rest, read)) if rest.is_empty() && read.tbs_certificate.as_ref() == linted.tbs_der() => Ok(der),
            Ok(_) | Err(_) => Err(PkiError::NotTheDraft),
        }
    }

    /// Signs what is neither a subscriber's certificate nor a CA's: revocation lists.
    pub(crate) fn sign_bytes(&self, tbs: &[u8]) -> Result<Vec<u8>, PkiError> {
        tbs::sign(tbs, &*self.signer)
    }

    /// The SHA-256 of its certificate.
    pub(crate) fn fingerprint(&self) -> &[u8; 32] {
        &self.fingerprint
    }

    /// Signs contents whose issuer is [`name`](Self::name), unless it would outlive this CA's certificate.
    pub(crate) fn certify(&self, contents: Contents) -> Result<Certificate, PkiError> {
        let issuer_not_after = self.certificate.not_after();
        if contents.validity.not_after() > issuer_not_after {
            return Err(IssuerError::OutlivesIssuer { issuer_not_after }.into());
        }
        contents.sign(&*self.signer)
    }

    pub(crate) fn name(&self) -> RdnSequence {
        self.certificate.subject().clone().into()
    }

    /// A request (PKCS #10, in DER) for another CA to vouch for this one: for its name, its key, and all that its own
    /// certificate says of what it may do.
    pub fn request(&self) -> Result<Vec<u8>, PkiError> {
        make_ca_request(&*self.signer, &self.certificate)
    }

    /// The identifier of its key, as the certificates it signs name it (RFC 5280 section 4.2.1.1).
    pub fn key_id(&self) -> &[u8] {
        self.key_id.as_bytes()
    }

    pub(crate) fn authority_key_id(&self) -> Result<Extension, PkiError> {
        extensions::authority_key_id(self.key_id.clone())
    }

    pub(crate) fn may_have_cas_below(&self) -> bool {
        self.may_have_cas_below
    }
}

#[cfg(test)]
mod tests {
    use chancery_domain::Entropy;
    use der::{Encode, oid::AssociatedOid, referenced::OwnedToRef};
    use x509_cert::ext::pkix::{BasicConstraints, KeyUsages};

    use super::*;
    use crate::{KeyAlgorithm, PrivateKey, Serial, Validity, tbs::public_key};

    struct Zeros;

    impl Entropy for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    #[test]
    fn a_certificate_that_lacks_any_mark_of_a_ca_cannot_issue() {
        let key = Arc::new(PrivateKey::generate(KeyAlgorithm::EcP256).unwrap());
        let spki = public_key(key.spki()).unwrap();
        let not_a_ca = BasicConstraints { ca: false, path_len_constraint: None }.to_der().unwrap();
        let not_a_ca = Extension {
            extn_id: BasicConstraints::OID,
            critical: true,
            extn_value: OctetString::new(not_a_ca).unwrap(),
        };
        let signs = extensions::key_usage(KeyUsages::KeyCertSign).unwrap();
        let signs_lists = extensions::key_usage(KeyUsages::CRLSign).unwrap();
        let ca = extensions::ca(None).unwrap();
        let key_id = extensions::subject_key_id(spki.owned_to_ref()).unwrap();
        let issuer = |extensions: &[&Extension]| {
            let contents = Contents {
                serial: Serial::draw(&Zeros),
                issuer: RdnSequence::default(),
                validity: Validity::days(0, 1).unwrap(),
                subject: RdnSequence::default(),
                spki: spki.clone(),
                extensions: extensions.iter().map(|extension| (*extension).clone()).collect(),
            };
            Issuer::new(contents.sign(&*key).unwrap(), key.clone())
        };
        assert!(issuer(&[&ca, &signs, &key_id]).is_ok());
        for lacking in [
            [&not_a_ca, &signs, &key_id].as_slice(),
            &[&signs, &key_id],
            &[&ca, &signs_lists, &key_id],
            &[&ca, &key_id],
            &[&ca, &signs],
        ] {
            assert!(matches!(issuer(lacking).err(), Some(PkiError::Issuer(IssuerError::NotACa))));
        }
    }
}
