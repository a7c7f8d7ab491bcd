//! Store, services and doors put together as the program does it, with a clock that stands still.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use chancery_dcv::Validator;
use chancery_domain::{
    Entropy, Name, PolicyRules, Profile, ResellerCode, ResellerId, ScopeSet, Timestamp, WebhookUrlRules,
};
use chancery_http::PublicUrls;
use chancery_overload::LimitSettings;
use chancery_seal::Keyring;
use chancery_service::identity::External;
use chancery_service::identity::NewClient;
use chancery_service::{AcmeSettings, Issuing, Retention, Services, Settings, WebhookSettings};
use chancery_store::{Options, Store, StoreError, Tx};
use chancery_testkit::{FrozenClock, TestStore};
use chancery_workers::{Logs, Workers};
use tokio::sync::Notify;

use crate::node::{Node, Parts, work};
use crate::tenant::Tenant;

/// What a test speaks to.
pub struct World {
    pub router: Router,
    /// The door of relying parties, on a listener of its own.
    pub relying: Router,
    pub services: Services,
    pub clock: Arc<FrozenClock>,
    pub keyring: Keyring,
    pub store: TestStore,
    pub urls: Arc<PublicUrls>,
    /// Who is shown what is going to be issued, where the settings want that.
    pub logs: Arc<Logs>,
    seeds: AtomicU64,
    keys: tempfile::TempDir,
}

/// The beginning of time in every test.
pub const START: Timestamp = Timestamp::from_secs(1_800_000_000);

impl World {
    pub async fn sqlite() -> Self {
        Self::over(TestStore::sqlite(), settings(), Vec::new()).await
    }

    pub async fn postgres() -> Option<Self> {
        match TestStore::postgres() {
            Some(store) => Some(Self::over(store, settings(), Vec::new()).await),
            None => None,
        }
    }

    /// With settings and external providers of the test's own choice.
    pub async fn over(store: TestStore, settings: Settings, external: Vec<External>) -> Self {
        let keys = tempfile::tempdir().expect("a temporary folder");
        let keyring = Keyring::create(keys.path().join("kek.json"), START.as_secs()).expect("a new keyring");
        let urls = Arc::new(urls());
        let clock = Arc::new(FrozenClock::at(START));
        let first = Parts {
            store: store.clone(),
            clock: clock.clone(),
            keyring: keyring.clone(),
            urls: urls.clone(),
            seed: 7,
            entropy: None,
        };
        let Node { router, relying, services, logs, .. } = Node::start(first, settings, external).await;
        Self { router, relying, services, clock, keyring, store, urls, logs, seeds: AtomicU64::new(8), keys }
    }

    /// Another node on the same database, with connections and a memory of its own and the same clock.
    pub async fn another_node(&self, settings: Settings, external: Vec<External>) -> Node {
        self.start_node(settings, external, None).await
    }

    /// Another node that draws all its random numbers from here.
    pub async fn node_drawing_from(&self, entropy: Arc<dyn Entropy>) -> Node {
        self.start_node(settings(), Vec::new(), Some(entropy)).await
    }

    async fn start_node(&self, settings: Settings, external: Vec<External>, entropy: Option<Arc<dyn Entropy>>) -> Node {
        let store: Store = self.store.another(&Options::default()).expect("the database opens twice");
        let (clock, keyring, urls) = (self.clock.clone(), self.keyring.clone(), self.urls.clone());
        let seed = self.seeds.fetch_add(1, Ordering::Relaxed);
        Node::start(Parts { store, clock, keyring, urls, seed, entropy }, settings, external).await
    }

    /// Where the key-encryption keys are, for another process.
    pub fn kek(&self) -> PathBuf {
        self.keys.path().join("kek.json")
    }

    /// A new reseller with a client that may do everything.
    pub async fn tenant(&self, code: &str) -> Tenant {
        self.tenant_with(code, ScopeSet::all()).await
    }

    /// A new reseller whose client has just these scopes.
    pub async fn tenant_with(&self, code: &str, scopes: ScopeSet) -> Tenant {
        let operator = &self.services.operator;
        let code = ResellerCode::parse(code).expect("a reseller code");
        let name = Name::parse(code.as_str()).expect("a name");
        operator.create_reseller(code.clone(), name.clone()).await.expect("a new reseller");
        self.client_of(code.as_str(), scopes).await
    }

    /// The id of a reseller that exists.
    pub async fn reseller_id(&self, code: &str) -> ResellerId {
        let code = code.to_owned();
        let reseller = self.store.read(move |tx| tx.reseller_by_code(&code)).await.expect("a database");
        reseller.expect("a reseller").id
    }

    /// A further client of a reseller that exists.
    pub async fn client_of(&self, code: &str, scopes: ScopeSet) -> Tenant {
        let name = Name::parse("test").expect("a name");
        let new = NewClient { name, scopes, expires_in_days: None };
        let made = self.services.operator.create_client(code, new).await.expect("a new client");
        let mut tenant = Tenant::new(self.router.clone(), code, made.client.id, made.secret.reveal());
        tenant.sign_in().await;
        tenant
    }

    /// Does every job that is waiting, with these eyes; without any, every name is taken for shown.
    pub async fn work(&self, validator: Option<Arc<Validator>>) {
        work(&self.services, validator, self.clock.clone(), self.logs.clone()).await;
    }

    /// Sets workers to work that take every name for shown, until the test ends.
    pub fn start_workers(&self) {
        let workers = Workers::new(self.services.clone(), None, self.clock.clone()).with_logs(self.logs.clone());
        tokio::spawn(workers.run(std::future::pending()));
    }

    /// Asks for something and hangs up before the database, SQLite, has written it down, which it then does.
    pub async fn hang_up<T>(&self, asking: impl Future<Output = T>) {
        let (store, (let_go, busy)) = (Store::clone(&self.store), std::sync::mpsc::channel::<()>());
        let begins = Arc::new(Notify::new());
        let begin = begins.clone();
        // There is one writer.
        let hold = move |_: &mut Tx<'_>| {
            begin.notify_one();
            Ok::<_, StoreError>(busy.recv().is_ok())
        };
        let writer = tokio::spawn(async move { store.write(hold).await });
        begins.notified().await;
        // Long enough for what is asked to come as far as that; on a machine that is busy, until something waits for the writer.
        let waits = async {
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_millis(1500)).await;
                if self.store.waiting() > 0 {
                    return;
                }
            }
            panic!("nothing was to be written");
        };
        tokio::select! {
            _ = asking => panic!("it was answered though nothing could be written"),
            () = waits => {}
        }
        let_go.send(()).expect("the writer waits");
        writer.await.expect("it ends").expect("nothing was written");
    }

    /// Somebody who has got a certificate of ours to trust or not.
    pub fn relying_party(&self) -> Tenant {
        Tenant::stranger(self.relying.clone())
    }

    /// Somebody without credentials.
    pub fn stranger(&self) -> Tenant {
        Tenant::stranger(self.router.clone())
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

/// Where the world believes to be.
pub(crate) fn urls() -> PublicUrls {
    PublicUrls {
        base_url: "https://ca.test".to_owned(),
        acme_url: "https://ca.test".to_owned(),
        auth_url: "https://ca.test".to_owned(),
        http_url: "http://ca.test".to_owned(),
    }
}

/// What `chancery dev` would settle on.
pub fn settings() -> Settings {
    let profiles = Profile::predefined();
    Settings {
        issuer: "https://ca.test/".to_owned(),
        audience: "https://ca.test/v1".to_owned(),
        token_lifetime: Duration::from_secs(86_400),
        token_key_rotation: Duration::from_secs(30 * 86_400),
        token_key_notice: Duration::from_secs(3600),
        api_keys: true,
        external: Vec::new(),
        acme: AcmeSettings::of("https://ca.test"),
        issuing: Issuing::of(&profiles, "https://ca.test", "http://ca.test"),
        default_profile: profiles[0].name.clone(),
        profiles,
        default_policy: PolicyRules::default(),
        default_policy_name: Name::parse("operator default").expect("a name"),
        idempotency_window: Duration::from_secs(86_400),
        retention: Retention::default(),
        webhooks: WebhookSettings::of(WebhookUrlRules { plain_http: true, special_addresses: true }),
        limits: limits(),
    }
}

/// The same where finalized orders are left to workers, and nobody waits for them.
pub fn unhurried() -> Settings {
    let acme = AcmeSettings { finalize_wait: Duration::ZERO, ..AcmeSettings::of("https://ca.test") };
    Settings { acme, ..settings() }
}

/// No rates, and a name is soon paused.
fn limits() -> LimitSettings {
    let mut limits = LimitSettings::none();
    limits.caps.failures_to_pause = 3;
    limits
}
