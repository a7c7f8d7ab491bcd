//! Revocation lists: made when something is revoked and when their time comes, and kept at hand for those who fetch them.
//!
//! Nobody orders a list. A revocation counts itself on the list it belongs on, in its own unit of work; every node looks
//! each second whether a list covers less than it should, and one of them makes it. So nothing is lost with a process.
//! Requests are answered from memory, which the same look keeps up to date.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use aws_lc_rs::digest;
use chancery_domain::{IssuerId, Timestamp};
use chancery_pki::{Crl, CrlContents, CrlScope, CrlShards, Issuer, RevokedCertificate, Serial};
use chancery_store::{CrlEntry, CrlFacts, CrlHead, CrlRow, Tx};

use crate::authority::Authority;
use crate::error::ServiceError;
use crate::kernel::Kernel;

/// How often a node looks what has changed.
const LOOK: Duration = Duration::from_secs(1);
/// A new list even where nothing is revoked.
const SCHEDULE: Duration = Duration::from_secs(86_400);
/// How long a list stands: ten days at most (Baseline Requirements section 4.9.7).
const LIFE: Duration = Duration::from_secs(7 * 86_400);
/// How long a node has for making a list before another tries.
const CLAIM: Duration = Duration::from_secs(10);

/// Which of an issuer's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrlName {
    /// Of an issuing CA: the one for a share of its serial numbers.
    Shard(u32),
    /// Of a root: the only one.
    Root,
}

/// A list as it is given out.
#[derive(Clone, PartialEq, Eq)]
pub struct PublishedCrl {
    pub number: i64,
    pub der: Arc<[u8]>,
    /// The hash of the bytes: another list has another.
    pub etag: String,
    pub this_update: Timestamp,
    pub next_update: Timestamp,
}

type Memory = HashMap<(IssuerId, CrlName), Arc<PublishedCrl>>;

#[derive(Clone)]
pub struct Publication {
    kernel: Arc<Kernel>,
    authority: Arc<Authority>,
    memory: Arc<RwLock<Memory>>,
}

impl Publication {
    pub(crate) fn new(kernel: Arc<Kernel>, authority: Arc<Authority>) -> Self {
        Self { kernel, authority, memory: Arc::default() }
    }

    /// The newest list that this node knows of; asks nobody.
    pub fn crl(&self, issuer: IssuerId, name: CrlName) -> Option<Arc<PublishedCrl>> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner).get(&(issuer, name)).cloned()
    }

    /// The certificate of a CA in DER.
    pub fn issuer_certificate(&self, issuer: IssuerId) -> Option<Vec<u8>> {
        self.authority.certificate(issuer).map(|certificate| certificate.as_der().to_vec())
    }

    /// Looks again and again, for ever.
    pub async fn watch(&self) {
        loop {
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "could not look after the revocation lists");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Makes the lists that are due, and learns of those that others have made.
    pub async fn look(&self) -> Result<(), ServiceError> {
        self.want().await?;
        for head in self.kernel.store.read(|tx| tx.crl_heads()).await? {
            let CrlHead { issuer, shard, number, .. } = head;
            if self.is_due(&head)
                && let Err(error) = self.publish(issuer, shard).await
            {
                // Its claim ends soon, and then it is tried again.
                tracing::error!(%error, %issuer, shard, "a revocation list could not be made");
            }
            let known = CrlName::from_column(shard).and_then(|name| self.crl(issuer, name));
            if number > known.map_or(0, |crl| crl.number) {
                let newest = self.kernel.store.read(move |tx| tx.crl(issuer, shard)).await?;
                newest.into_iter().for_each(|crl| self.learn(crl));
            }
        }
        Ok(())
    }

    /// Every CA has its lists from the beginning.
    async fn want(&self) -> Result<(), ServiceError> {
        let mut wanted: Vec<_> = self.authority.roots().keys().map(|root| (*root, CrlName::Root)).collect();
        for signing in self.authority.all() {
            wanted.extend((0..signing.shards.count()).map(|shard| (signing.id, CrlName::Shard(shard))));
        }
        {
            let memory = self.memory.read().unwrap_or_else(PoisonError::into_inner);
            wanted.retain(|list| !memory.contains_key(list));
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let write =
            move |tx: &mut Tx<'_>| wanted.iter().try_for_each(|(issuer, name)| tx.want_crl(*issuer, name.column()));
        Ok(self.kernel.store.write(write).await?)
    }

    fn is_due(&self, head: &CrlHead) -> bool {
        head.lacking || head.scheduled_at <= self.kernel.now().minus(SCHEDULE)
    }

    /// Makes a list, unless it is not due any more or another node is at it.
    async fn publish(&self, issuer: IssuerId, shard: i64) -> Result<(), ServiceError> {
        let Some(name) = CrlName::from_column(shard) else { return Ok(()) };
        let now = self.kernel.now();
        let claim = move |tx: &mut Tx<'_>| tx.claim_crl(issuer, shard, now.minus(SCHEDULE), now, now.plus(CLAIM));
        let Some(number) = self.kernel.store.write(claim).await? else { return Ok(()) };
        let signer = self.signer(issuer, name).await?;
        let facts = self.kernel.store.read(move |tx| tx.crl_facts(issuer, shard)).await?;
        let facts = facts.ok_or_else(|| ServiceError::internal("a list without a row"))?;

        let (scheduled, covers) = (facts.scheduled_at <= now.minus(SCHEDULE), facts.changes);
        let scheduled_at = if scheduled { now } else { facts.scheduled_at };
        let url = self.kernel.settings.issuing.crls(issuer);
        let made = tokio::task::spawn_blocking(move || make(&signer, name, &url, number, &facts, now));
        let (der, this_update) = made.await.map_err(ServiceError::internal)??;

        let row = CrlRow { issuer, shard, number, der, this_update, next_update: this_update.plus(LIFE) };
        let kept = row.clone();
        if self.kernel.store.write(move |tx| tx.store_crl(&kept, covers, scheduled_at)).await? {
            metrics::counter!("chancery_crls_published_total").increment(1);
            tracing::info!(%issuer, shard, number, scheduled, bytes = row.der.len(), "published a revocation list");
            self.learn(row);
        }
        Ok(())
    }

    async fn signer(&self, issuer: IssuerId, name: CrlName) -> Result<Issuer, ServiceError> {
        let missing = || ServiceError::internal("a list of a CA that is not there");
        match name {
            CrlName::Shard(_) => Ok(self.authority.find(issuer).ok_or_else(missing)?.issuer.clone()),
            CrlName::Root => {
                let records = self.kernel.store.read(|tx| tx.issuers()).await?;
                self.authority.unseal(records.iter().find(|record| record.id == issuer).ok_or_else(missing)?)
            }
        }
    }

    /// Remembers a list, unless a newer one is known.
    fn learn(&self, crl: CrlRow) {
        let Some(name) = CrlName::from_column(crl.shard) else { return };
        let etag = data_encoding::HEXLOWER.encode(&digest::digest(&digest::SHA256, &crl.der).as_ref()[..16]);
        let CrlRow { issuer, number, der, this_update, next_update, .. } = crl;
        let learnt = Arc::new(PublishedCrl { number, der: der.into(), etag, this_update, next_update });
        let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        let known = memory.entry((issuer, name)).or_insert_with(|| learnt.clone());
        if known.number < learnt.number {
            *known = learnt;
        }
    }
}

impl CrlName {
    const ROOT: i64 = -1;

    fn column(self) -> i64 {
        match self {
            Self::Shard(shard) => i64::from(shard),
            Self::Root => Self::ROOT,
        }
    }

    fn from_column(column: i64) -> Option<Self> {
        if column == Self::ROOT { Some(Self::Root) } else { u32::try_from(column).ok().map(Self::Shard) }
    }
}

/// As it stands in the address of a list: `3` or `root`, spelled in one way only.
impl std::str::FromStr for CrlName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.parse() {
            Ok(shard) if format!("{shard}") == text => Ok(Self::Shard(shard)),
            Ok(_) => Err(()),
            Err(_) if text == "root" => Ok(Self::Root),
            Err(_) => Err(()),
        }
    }
}

/// Signs what the facts say. Nodes whose clocks differ must not make time go back between two lists.
fn make(
    signer: &Issuer,
    name: CrlName,
    urls: &CrlShards,
    number: i64,
    facts: &CrlFacts,
    now: Timestamp,
) -> Result<(Vec<u8>, Timestamp), ServiceError> {
    let this_update = Timestamp::from_secs(now.max(facts.this_update).as_secs());
    let revoked = facts.entries.iter().map(entry).collect::<Result<Vec<_>, ServiceError>>()?;
    let url = match name {
        CrlName::Shard(shard) => Some(urls.url(shard)),
        CrlName::Root => None,
    };
    let contents = CrlContents {
        scope: url.as_deref().map_or(CrlScope::Full, CrlScope::Shard),
        number: u64::try_from(number).map_err(ServiceError::internal)?,
        this_update: this_update.as_secs(),
        next_update: this_update.plus(LIFE).as_secs(),
        revoked: &revoked,
    };
    let crl = Crl::sign(signer, &contents).map_err(ServiceError::internal)?;
    Ok((crl.into_der(), this_update))
}

fn entry(entry: &CrlEntry) -> Result<RevokedCertificate, ServiceError> {
    let serial = data_encoding::HEXLOWER.decode(entry.serial.as_bytes()).ok();
    let serial = serial.and_then(|bytes| Serial::from_bytes(&bytes));
    let serial = serial.ok_or_else(|| ServiceError::internal("a serial number that was not drawn here"))?;
    Ok(RevokedCertificate { serial, revoked_at: entry.revoked_at.as_secs(), reason: entry.reason })
}
