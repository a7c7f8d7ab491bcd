//! Revocation lists: made when something is revoked and when their time comes, and kept at hand for those who fetch them.
//!
//! Nobody orders a list. A revocation counts itself on the list it belongs on, in its own unit of work; every node looks
//! each second whether a list covers less than it should, and one of them makes it. So nothing is lost with a process.
//! Requests are answered from memory, which the same look keeps up to date.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::digest;
use chancery_domain::{IssuerId, Timestamp};
use chancery_pki::{Certificate, Crl, CrlContents, CrlScope, CrlShards, Issuer, RevokedCertificate, Serial};
use chancery_store::{
    CrlEntry, CrlFacts, CrlHead, CrlRow, IssuerKind, IssuerRecord, IssuerRevocation, IssuerState, StoreError, Tx,
};
use parking_lot::RwLock;
use tokio::sync::{Notify, Semaphore};

use crate::authority::Authority;
use crate::ca_key::unsigned;
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
/// How long a list is waited for that is to come: some looks.
const PATIENCE: Duration = Duration::from_secs(3);
/// So many wait at a time for lists of CAs that nobody knows of.
const STRANGERS: usize = 256;

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
    /// Whether it has the address that certificates are given today.
    has_address: bool,
}

/// Why there is no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCrl {
    /// Nobody is going to make such a list.
    Unknown,
    /// It will be there soon: its CA is new, say, or this node has just begun.
    ToCome,
}

/// What is given out.
#[derive(Default)]
struct Memory {
    crls: HashMap<(IssuerId, CrlName), Arc<PublishedCrl>>,
    certificates: HashMap<IssuerId, Arc<[u8]>>,
    cas: HashMap<IssuerId, Ca>,
    /// The CAs that could not sign, and since when.
    unable: HashMap<IssuerId, Instant>,
}

/// A CA, for those who watch.
struct Ca {
    name: String,
    kind: IssuerKind,
    active: bool,
    not_after: i64,
}

#[derive(Clone)]
pub struct Publication {
    kernel: Arc<Kernel>,
    authority: Arc<Authority>,
    memory: Arc<RwLock<Memory>>,
    /// Told after every look.
    looked: Arc<Notify>,
    /// Room for those who wait for a list of a CA that nobody knows of.
    strangers: Arc<Semaphore>,
}

impl Publication {
    pub(crate) fn new(kernel: Arc<Kernel>, authority: Arc<Authority>) -> Self {
        let strangers = Arc::new(Semaphore::new(STRANGERS));
        Self { kernel, authority, memory: Arc::default(), looked: Arc::default(), strangers }
    }

    /// The newest list that this node knows of. A new CA may have issued before its lists are made, and its certificates name
    /// them: those are waited for a little.
    pub async fn expect_crl(&self, issuer: IssuerId, name: CrlName) -> Result<Arc<PublishedCrl>, NoCrl> {
        let listed = async {
            let mut place = None;
            loop {
                let mut looked = pin!(self.looked.notified());
                // From now on, and not only once it is waited for.
                looked.as_mut().enable();
                if let Some(crl) = self.crl(issuer, name) {
                    return Ok(crl);
                }
                if !self.is_to_come(issuer, name) {
                    return Err(NoCrl::Unknown);
                }
                // Many who wait for what nobody knows of must not keep others out.
                if place.is_none() && self.kind(issuer).is_none() {
                    place = Some(self.strangers.try_acquire().map_err(|_| NoCrl::ToCome)?);
                }
                looked.await;
            }
        };
        tokio::time::timeout(PATIENCE, listed).await.unwrap_or(Err(NoCrl::ToCome))
    }

    /// Whether there is a CA whose list this is. Before the first look nobody can tell.
    fn is_to_come(&self, issuer: IssuerId, name: CrlName) -> bool {
        match (name, self.kind(issuer)) {
            (CrlName::Shard(shard), Some(IssuerKind::Issuing)) => {
                shard < self.kernel.settings.issuing.crls(issuer).count()
            }
            (CrlName::Root, Some(IssuerKind::Root)) => true,
            (_, Some(_)) => false,
            (_, None) => self.memory.read().cas.is_empty() || self.may_be_new(issuer),
        }
    }

    /// Of a CA that this node knows of.
    fn kind(&self, issuer: IssuerId) -> Option<IssuerKind> {
        let known = self.memory.read().cas.get(&issuer).map(|ca| ca.kind);
        known.or_else(|| self.authority.find(issuer).map(|_| IssuerKind::Issuing))
    }

    /// Whether another node may have made the CA so lately that this one has not heard of it.
    fn may_be_new(&self, issuer: IssuerId) -> bool {
        let age = |given: Timestamp| self.kernel.now().as_secs().abs_diff(given.as_secs());
        issuer.given_at().is_some_and(|given| age(given) <= (CLAIM + PATIENCE).as_secs())
    }

    /// The newest list that this node knows of; asks nobody.
    pub fn crl(&self, issuer: IssuerId, name: CrlName) -> Option<Arc<PublishedCrl>> {
        self.memory.read().crls.get(&(issuer, name)).cloned()
    }

    /// The certificate of a CA in DER: the one by which others vouch for it, where that is preferred.
    pub fn issuer_certificate(&self, issuer: IssuerId) -> Option<Arc<[u8]>> {
        if let Some(signing) = self.authority.find(issuer) {
            return signing.chains.get(None, self.kernel.now())?.ders().next().map(Into::into);
        }
        self.memory.read().certificates.get(&issuer).cloned()
    }

    /// Looks again and again, for ever.
    pub async fn watch(&self) {
        loop {
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "could not look after the revocation lists");
            }
            self.tell_ages();
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Makes the lists that are due, and learns of those that others have made.
    pub async fn look(&self) -> Result<(), ServiceError> {
        let looked = self.look_once().await;
        self.looked.notify_waiters();
        looked
    }

    async fn look_once(&self) -> Result<(), ServiceError> {
        let (issuers, mut heads) = self.see().await?;
        let (missing, moved) = (self.missing(&issuers, &heads), self.moved(&heads));
        if !missing.is_empty() || !moved.is_empty() {
            let want = move |tx: &mut Tx<'_>| {
                missing.iter().try_for_each(|(issuer, shard)| tx.want_crl(*issuer, *shard))?;
                moved.iter().try_for_each(|(issuer, shard)| tx.count_change(*issuer, *shard))
            };
            self.kernel.store.write(want).await?;
            heads = self.see().await?.1;
        }
        for head in heads {
            let CrlHead { issuer, shard, number, .. } = head;
            let Some(name) = CrlName::from_column(shard) else { continue };
            if (head.lacking || is_scheduled(head.scheduled_at, self.kernel.now()))
                && !self.is_unable(issuer)
                && let Some(record) = issuers.iter().find(|record| record.id == issuer)
                && let Err(error) = self.publish(record, name).await
            {
                // Its claim ends soon, and then it is tried again.
                tracing::error!(%error, %issuer, shard, "a revocation list could not be made");
                if let ServiceError::Signer(_) = error {
                    let mut memory = self.memory.write();
                    memory.unable.insert(issuer, Instant::now());
                }
            }
            if number > self.crl(issuer, name).map_or(0, |crl| crl.number) {
                let newest = self.kernel.store.read(move |tx| tx.crl(issuer, shard)).await?;
                newest.into_iter().for_each(|crl| self.learn(crl));
            }
        }
        Ok(())
    }

    /// Tells how old the oldest lists are: past a day, something keeps us from making lists. And when the CAs end.
    fn tell_ages(&self) {
        let memory = self.memory.read();
        let age = |oldest: Option<Timestamp>| oldest.map_or(Duration::ZERO, |oldest| self.kernel.now().since(oldest));
        let oldest = age(memory.crls.values().map(|crl| crl.this_update).min());
        metrics::gauge!("chancery_crl_oldest_age_seconds").set(oldest.as_secs_f64());
        for (id, ca) in &memory.cas {
            let name = || ca.name.clone();
            let not_after = self.authority.find(*id).map_or(ca.not_after, |signing| signing.issuer.not_after());
            metrics::gauge!("chancery_ca_active", "ca" => name()).set(f64::from(u8::from(ca.active)));
            metrics::gauge!("chancery_ca_not_after_timestamp_seconds", "ca" => name()).set(not_after as f64);
            let lists = || memory.crls.iter().filter(|((issuer, _), _)| issuer == id).map(|(_, crl)| crl);
            let Some(ends) = lists().map(|crl| crl.next_update).min() else { continue };
            let oldest = age(lists().map(|crl| crl.this_update).min());
            metrics::gauge!("chancery_crl_age_seconds", "ca" => name()).set(oldest.as_secs_f64());
            metrics::gauge!("chancery_crl_next_update_timestamp_seconds", "ca" => name()).set(ends.as_secs() as f64);
        }
    }

    /// The CAs, whose certificates are remembered, and their lists.
    async fn see(&self) -> Result<(Vec<IssuerRecord>, Vec<CrlHead>), ServiceError> {
        let read = |tx: &mut Tx<'_>| Ok::<_, StoreError>((tx.issuers()?, tx.crl_heads()?));
        let (issuers, heads) = self.kernel.store.read(read).await?;
        let mut memory = self.memory.write();
        for issuer in &issuers {
            memory.certificates.entry(issuer.id).or_insert_with(|| issuer.certificate.as_slice().into());
            let active = issuer.state == IssuerState::Active;
            if let Some(known) = memory.cas.get_mut(&issuer.id) {
                known.active = active;
            } else if let Ok(certificate) = Certificate::from_der(&issuer.certificate) {
                let ca =
                    Ca { name: issuer.name.clone(), kind: issuer.kind, active, not_after: certificate.not_after() };
                memory.cas.insert(issuer.id, ca);
            }
        }
        Ok((issuers, heads))
    }

    /// Whether its token was away a moment ago: it need not be asked for each of a CA's lists.
    fn is_unable(&self, issuer: IssuerId) -> bool {
        let memory = self.memory.read();
        memory.unable.get(&issuer).is_some_and(|since| since.elapsed() < CLAIM)
    }

    /// Every CA has its lists from the beginning.
    fn missing(&self, issuers: &[IssuerRecord], heads: &[CrlHead]) -> Vec<(IssuerId, i64)> {
        let names = |issuer: &IssuerRecord| match issuer.kind {
            IssuerKind::Root => vec![CrlName::Root],
            IssuerKind::Issuing => {
                (0..self.kernel.settings.issuing.crls(issuer.id).count()).map(CrlName::Shard).collect()
            }
        };
        let lists = |issuer| names(issuer).into_iter().map(|name| (issuer.id, name.column()));
        let there = |list: &(IssuerId, i64)| heads.iter().any(|head| (head.issuer, head.shard) == *list);
        issuers.iter().flat_map(lists).filter(|list| !there(list)).collect()
    }

    /// The lists without the address that certificates are given today. Until they have it those certificates are in no
    /// list's scope, so it does not wait for tomorrow's.
    fn moved(&self, heads: &[CrlHead]) -> Vec<(IssuerId, i64)> {
        let memory = self.memory.read();
        let lacks = |head: &&CrlHead| {
            let known = CrlName::from_column(head.shard).and_then(|name| memory.crls.get(&(head.issuer, name)));
            !head.lacking && known.is_some_and(|crl| crl.number == head.number && !crl.has_address)
        };
        heads.iter().filter(lacks).map(|head| (head.issuer, head.shard)).collect()
    }

    /// Makes a list, unless it is not due any more or another node is at it.
    async fn publish(&self, record: &IssuerRecord, name: CrlName) -> Result<(), ServiceError> {
        let (issuer, shard, now) = (record.id, name.column(), self.kernel.now());
        let claim = move |tx: &mut Tx<'_>| tx.claim_crl(issuer, shard, now.minus(SCHEDULE), now, now.plus(CLAIM));
        let Some(number) = self.kernel.store.write(claim).await? else { return Ok(()) };
        let signer = self.signer(record)?;
        // Of one moment: whoever sees the count of a revocation sees the revocation.
        let read = move |tx: &mut Tx<'_>| {
            let cas = if name == CrlName::Root { tx.issuers()? } else { Vec::new() };
            Ok::<_, StoreError>((tx.crl_facts(issuer, shard, now)?, cas))
        };
        let (facts, cas) = self.kernel.store.read(read).await?;
        let facts = facts.ok_or_else(|| ServiceError::internal("a list without a row"))?;
        let below = revoked_below(issuer, &cas)?;

        let (scheduled, covers) = (is_scheduled(facts.scheduled_at, now), facts.changes);
        let scheduled_at = if scheduled { now } else { facts.scheduled_at };
        let url = self.kernel.settings.issuing.crls(issuer);
        let made = tokio::task::spawn_blocking(move || make(&signer, name, &url, number, (&facts, below), now));
        let (der, this_update) = made.await.map_err(ServiceError::internal)??;

        let row = CrlRow { issuer, shard, number, der, this_update, next_update: this_update.plus(LIFE) };
        let kept = row.clone();
        if self.kernel.store.write(move |tx| tx.store_crl(&kept, covers, scheduled_at)).await? {
            metrics::counter!("chancery_crls_published_total").increment(1);
            let bytes = row.der.len();
            // Those of every day are many, and say nothing new.
            match scheduled {
                true => tracing::debug!(%issuer, shard, number, bytes, "published a revocation list as every day"),
                false => tracing::info!(%issuer, shard, number, bytes, "published a revocation list"),
            }
            self.learn(row);
        }
        Ok(())
    }

    /// The CA with its key. A root's is needed once a day, so it is not kept open.
    fn signer(&self, record: &IssuerRecord) -> Result<Issuer, ServiceError> {
        if let Some(signing) = self.authority.find(record.id) {
            return Ok(signing.issuer.clone());
        }
        self.kernel.ca_keys.open(record).map_err(ServiceError::internal)
    }

    /// Remembers a list, unless a newer one is known.
    fn learn(&self, crl: CrlRow) {
        let Some(name) = CrlName::from_column(crl.shard) else { return };
        let etag = data_encoding::HEXLOWER.encode(&digest::digest(&digest::SHA256, &crl.der).as_ref()[..16]);
        let CrlRow { issuer, number, der, this_update, next_update, .. } = crl;
        let has_address = self.has_address(issuer, name, &der);
        let learnt = PublishedCrl { number, der: der.into(), etag, this_update, next_update, has_address };
        let learnt = Arc::new(learnt);
        let mut memory = self.memory.write();
        let known = memory.crls.entry((issuer, name)).or_insert_with(|| learnt.clone());
        if known.number < learnt.number {
            *known = learnt;
        }
    }

    /// A list that cannot be read is left alone: making it over and over would not help.
    fn has_address(&self, issuer: IssuerId, name: CrlName, der: &[u8]) -> bool {
        match name {
            CrlName::Shard(shard) => {
                let url = self.kernel.settings.issuing.crls(issuer).url(shard);
                Crl::addresses(der).is_none_or(|addresses| addresses.contains(&url))
            }
            CrlName::Root => true,
        }
    }
}

impl CrlName {
    const ROOT: i64 = -1;

    pub(crate) fn column(self) -> i64 {
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

/// Whether it is time for a list, by when the last was made for that reason. One from the future was made by a node whose
/// clock was wrong: nobody is going to wait for that day.
fn is_scheduled(last: Timestamp, now: Timestamp) -> bool {
    last <= now.minus(SCHEDULE) || last > now.plus(CLAIM)
}

/// Signs what the facts say. Nodes whose clocks differ a little must not make time go back between two lists.
fn make(
    signer: &Issuer,
    name: CrlName,
    urls: &CrlShards,
    number: i64,
    (facts, below): (&CrlFacts, Vec<RevokedCertificate>),
    now: Timestamp,
) -> Result<(Vec<u8>, Timestamp), ServiceError> {
    let last = Some(facts.this_update).filter(|last| *last <= now.plus(CLAIM));
    let this_update = Timestamp::from_secs(last.map_or(now, |last| last.max(now)).as_secs());
    let listed = facts.entries.iter().map(|listed| entry(listed, name));
    let revoked = listed.chain(below.into_iter().map(Ok)).collect::<Result<Vec<_>, ServiceError>>()?;
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
    let earlier = facts.previous.as_deref().map_or_else(Vec::new, earlier_addresses);
    let crl = Crl::sign_moved(signer, &contents, &earlier).map_err(unsigned)?;
    Ok((crl.into_der(), this_update))
}

/// Where certificates from before look for a list: the addresses of the list before it. That one was made here; if it is
/// broken all the same, a list with today's address alone is better than none.
fn earlier_addresses(previous: &[u8]) -> Vec<String> {
    Crl::addresses(previous).unwrap_or_else(|| {
        tracing::error!("the revocation list before cannot be read, and its addresses are lost");
        Vec::new()
    })
}

/// A root has signed nothing but CAs.
fn entry(entry: &CrlEntry, list: CrlName) -> Result<RevokedCertificate, ServiceError> {
    let serial = data_encoding::HEXLOWER.decode(entry.serial.as_bytes()).ok();
    let serial = serial.and_then(|bytes| Serial::from_bytes(&bytes));
    let serial = serial.ok_or_else(|| ServiceError::internal("a serial number that was not drawn here"))?;
    let (revoked_at, ca) = (entry.revoked_at.as_secs(), list == CrlName::Root);
    Ok(RevokedCertificate { serial, revoked_at, reason: entry.reason, ca })
}

/// The CAs that a root has revoked. They are few, and stay on its list when they have ended.
fn revoked_below(root: IssuerId, issuers: &[IssuerRecord]) -> Result<Vec<RevokedCertificate>, ServiceError> {
    let below = issuers.iter().filter(|record| record.parent == Some(root));
    let revoked = below.filter_map(|record| Some((record, record.revocation?)));
    let entry = |(record, revocation): (&IssuerRecord, IssuerRevocation)| {
        let certificate = Certificate::from_der(&record.certificate).map_err(ServiceError::internal)?;
        let serial = certificate.serial().ok_or_else(|| ServiceError::internal("a CA with a strange serial number"))?;
        Ok(RevokedCertificate { serial, revoked_at: revocation.at.as_secs(), reason: revocation.reason, ca: true })
    };
    revoked.map(entry).collect()
}
