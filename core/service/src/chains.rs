//! The ways from a CA up to a root: the one of its own certificate, and further ones where others vouch for it.

use chancery_domain::{IssuerId, Timestamp};
use chancery_pki::{Certificate, IssuerChain, chain_to_pem, chain_to_pkcs7};
use chancery_store::ChainRecord;

use crate::error::ServiceError;

/// The chains of one CA.
pub struct Chains {
    /// From itself up to, and without, the root.
    own: Vec<Certificate>,
    /// By their numbers.
    further: Vec<Further>,
}

struct Further {
    number: u32,
    fingerprint: String,
    chain: IssuerChain,
}

/// One of them.
#[derive(Clone, Copy)]
pub struct Chain<'a>(&'a [Certificate]);

impl Chains {
    pub(crate) fn of(issuer: IssuerId, own: Certificate, stored: &[ChainRecord]) -> Result<Self, ServiceError> {
        let further = stored.iter().filter(|record| record.issuer == issuer).map(|record| {
            let chain = IssuerChain::from_pem(&record.pem).map_err(ServiceError::internal)?;
            Ok(Further { number: record.number, fingerprint: record.fingerprint.clone(), chain })
        });
        Ok(Self { own: vec![own], further: further.collect::<Result<_, ServiceError>>()? })
    }

    /// Every way up but the one that is shown; none is the CA's own. What has expired helps nobody.
    pub fn others(&self, shown: Option<u32>, now: Timestamp) -> Vec<Option<u32>> {
        let good = self.further.iter().filter(|further| further.is_good(now)).map(|further| Some(further.number));
        std::iter::once(None).chain(good).filter(|other| *other != shown).collect()
    }

    /// The CA's own, or the one of a number if it can be had.
    pub fn get(&self, number: Option<u32>, now: Timestamp) -> Option<Chain<'_>> {
        let Some(number) = number else { return Some(Chain(&self.own)) };
        let found = self.further.iter().find(|further| further.number == number && further.is_good(now));
        found.map(|further| Chain(further.chain.served()))
    }

    /// Every way up, the CA's own first.
    pub(crate) fn all(&self, now: Timestamp) -> impl Iterator<Item = Chain<'_>> {
        let further = self.others(None, now).into_iter();
        std::iter::once(Chain(&self.own)).chain(further.filter_map(move |number| self.get(number, now)))
    }

    /// What tells whether the database has the same.
    pub(crate) fn marks(&self, issuer: IssuerId) -> impl Iterator<Item = (IssuerId, u32, String)> {
        self.further.iter().map(move |further| (issuer, further.number, further.fingerprint.clone()))
    }
}

impl Chain<'_> {
    /// Each of them in DER.
    pub(crate) fn ders(self) -> impl Iterator<Item = Vec<u8>> {
        self.0.iter().map(|certificate| certificate.as_der().to_vec())
    }

    /// In PEM, to follow the certificate that was issued.
    pub fn pem(self) -> String {
        chain_to_pem(self.0)
    }

    /// A certificate with the chain, as PKCS #7.
    pub fn pkcs7(self, certificate: &Certificate) -> Result<Vec<u8>, ServiceError> {
        chain_to_pkcs7(std::iter::once(certificate).chain(self.0)).map_err(ServiceError::internal)
    }
}

impl Further {
    fn is_good(&self, now: Timestamp) -> bool {
        now.as_secs() <= self.chain.not_after()
    }
}
