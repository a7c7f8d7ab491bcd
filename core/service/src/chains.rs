//! The ways from a CA up to a root: the one of its own certificate, and further ones where others vouch for it.
//!
//! Each has a number, 0 for the CA's own. Whoever names none gets the one that the operator prefers.

use chancery_domain::{IssuerId, Timestamp};
use chancery_pki::{Certificate, IssuerChain, chain_to_pem, chain_to_pkcs7};
use chancery_store::{ChainMark, ChainRecord, IssuerRecord, PreferredChain};

use crate::error::ServiceError;

/// The chains of one CA.
pub struct Chains {
    /// From itself up to, and without, the root.
    own: Vec<Certificate>,
    /// By their numbers.
    further: Vec<Further>,
    /// The number of one of those.
    preferred: Option<u32>,
}

struct Further {
    number: u32,
    fingerprint: String,
    chain: IssuerChain,
}

/// One of them.
#[derive(Clone, Copy)]
pub struct Chain<'a>(&'a [Certificate]);

/// The number of the CA's own.
const OWN: u32 = 0;

impl Chains {
    pub(crate) fn of(record: &IssuerRecord, own: Certificate, stored: &[ChainRecord]) -> Result<Self, ServiceError> {
        let further = stored.iter().filter(|chain| chain.issuer == record.id).map(|stored| {
            let chain = IssuerChain::from_pem(&stored.pem).map_err(ServiceError::internal)?;
            Ok(Further { number: stored.number, fingerprint: stored.fingerprint.clone(), chain })
        });
        let further = further.collect::<Result<_, ServiceError>>()?;
        Ok(Self { own: vec![own], further, preferred: record.preferred_number() })
    }

    /// The number of the chain that the operator prefers to the CA's own.
    pub(crate) fn preferred(&self) -> Option<u32> {
        self.preferred
    }

    /// Every way up but the one that is shown; none is the usual one. What has expired helps nobody.
    pub fn others(&self, shown: Option<u32>, now: Timestamp) -> Vec<Option<u32>> {
        let usual = self.usual(now);
        let others = self.numbers(now).filter(|number| *number != shown.unwrap_or(usual));
        others.map(|number| (number != usual).then_some(number)).collect()
    }

    /// The usual one, or the one of a number if it can be had.
    pub fn get(&self, number: Option<u32>, now: Timestamp) -> Option<Chain<'_>> {
        match number.unwrap_or_else(|| self.usual(now)) {
            OWN => Some(Chain(&self.own)),
            number => self.good(now).find(|further| further.number == number).map(Further::above),
        }
    }

    /// Every way up, the usual one first.
    pub(crate) fn all(&self, now: Timestamp) -> impl Iterator<Item = Chain<'_>> {
        std::iter::once(None).chain(self.others(None, now)).filter_map(move |number| self.get(number, now))
    }

    /// The number of the one that is given to whoever names none.
    fn usual(&self, now: Timestamp) -> u32 {
        self.preferred.filter(|preferred| self.good(now).any(|further| further.number == *preferred)).unwrap_or(OWN)
    }

    /// The usual one comes first.
    fn numbers(&self, now: Timestamp) -> impl Iterator<Item = u32> {
        let (usual, all) = (self.usual(now), std::iter::once(OWN).chain(self.good(now).map(|further| further.number)));
        std::iter::once(usual).chain(all.filter(move |number| *number != usual))
    }

    fn good(&self, now: Timestamp) -> impl Iterator<Item = &Further> {
        self.further.iter().filter(move |further| now.as_secs() <= further.chain.not_after())
    }

    /// What each further chain is known by, to find out whether the database has others by now.
    pub(crate) fn marks(&self, issuer: IssuerId) -> impl Iterator<Item = ChainMark> {
        let mark = move |further: &Further| ChainMark {
            issuer,
            number: further.number,
            fingerprint: further.fingerprint.clone(),
        };
        self.further.iter().map(mark)
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
    fn above(&self) -> Chain<'_> {
        Chain(self.chain.served())
    }
}

/// The chain that an operator prefers for a CA, where there is one.
pub(crate) fn preferred(record: &IssuerRecord) -> Result<Option<IssuerChain>, ServiceError> {
    let read = |preferred: &PreferredChain| IssuerChain::from_pem(&preferred.pem).map_err(ServiceError::internal);
    record.preferred.as_ref().map(read).transpose()
}
