//! Certificates and revocation lists as people keep them: in files, as PEM or DER, many or one.

use der::{
    AnyRef, Decode, Encode,
    asn1::{BitStringRef, Uint},
    oid::db::rfc5280::ID_CE_CRL_NUMBER,
    pem,
};

use crate::{
    certificate::{Certificate, seconds},
    crl::{RevokedCertificate, TbsCertList, addresses, reason_of},
    error::PkiError,
    public_key::verify,
    serial::Serial,
};

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";

/// What a file has.
#[derive(Clone, Debug)]
pub enum Kept {
    Certificate(Box<Certificate>),
    Crl(KeptCrl),
}

/// A revocation list that was published once; nothing is said about whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCrl {
    /// The addresses that it gives for itself; a full list has none.
    pub addresses: Vec<String>,
    /// None where it is greater than any that we give.
    pub number: Option<i64>,
    /// Those whose serial numbers were drawn here.
    pub revoked: Vec<RevokedCertificate>,
    /// How many have others.
    pub strange: usize,
    tbs: Vec<u8>,
    signature: Vec<u8>,
    issuer: x509_cert::name::RdnSequence,
}

impl Kept {
    /// Reads a whole file: every certificate and list of a PEM text, each for itself, or the one that it is in DER.
    pub fn read(bytes: &[u8]) -> Vec<Result<Self, PkiError>> {
        if find(bytes, BEGIN).is_some() {
            return Self::read_pem(bytes);
        }
        let certificate = Self::certificate(bytes);
        // What is said of one that is neither is what is wrong with it as a certificate.
        vec![certificate.or_else(|wrong| KeptCrl::from_der(bytes).map(Self::Crl).map_err(|_| wrong))]
    }

    fn read_pem(mut text: &[u8]) -> Vec<Result<Self, PkiError>> {
        let mut all = Vec::new();
        while let Some(begin) = find(text, BEGIN) {
            let block = &text[begin..];
            let next = find(&block[BEGIN.len()..], BEGIN).map_or(block.len(), |next| BEGIN.len() + next);
            // One that was cut off takes none with it that stands behind it.
            let (block, rest) = block.split_at(end_of_block(&block[..next]).unwrap_or(next));
            all.extend(Self::read_block(block));
            text = rest;
        }
        if all.is_empty() { vec![Err(PkiError::Pem("there is none"))] } else { all }
    }

    /// None of what stands beside certificates, such as keys and requests.
    fn read_block(block: &[u8]) -> Option<Result<Self, PkiError>> {
        match pem::decode_vec(block) {
            Ok(("CERTIFICATE" | "X509 CERTIFICATE", der)) => Some(Self::certificate(&der)),
            Ok(("X509 CRL", der)) => Some(KeptCrl::from_der(&der).map(Self::Crl)),
            Ok((label, _)) if label.ends_with("CERTIFICATE") => {
                Some(Err(PkiError::Pem("a kind of certificate that is not read")))
            }
            Ok(_) => None,
            Err(_) => Some(Err(PkiError::Pem("broken base64, or no end"))),
        }
    }

    fn certificate(der: &[u8]) -> Result<Self, PkiError> {
        Certificate::from_der(der).map(|certificate| Self::Certificate(Box::new(certificate)))
    }
}

impl KeptCrl {
    /// Reads one list of the form that ours have, in DER, with nothing after it.
    pub fn from_der(der: &[u8]) -> Result<Self, PkiError> {
        let parts = Vec::<AnyRef<'_>>::from_der(der).map_err(PkiError::Der)?;
        let [tbs, _, signature] = parts.as_slice() else {
            return Err(PkiError::Der(der::ErrorKind::Failed.into()));
        };
        let signature = signature.decode_as::<BitStringRef<'_>>().map_err(PkiError::Der)?.raw_bytes().to_vec();
        let tbs = tbs.to_der().map_err(PkiError::Der)?;
        let list = TbsCertList::from_der(&tbs).map_err(PkiError::Der)?;
        let entries = list.revoked.unwrap_or_default();
        let drawn = |entry: &x509_cert::crl::RevokedCert| {
            Some(RevokedCertificate {
                serial: Serial::from_bytes(entry.serial_number.as_bytes())?,
                revoked_at: seconds(entry.revocation_date),
                reason: reason_of(entry),
                ca: false,
            })
        };
        let revoked: Vec<_> = entries.iter().filter_map(drawn).collect();
        let number = list.extensions.iter().find(|extension| extension.extn_id == ID_CE_CRL_NUMBER);
        let number = number.and_then(|number| Uint::from_der(number.extn_value.as_bytes()).ok());
        Ok(Self {
            addresses: addresses(&list.extensions).unwrap_or_default(),
            number: number.and_then(|number| small(number.as_bytes())),
            strange: entries.len() - revoked.len(),
            revoked,
            tbs,
            signature,
            issuer: list.issuer,
        })
    }

    /// Whether it names this issuer, and its signature is that issuer's.
    pub fn was_signed_by(&self, issuer: &Certificate) -> Result<bool, PkiError> {
        let named = self.issuer == *issuer.subject().as_ref();
        Ok(named && verify(&issuer.spki()?, &self.tbs, &self.signature).is_ok())
    }

    /// The name of its issuer as RFC 4514 text.
    pub fn issuer_text(&self) -> String {
        self.issuer.to_string()
    }
}

fn small(octets: &[u8]) -> Option<i64> {
    octets.iter().try_fold(0_i64, |number, octet| number.checked_mul(256)?.checked_add(i64::from(*octet)))
}

fn end_of_block(text: &[u8]) -> Option<usize> {
    let label = find(text, END)? + END.len();
    Some(label + find(&text[label..], DASHES)? + DASHES.len())
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chancery_domain::{Entropy, RevocationReason};

    use super::*;
    use crate::{CaName, Crl, CrlContents, CrlScope, Issuer, KeyAlgorithm, PrivateKey, Validity, root};

    const NOW: i64 = 1_800_000_000;

    struct Constant(u8);

    impl Entropy for Constant {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    fn ca(name: &str) -> Issuer {
        let key = PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
        let name = CaName::new("DE", "Test", name).unwrap();
        let certificate = root(&key, &name, Validity::days(NOW, 10).unwrap(), Serial::draw(&Constant(9))).unwrap();
        Issuer::new(certificate, Arc::new(key)).unwrap()
    }

    fn entry(byte: u8, reason: RevocationReason, ca: bool) -> RevokedCertificate {
        RevokedCertificate { serial: Serial::draw(&Constant(byte)), revoked_at: NOW - i64::from(byte), reason, ca }
    }

    fn list(issuer: &Issuer, scope: CrlScope<'_>, revoked: &[RevokedCertificate]) -> Vec<u8> {
        let contents = CrlContents { scope, number: 70_000, this_update: NOW, next_update: NOW + 3600, revoked };
        Crl::sign(issuer, &contents).unwrap().into_der()
    }

    fn pem_of(label: &'static str, der: &[u8]) -> String {
        pem::encode_string(label, pem::LineEnding::LF, der).unwrap()
    }

    #[test]
    fn a_list_says_again_what_was_written_on_it() {
        let (issuer, url) = (ca("Mine"), "http://ca.test/crl/x/3.crl");
        let revoked = RevocationReason::ALL.iter().zip(1..).map(|(reason, byte)| entry(byte, *reason, false));
        let revoked: Vec<_> = revoked.collect();
        let read = KeptCrl::from_der(&list(&issuer, CrlScope::Shard(url), &revoked)).unwrap();
        assert_eq!((read.addresses.as_slice(), read.number, read.strange), (&[url.to_owned()][..], Some(70_000), 0));
        assert_eq!(read.revoked, revoked);

        let compromised = [entry(1, RevocationReason::KeyCompromise, true)];
        let full = KeptCrl::from_der(&list(&issuer, CrlScope::Full, &compromised)).unwrap();
        assert!(full.addresses.is_empty());
        assert_eq!(full.revoked, [RevokedCertificate { ca: false, ..compromised[0] }], "cACompromise");
        let empty = KeptCrl::from_der(&list(&issuer, CrlScope::Full, &[])).unwrap();
        assert!(empty.revoked.is_empty());
    }

    #[test]
    fn a_list_is_whose_signature_it_has() {
        let (issuer, namesake) = (ca("Mine"), ca("Mine"));
        let mut der = list(&issuer, CrlScope::Full, &[entry(1, RevocationReason::Superseded, false)]);
        let read = KeptCrl::from_der(&der).unwrap();
        assert!(read.was_signed_by(issuer.certificate()).unwrap());
        assert!(!read.was_signed_by(namesake.certificate()).unwrap());
        assert!(!read.was_signed_by(ca("Other").certificate()).unwrap());
        // One bit of a serial number.
        let at = der.windows(4).position(|window| window == [1; 4]).unwrap();
        der[at + 2] ^= 1;
        assert!(!KeptCrl::from_der(&der).unwrap().was_signed_by(issuer.certificate()).unwrap());
    }

    #[test]
    fn a_file_has_certificates_and_lists_and_what_is_broken_keeps_none_of_them() {
        let issuer = ca("Mine");
        let (certificate, list) = (issuer.certificate(), list(&issuer, CrlScope::Full, &[]));
        let kinds = |bytes: &[u8]| {
            let kind = |kept: &Result<Kept, PkiError>| match kept {
                Ok(Kept::Certificate(_)) => 'c',
                Ok(Kept::Crl(_)) => 'l',
                Err(_) => '!',
            };
            Kept::read(bytes).iter().map(kind).collect::<String>()
        };
        assert_eq!(kinds(certificate.as_der()), "c");
        assert_eq!(kinds(&list), "l");
        let (mine, key) = (certificate.to_pem(), pem_of("PRIVATE KEY", b"secret"));
        let broken = pem_of("CERTIFICATE", b"no certificate");
        let cut_off = &mine[..mine.len() / 2];
        assert_eq!(kinds(format!("{cut_off}\n{mine}").as_bytes()), "!c");
        assert_eq!(kinds(pem_of("TRUSTED CERTIFICATE", b"x").as_bytes()), "!");
        let text = format!("subject=x\r\n{mine}{key}{broken}{}\n{mine}", pem_of("X509 CRL", &list));
        assert_eq!(kinds(text.as_bytes()), "c!lc");
        assert_eq!(kinds(&[text.as_bytes(), b"-----BEGIN CERTIFICATE-----\nMII"].concat()), "c!lc!");
        for nothing in [&b""[..], b"-----BEGIN ", b"a line\n", key.as_bytes(), &[0x30, 0x80]] {
            assert_eq!(kinds(nothing), "!", "{nothing:?}");
        }
        assert_eq!(kinds(&[certificate.as_der(), b"more"].concat()), "!");
    }
}
