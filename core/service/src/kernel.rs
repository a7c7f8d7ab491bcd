//! What all use cases share: the store, the clock, entropy, keys and settings.

use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use chancery_domain::{ChallengeId, Clock, Entropy, OrderId, ResellerId, Timestamp};
use chancery_overload::{FairPermits, InFlight, KeyedCap, RateLimits, SharedBuckets};
use chancery_pki::{KeyBlocklist, Token};
use chancery_seal::Keyring;
use chancery_store::{AuditRecord, Job, JobKind, SEALED_COLUMNS, SPANS, SealedColumn, Store, StoreError, Tx};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tracing::Span;

use crate::acme::{Nonces, start_generation};
use crate::authorizations::Looking;
use crate::ca_key::CaKeys;
use crate::cursor::Cursors;
use crate::error::ServiceError;
use crate::open_orders::OpenOrders;
use crate::pauses::KnownPauses;
use crate::policies::PolicyCache;
use crate::rate_rules::RateRules;
use crate::settings::Settings;
use crate::shared_buckets::DatabaseBuckets;
use crate::waiting::Waiting;

/// A job that is to be begun at once, and the span that it was begun in.
pub struct Fresh {
    pub job: Job,
    pub span: Span,
}
/// Refusals that may wait to be written; beyond that they are counted and dropped, so that an attacker who is refused
/// a million times costs us neither memory nor the service of others.
const UNWRITTEN: usize = 4096;
/// How long others have the store to themselves between two batches of what is forgotten.
pub(crate) const BETWEEN_BATCHES: Duration = Duration::from_millis(20);

/// Store, clock, randomness, keys and settings, handed to each use case.
pub struct Kernel {
    /// The store for the system's own units of work. Those of a reseller use `Kernel::store_of`, those of clients that are not
    /// authenticated `Kernel::anonymous_store`.
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub keyring: Keyring,
    pub ca_keys: CaKeys,
    pub settings: Arc<Settings>,
    /// Keys that must not be certified, as the operator lists them.
    pub blocklist: Option<Arc<KeyBlocklist>>,
    pub(crate) cursors: Cursors,
    pub(crate) nonces: Nonces,
    /// By which people who come back from an external provider are known to have left from here.
    pub(crate) sign_in_key: hmac::Key,
    pub(crate) limits: RateLimits,
    pub(crate) rates: RateRules,
    pub(crate) pauses: KnownPauses,
    pub(crate) policies: PolicyCache,
    pub(crate) open_orders: OpenOrders,
    /// Who waits in this process for an order to end, and for a challenge to be decided.
    pub(crate) ended: Waiting<OrderId>,
    pub(crate) decided: Waiting<ChallengeId>,
    pub(crate) looking: Looking,
    /// Validations and issuances of this process.
    pub(crate) in_flight: InFlight,
    /// CSV exports in progress.
    pub(crate) exports: KeyedCap<ResellerId>,
    pub(crate) list_permits: FairPermits,
    /// This process, as its jobs are leased to.
    pub node: String,
    jobs: mpsc::UnboundedSender<Fresh>,
    waiting: Mutex<Option<mpsc::UnboundedReceiver<Fresh>>>,
    refusals: mpsc::Sender<AuditRecord>,
    /// Whoever writes them holds this; if it dies, another can.
    unwritten: tokio::sync::Mutex<mpsc::Receiver<AuditRecord>>,
}

impl Kernel {
    /// Puts the parts together, and makes or finds the secrets that all nodes share.
    pub async fn new(
        store: Store,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        keyring: Keyring,
        token: Option<Arc<Token>>,
        settings: Settings,
        blocklist: Option<Arc<KeyBlocklist>>,
    ) -> Result<Arc<Self>, ServiceError> {
        let cursor_key = shared_secret(&store, &keyring, entropy.as_ref(), "cursor", clock.now()).await?;
        let cursors = Cursors::new(hmac::Key::new(hmac::HMAC_SHA256, &cursor_key));
        let nonce_key = shared_secret(&store, &keyring, entropy.as_ref(), "nonce", clock.now()).await?;
        let nonce_key = hmac::Key::new(hmac::HMAC_SHA256, &nonce_key);
        let nonces = match store.is_shared() {
            true => Nonces::of_many(nonce_key, start_generation(&store, entropy.as_ref()).await?),
            false => Nonces::of_one(nonce_key, entropy.as_ref()),
        };
        let sign_in_key = shared_secret(&store, &keyring, entropy.as_ref(), "sign_in", clock.now()).await?;
        let node = entropy.uuid_v4().to_string();
        let shared = DatabaseBuckets { store: store.clone(), node: node.clone() };
        let shared = store.is_shared().then(|| Arc::new(shared) as Arc<dyn SharedBuckets>);
        let limits = RateLimits::new(settings.limits.clone(), shared, clock.clone());
        let (jobs, receiver) = mpsc::unbounded_channel();
        if store.is_shared() {
            store.write(|tx| tx.settle_positions()).await?;
        }
        let (refusals, unwritten) = mpsc::channel(UNWRITTEN);
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let list_permits = FairPermits::for_list_reads(store.connections(), cores);
        let policies = PolicyCache::new(&settings);
        let (settings, waiting) = (Arc::new(settings), Mutex::new(Some(receiver)));
        Ok(Arc::new(Self {
            store,
            clock,
            entropy,
            ca_keys: CaKeys::new(keyring.clone(), token),
            keyring,
            settings,
            blocklist,
            cursors,
            nonces,
            sign_in_key: hmac::Key::new(hmac::HMAC_SHA256, &sign_in_key),
            rates: RateRules::new(limits.clone()),
            limits,
            pauses: KnownPauses::default(),
            policies,
            open_orders: OpenOrders::default(),
            ended: Waiting::default(),
            decided: Waiting::default(),
            looking: Looking::default(),
            in_flight: InFlight::default(),
            exports: KeyedCap::default(),
            list_permits,
            node,
            jobs,
            waiting,
            refusals,
            unwritten: tokio::sync::Mutex::new(unwritten),
        }))
    }

    /// The jobs that are to be begun at once; there is one receiver.
    pub fn take_jobs(&self) -> Option<mpsc::UnboundedReceiver<Fresh>> {
        self.waiting.lock().take()
    }

    /// Adds a job to a unit of work, leased to this node.
    pub(crate) fn enqueue(&self, tx: &mut Tx<'_>, kind: JobKind, subject: impl ToString) -> Result<(), ServiceError> {
        tx.enqueue(kind, subject, &self.node, self.now(), self.settings.issuing.job_lease)?;
        Ok(())
    }

    /// Begins a job whose unit of work is durable. Where nobody listens, its lease runs out and a worker finds it.
    pub(crate) fn start(&self, job: Job) {
        // Whoever began it is in the trace of it.
        let traced = tracing::enabled!(target: SPANS, tracing::Level::TRACE);
        let span = if traced { Span::current() } else { Span::none() };
        if self.jobs.send(Fresh { job, span }).is_err() {
            tracing::debug!("no worker listens in this process");
        }
    }

    /// Whether the database can be relied on.
    pub async fn check_store(&self) -> Result<(), StoreError> {
        self.store.check(&self.node, self.now()).await
    }

    /// Has a refusal written down soon; never waits.
    pub(crate) fn write_later(&self, record: AuditRecord) {
        if self.refusals.try_send(record).is_err() {
            metrics::counter!("chancery_audit_refusals_dropped_total").increment(1);
        }
    }

    /// The refusals that are to be written down, for one at a time.
    pub(crate) fn take_refusals(&self) -> Option<tokio::sync::MutexGuard<'_, mpsc::Receiver<AuditRecord>>> {
        self.unwritten.try_lock().ok()
    }

    /// Forgets what is no longer needed until there is no more of it, and says how much it was: a batch with each
    /// commit, so that nobody waits long. The closure is told how many it may forget.
    pub(crate) async fn forget(
        &self,
        batch: u32,
        forget: impl Fn(&mut Tx<'_>, u32) -> Result<u64, StoreError> + Copy + Send + 'static,
    ) -> Result<u64, ServiceError> {
        let mut forgotten = 0;
        loop {
            let gone = self.store.write(move |tx| forget(tx, batch)).await?;
            forgotten += gone;
            if gone < u64::from(batch) {
                return Ok(forgotten);
            }
            tokio::time::sleep(BETWEEN_BATCHES).await;
        }
    }

    /// The store for units of work that are charged to a reseller: everything done on its behalf, by whatever front end or
    /// worker. If none is known, the system pays.
    pub(crate) fn store_of(&self, reseller: impl Into<Option<ResellerId>>) -> Store {
        reseller.into().map_or_else(|| self.store.clone(), |reseller| self.store.for_reseller(reseller))
    }

    /// The store for units of work of clients that are not authenticated.
    pub(crate) fn anonymous_store(&self) -> Store {
        self.store.for_anonymous()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// The column of sealed values of a table.
pub(crate) fn sealed_column(table: &str) -> SealedColumn {
    let found = SEALED_COLUMNS.iter().find(|column| column.table == table);
    *found.expect("the table is one of those with sealed values")
}

/// A random secret under a name: made by whichever node comes first.
async fn shared_secret(
    store: &Store,
    keyring: &Keyring,
    entropy: &dyn Entropy,
    name: &'static str,
    now: Timestamp,
) -> Result<Vec<u8>, ServiceError> {
    let context = sealed_column("service_secrets").context(name);
    let fresh = keyring.seal(&context, &entropy.bytes::<32>());
    let kept = store.read(move |tx| tx.service_secret(name)).await?;
    let sealed = match kept {
        Some(sealed) => sealed,
        None => store.write(move |tx| tx.settle_service_secret(name, &fresh, now)).await?,
    };
    Ok(keyring.open(&context, &sealed).map_err(ServiceError::internal)?.to_vec())
}
