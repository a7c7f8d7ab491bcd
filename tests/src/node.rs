//! One process of the service: its use cases and doors, over a store that others may share.

use std::sync::Arc;

use axum::Router;
use chancery_http::{Door, Edge, PublicUrls, RateLimiter, account_for, finish};
use chancery_seal::Keyring;
use chancery_service::identity::External;
use chancery_service::{Identity, Kernel, Services, Settings};
use chancery_store::Store;
use chancery_testkit::{FrozenClock, SeededEntropy};

use crate::tenant::Tenant;

/// What a load balancer would send requests to.
pub struct Node {
    pub router: Router,
    pub services: Services,
}

/// What a node is made of.
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) clock: Arc<FrozenClock>,
    pub(crate) keyring: Keyring,
    pub(crate) urls: Arc<PublicUrls>,
    /// Of its own: two nodes that draw the same numbers would make the same ids.
    pub(crate) seed: u64,
}

impl Node {
    pub(crate) async fn start(
        parts: Parts,
        settings: Settings,
        external: Vec<External>,
        limiter: Option<RateLimiter>,
    ) -> Self {
        let Parts { store, clock, keyring, urls, seed } = parts;
        let entropy = Arc::new(SeededEntropy::new(seed));
        let kernel = Kernel::new(store, clock, entropy.clone(), keyring, settings).await.expect("a kernel");
        let identity = Identity::new(kernel.clone(), external).await.expect("an identity");
        let services = Services::new(kernel, identity);
        let door = Door { services: services.clone(), urls, limiter: limiter.map(Arc::new) };
        let routes = chancery_reseller::router(door.clone()).merge(chancery_identity::router(door.clone()));
        let ids = Arc::new(move || format!("req-{}", entropy.number()));
        let router = finish(account_for(routes, door), Edge::new(ids));
        Self { router, services }
    }

    /// The same somebody, speaking to this node.
    pub fn hears(&self, tenant: &Tenant) -> Tenant {
        tenant.at(self.router.clone())
    }

    /// Somebody without credentials.
    pub fn stranger(&self) -> Tenant {
        Tenant::stranger(self.router.clone())
    }
}
