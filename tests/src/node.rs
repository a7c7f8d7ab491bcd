//! One process of the service: its use cases and doors, over a store that others may share.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use chancery_dcv::Validator;
use chancery_domain::Entropy;
use chancery_http::{Door, Edge, PublicUrls, account_for, finish};
use chancery_seal::Keyring;
use chancery_service::identity::External;
use chancery_service::operator::{KeyAlgorithm, NewHierarchy};
use chancery_service::{Authority, Fresh, Identity, Kernel, Services, Settings};
use chancery_store::{Options, Store};
use chancery_testkit::{FrozenClock, SeededEntropy};
use chancery_workers::{Inspector, Logs, Workers};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::tenant::Tenant;
use crate::world::{START, urls};

/// What the doors are told that this build is.
pub const VERSION: &str = "0.1.0 (1a2b3c4d5e6f)";

/// What a load balancer would send requests to.
pub struct Node {
    pub router: Router,
    /// The door of relying parties, on a listener of its own.
    pub relying: Router,
    pub services: Services,
    /// Who is shown what is going to be issued, where the settings want that.
    pub logs: Arc<Logs>,
    pub(crate) clock: Arc<FrozenClock>,
}

/// What a node is made of.
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) clock: Arc<FrozenClock>,
    pub(crate) keyring: Keyring,
    pub(crate) urls: Arc<PublicUrls>,
    /// Of its own: two nodes that draw the same numbers would make the same ids.
    pub(crate) seed: u64,
    /// What it draws from instead of the seed, where a test is about that.
    pub(crate) entropy: Option<Arc<dyn Entropy>>,
}

impl Node {
    pub(crate) async fn start(parts: Parts, settings: Settings, external: Vec<External>) -> Self {
        let Parts { store, clock, keyring, urls, seed, entropy } = parts;
        let numbers = Arc::new(SeededEntropy::new(seed));
        let entropy = entropy.unwrap_or_else(|| numbers.clone());
        let kernel = Kernel::new(store, clock.clone(), entropy, keyring, None, settings, None).await.expect("a kernel");
        let identity = Identity::new(kernel.clone(), external).await.expect("an identity");
        let authority = Authority::new(kernel.clone()).await.expect("an authority");
        let services = Services::new(kernel, identity, authority);
        if services.limits.settings().has_rates() {
            let limits = services.limits.clone();
            tokio::spawn(async move { limits.run().await });
        }
        services.operator.init_hierarchy(hierarchy()).await.expect("a hierarchy");
        services.authority.reload().await.expect("a hierarchy that opens");
        let door = Door { services: Arc::new(services.clone()), urls, version: VERSION };
        let routes = chancery_reseller::router(door.clone())
            .merge(chancery_identity::router(door.clone()))
            .merge(chancery_acme::router(door.clone()))
            .merge(chancery_console::router(door.clone()));
        let ids = Arc::new(move || format!("req-{}", numbers.number()));
        let router = finish(account_for(routes, door), Edge::new(ids.clone()));
        let relying = finish(chancery_relying::router(services.clone()), Edge::new(ids));
        let logs = Arc::new(Logs::new(Vec::new(), clock.clone()));
        Self { router, relying, services, logs, clock }
    }

    /// A node in a process of its own, over a database and a keyring that another has made.
    pub async fn join(database: &str, kek: &Path, seed: u64, settings: Settings) -> Self {
        let url = database.parse().expect("the URL of a database");
        let open = move || Store::open(&url, &Options::default()).expect("a database that is there");
        let store = tokio::task::spawn_blocking(open).await.expect("opening ends");
        let keyring = Keyring::load(kek).expect("a keyring that is there");
        let parts = Parts {
            store,
            clock: Arc::new(FrozenClock::at(START)),
            keyring,
            urls: Arc::new(urls()),
            seed,
            entropy: None,
        };
        Self::start(parts, settings, Vec::new()).await
    }

    /// Does the jobs that this node has just taken on, and those that come of them.
    pub async fn work_fresh(&self, fresh: &mut UnboundedReceiver<Fresh>) {
        let workers = Workers::new(self.services.clone(), None, self.clock.clone()).with_logs(self.logs.clone());
        while let Ok(Fresh { job, .. }) = fresh.try_recv() {
            workers.work(job).await;
        }
    }

    /// Does every job that is waiting, with these eyes; without any, every name is taken for shown.
    pub async fn work(&self, validator: Option<Arc<Validator>>) {
        work(&self.services, validator, self.clock.clone(), self.logs.clone()).await;
    }

    /// The same somebody, speaking to this node.
    pub fn hears(&self, tenant: &Tenant) -> Tenant {
        tenant.at(self.router.clone())
    }

    /// Somebody who has got a certificate of ours to trust or not.
    pub fn relying_party(&self) -> Tenant {
        Tenant::stranger(self.relying.clone())
    }

    /// Somebody without credentials.
    pub fn stranger(&self) -> Tenant {
        Tenant::stranger(self.router.clone())
    }
}

/// Takes the jobs whose lease has ended, as a worker on patrol does, and does them.
pub(crate) async fn work(
    services: &Services,
    validator: Option<Arc<Validator>>,
    clock: Arc<FrozenClock>,
    logs: Arc<Logs>,
) {
    let inspector = validator.map(|validator| -> Arc<dyn Inspector> { validator });
    let workers = Workers::new(services.clone(), inspector, clock.clone()).with_logs(logs);
    clock.advance(services.settings.issuing.job_lease);
    for job in services.jobs.lease().await.expect("jobs") {
        workers.work(job).await;
    }
}

/// One issuing CA is enough for most tests, and quickly made.
fn hierarchy() -> NewHierarchy {
    NewHierarchy {
        country: "DE".to_owned(),
        organization: "Test".to_owned(),
        root: "Test Root".to_owned(),
        issuing: vec![("Test Issuing E1".to_owned(), KeyAlgorithm::EcP256)],
        keys: None,
    }
}
