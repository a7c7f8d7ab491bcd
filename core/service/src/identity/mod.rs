//! Who a caller is: tokens of our own, API keys, and tokens of external OpenID providers.

mod authenticate;
mod cache;
mod clients;
mod external;
mod keys;
pub(crate) mod secrets;
mod token;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_jose::JwkSet;
use parking_lot::RwLock;

pub use authenticate::AuthError;
pub use clients::{NewClient, NewSecret};
pub use external::{CodeExchange, External, KeySource, RedeemError};
pub use secrets::{api_key_text, draw_secret, hash_secret};
pub(crate) use secrets::{operator_key_id, operator_key_text};
pub use token::{TokenGrant, TokenRefusal, TokenRequest};

use crate::error::ServiceError;
use crate::kernel::Kernel;
use cache::Cache;
use keys::TokenKeys;

/// How often a node asks whether clients, keys or resellers have changed.
const POLL: Duration = Duration::from_secs(1);
/// How often a node looks whether a token key is due to be replaced.
const KEY_CHECK: Duration = Duration::from_secs(60);
/// How often a node looks for a token key that it does not know. Anybody can make up names of keys, and a new key is
/// published long before it is used.
const KEY_SEARCH: Duration = Duration::from_secs(5);

/// The identity provider and the verifier of everything a caller may show.
pub struct Identity {
    kernel: Arc<Kernel>,
    external: Vec<External>,
    cache: Cache,
    keys: RwLock<Arc<TokenKeys>>,
    /// When a key that we did not know was last looked for.
    searched: tokio::sync::Mutex<Option<Instant>>,
}

impl Identity {
    /// Makes or finds the keys that tokens are signed with.
    pub async fn new(kernel: Arc<Kernel>, external: Vec<External>) -> Result<Arc<Self>, ServiceError> {
        let keys = RwLock::new(Arc::new(TokenKeys::load(&kernel).await?));
        let (cache, searched) = (Cache::default(), tokio::sync::Mutex::default());
        Ok(Arc::new(Self { kernel, external, cache, keys, searched }))
    }

    /// The public keys of our tokens.
    pub fn jwks(&self) -> Arc<JwkSet> {
        self.token_keys().published()
    }

    /// The providers that are trusted beside ourselves.
    pub(crate) fn external(&self) -> &[External] {
        &self.external
    }

    /// Keeps what is in memory up to date: a client that was disabled on any node stops within a few seconds on this one.
    pub async fn watch(&self) {
        let mut until_key_check = Duration::ZERO;
        loop {
            if let Err(error) = self.cache.poll(&self.kernel).await {
                tracing::warn!(%error, "could not ask for changes to clients and keys");
            }
            if until_key_check.is_zero() {
                until_key_check = KEY_CHECK;
                if let Err(error) = self.refresh_keys().await {
                    tracing::error!(%error, "could not refresh the keys that sign tokens");
                }
            }
            until_key_check = until_key_check.saturating_sub(POLL);
            tokio::time::sleep(POLL).await;
        }
    }

    /// Reads the token keys anew, and replaces the one in use when it is due.
    pub async fn refresh_keys(&self) -> Result<(), ServiceError> {
        let fresh = Arc::new(TokenKeys::load(&self.kernel).await?);
        *self.keys.write() = fresh;
        Ok(())
    }

    /// Looks for a key that another node may have made, unless that was done a moment ago. Who comes while it is being
    /// done waits for it.
    async fn search_keys(&self) -> Result<(), ServiceError> {
        let mut searched = self.searched.lock().await;
        if searched.is_none_or(|at| at.elapsed() >= KEY_SEARCH) {
            *searched = Some(Instant::now());
            self.refresh_keys().await?;
        }
        Ok(())
    }

    fn token_keys(&self) -> Arc<TokenKeys> {
        self.keys.read().clone()
    }
}
