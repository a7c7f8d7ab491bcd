//! The CAs that sign, opened and ready.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{IssuerId, KeyType, OrderId, ProfileName};
use chancery_pki::{CrlShards, Issuer, IssuerUrls, KeyAlgorithm, SubscriberProfile};
use chancery_store::{ChainRecord, IssuerKind, IssuerRecord, IssuerStanding, IssuerState, Tx};
use parking_lot::RwLock;

use crate::chains::{Chains, preferred};
use crate::error::ServiceError;
use crate::issuers::{Candidate, IssuerRules, gaps, suitable, turn};
use crate::kernel::Kernel;

/// How often a node asks whether a CA was added or retired.
const POLL: Duration = Duration::from_secs(2);

/// An issuing CA with its key and its addresses.
pub struct Signing {
    pub id: IssuerId,
    pub name: String,
    pub active: bool,
    /// Whether its parent has revoked it: then it signs nothing for subscribers, not even what was drafted.
    pub revoked: bool,
    pub issuer: Issuer,
    /// All of its addresses; a profile's certificates have those of [`urls_for`](Self::urls_for).
    pub urls: IssuerUrls,
    pub shards: CrlShards,
    /// The ways up from it.
    pub chains: Chains,
}

impl Signing {
    /// The addresses that stand in the certificates of a profile.
    pub fn urls_for(&self, rules: &IssuerRules) -> IssuerUrls {
        let IssuerUrls { ca_issuers, ocsp, crl } = self.urls.clone();
        IssuerUrls { ca_issuers, ocsp: ocsp.filter(|_| rules.ocsp), crl: crl.filter(|_| rules.crl) }
    }

    /// Whether the chain that is preferred to that of its own certificate ends before that does.
    pub fn ends_with_chain(&self) -> bool {
        self.issuer.not_after() < self.issuer.certificate().not_after()
    }

    /// How the operator is to replace it.
    pub fn remedy(&self) -> Remedy {
        Remedy::of(self.chains.preferred().is_some(), self.ends_with_chain())
    }

    fn stands(&self, standing: &IssuerStanding) -> bool {
        self.active == (standing.state == IssuerState::Active)
            && self.revoked == standing.revoked
            && self.chains.preferred() == standing.preferred
    }
}

/// What the operator is to do about a CA that is about to end, or whose chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A successor.
    Rotate,
    /// The same CA, if it is vouched for anew.
    Vouch,
    /// A successor that is vouched for before it issues.
    VouchForSuccessor,
}

impl Remedy {
    /// By whether a chain is preferred to that of the CA's own certificate, and ends before that.
    pub const fn of(preferred: bool, ends_with_chain: bool) -> Self {
        match (preferred, ends_with_chain) {
            (false, _) => Self::Rotate,
            (true, true) => Self::Vouch,
            (true, false) => Self::VouchForSuccessor,
        }
    }

    /// The command that it begins with.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Rotate => "chancery ca rotate",
            Self::Vouch => "chancery ca request",
            Self::VouchForSuccessor => "chancery ca create --inactive",
        }
    }
}

type Loaded = HashMap<IssuerId, Arc<Signing>>;

/// Every issuing CA of this installation, retired ones included: what they issued is still theirs to answer for.
pub struct Authority {
    kernel: Arc<Kernel>,
    issuers: RwLock<Arc<Loaded>>,
}

impl Authority {
    pub async fn new(kernel: Arc<Kernel>) -> Result<Arc<Self>, ServiceError> {
        let authority = Arc::new(Self { kernel, issuers: RwLock::default() });
        authority.reload().await?;
        Ok(authority)
    }

    /// Reads the CAs anew: one may have been added or retired, or have got another chain.
    pub async fn reload(&self) -> Result<(), ServiceError> {
        let read = |tx: &mut Tx<'_>| Ok::<_, ServiceError>((tx.issuers()?, tx.chains()?));
        let (records, chains) = self.kernel.store.read(read).await?;
        self.load(&records, &chains)
    }

    /// Keeps what is in memory up to date: a CA that was added or retired by anybody is so on this node within seconds.
    pub async fn watch(&self) {
        loop {
            if let Err(error) = self.follow().await {
                tracing::warn!(%error, "could not ask for changes to the CAs");
            }
            tokio::time::sleep(POLL).await;
        }
    }

    pub fn all(&self) -> Vec<Arc<Signing>> {
        self.loaded().values().cloned().collect()
    }

    pub fn find(&self, id: IssuerId) -> Option<Arc<Signing>> {
        self.loaded().get(&id).cloned()
    }

    /// The CA with this id, looked for in the database where it is not known yet: another node may have been faster to
    /// notice a new CA, and to issue with it.
    pub(crate) fn require(&self, tx: &mut Tx<'_>, id: IssuerId) -> Result<Arc<Signing>, ServiceError> {
        if let Some(known) = self.find(id) {
            return Ok(known);
        }
        self.load(&tx.issuers()?, &tx.chains()?)?;
        self.find(id).ok_or_else(|| ServiceError::internal(format!("there is no issuing CA {id}")))
    }

    /// The CA for a new certificate of a profile that is to end then: one that lasts so long, where there is one.
    pub(crate) fn choose(
        &self,
        name: &ProfileName,
        profile: &SubscriberProfile,
        key: KeyType,
        end: i64,
        order: OrderId,
    ) -> Result<Arc<Signing>, ServiceError> {
        let candidates = self.candidates();
        let rules = self.kernel.settings.issuing.issuer_rules(name);
        let mut suitable = suitable(&candidates, &rules, profile, key);
        let lasts = |candidate: &&Open| candidate.signing.issuer.not_after() >= end;
        if suitable.iter().any(lasts) {
            suitable.retain(lasts);
        }
        let chosen = turn(&suitable, order).map(|candidate| candidate.signing.clone());
        chosen.ok_or_else(|| {
            ServiceError::internal(format!(
                "no active CA may sign certificates of the profile {name}; if the usages and policies of the CAs that its \
                 `issuers` allow lack some of its own, make a new issuing CA with `chancery ca create`; if the chain that \
                 one of them prefers has ended, see `chancery ca show`"
            ))
        })
    }

    /// The profiles, with the kind of key, for which no active CA may sign: their orders are going to fail.
    pub fn gaps(&self) -> Vec<(ProfileName, KeyType)> {
        gaps(&self.candidates(), &self.kernel.settings.issuing)
    }

    /// The active CAs that end before a certificate of today may: what they sign is shortened, and they are to be
    /// rotated.
    pub fn ending(&self) -> Vec<Arc<Signing>> {
        let longest = self.kernel.settings.issuing.certificates.values().map(|profile| profile.validity_days).max();
        let needed = self.kernel.now().as_secs() + i64::from(longest.unwrap_or(0)) * 86_400;
        self.all().into_iter().filter(|signing| signing.active && signing.issuer.not_after() < needed).collect()
    }

    async fn follow(&self) -> Result<(), ServiceError> {
        let read = |tx: &mut Tx<'_>| Ok::<_, ServiceError>((tx.issuer_standings()?, tx.chain_marks()?));
        let (standings, marks) = self.kernel.store.read(read).await?;
        let loaded = self.loaded();
        let known = standings.iter().filter_map(|standing| loaded.get(&standing.id));
        let same_chains = known.flat_map(|signing| signing.chains.marks(signing.id)).eq(marks);
        let same = |standing: &IssuerStanding| loaded.get(&standing.id).is_some_and(|signing| signing.stands(standing));
        if standings.len() != loaded.len() || !standings.iter().all(same) || !same_chains {
            self.reload().await?;
            tracing::info!(issuers = self.loaded().len(), "the CAs have changed");
        }
        Ok(())
    }

    fn candidates(&self) -> Vec<Open> {
        let now = self.kernel.now().as_secs();
        self.loaded().values().map(|signing| Open { signing: signing.clone(), now }).collect()
    }

    fn load(&self, records: &[IssuerRecord], chains: &[ChainRecord]) -> Result<(), ServiceError> {
        let issuing = records.iter().filter(|record| record.kind == IssuerKind::Issuing);
        let open = |record: &IssuerRecord| Ok((record.id, Arc::new(self.open(record, chains)?)));
        let loaded = issuing.map(open).collect::<Result<_, ServiceError>>()?;
        *self.issuers.write() = Arc::new(loaded);
        Ok(())
    }

    fn loaded(&self) -> Arc<Loaded> {
        self.issuers.read().clone()
    }

    fn open(&self, record: &IssuerRecord, chains: &[ChainRecord]) -> Result<Signing, ServiceError> {
        let own = self.kernel.ca_keys.open(record).map_err(ServiceError::internal)?;
        let certificate = own.certificate().clone();
        let issuer = match preferred(record)? {
            Some(chain) => own.until(chain.not_after()),
            None => own,
        };
        let issuing = &self.kernel.settings.issuing;
        let shards = issuing.crls(record.id);
        let urls = IssuerUrls {
            ca_issuers: Some(issuing.issuer_url(record.id)),
            ocsp: Some(issuing.ocsp_url()),
            crl: Some(shards.clone()),
        };
        Ok(Signing {
            id: record.id,
            name: record.name.clone(),
            active: record.state == IssuerState::Active,
            revoked: record.revocation.is_some(),
            issuer,
            urls,
            shards,
            chains: Chains::of(record, certificate, chains)?,
        })
    }
}

/// A CA of this node at a point in time.
struct Open {
    signing: Arc<Signing>,
    now: i64,
}

impl Candidate for Open {
    fn id(&self) -> IssuerId {
        self.signing.id
    }

    fn name(&self) -> &str {
        &self.signing.name
    }

    fn key(&self) -> KeyAlgorithm {
        self.signing.issuer.algorithm()
    }

    fn can_sign(&self, profile: &SubscriberProfile) -> bool {
        let issuer = &self.signing.issuer;
        let standing = self.signing.active && !self.signing.revoked && self.now <= issuer.not_after();
        // A policy that the CA itself lacks counts for nobody who asks for it.
        let allows = issuer.certificate().allows(&profile.policies).unwrap_or(false);
        standing && allows && issuer.covers(&profile.purposes)
    }
}
