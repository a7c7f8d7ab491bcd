//! The keys that sign access tokens: made, published, put to use, replaced and forgotten without anybody's help.

use std::sync::Arc;
use std::time::Duration;

use chancery_domain::{Timestamp, TokenKeyId};
use chancery_jose::{Algorithm, Jwk, JwkSet, PublishedKey, SigningKey};
use chancery_store::{TokenKey, Tx};

use crate::error::ServiceError;
use crate::kernel::{Kernel, sealed_column};
use crate::settings::LONGEST_TOKEN_LIFETIME;

/// Clocks of nodes differ by less than this.
const SLACK: Duration = Duration::from_secs(300);

pub(crate) struct TokenKeys {
    /// Newest first.
    keys: Vec<Loaded>,
    published: Arc<JwkSet>,
}

struct Loaded {
    kid: String,
    active_from: Timestamp,
    key: SigningKey,
}

impl TokenKeys {
    /// Reads the keys, after making the first one or the one that is due.
    pub(crate) async fn load(kernel: &Arc<Kernel>) -> Result<Self, ServiceError> {
        let keys = kernel.store.read(|tx| tx.token_keys()).await?;
        let now = kernel.now();
        let keys = if plan(kernel, &keys, now) == Plan::default() { keys } else { renew(kernel).await? };
        let (mut loaded, mut published) = (Vec::new(), Vec::new());
        for stored in keys {
            let kid = stored.id.to_string();
            let der = kernel.keyring.open(&sealed_column("token_keys").context(stored.id), &stored.sealed);
            let key = SigningKey::from_pkcs8(&der.map_err(ServiceError::internal)?).map_err(ServiceError::internal)?;
            let public = Jwk::parse(stored.public_key.as_bytes()).map_err(ServiceError::internal)?;
            published.push(PublishedKey::for_signatures(&kid, Algorithm::ES256, public));
            loaded.push(Loaded { kid, active_from: stored.active_from, key });
        }
        Ok(Self { keys: loaded, published: Arc::new(JwkSet { keys: published }) })
    }

    /// The key to sign with now: the newest that verifiers have had time to learn of.
    pub(crate) fn current(&self, now: Timestamp) -> Option<(&str, &SigningKey)> {
        let current = self.keys.iter().find(|key| key.active_from <= now).or(self.keys.last());
        current.map(|loaded| (loaded.kid.as_str(), &loaded.key))
    }

    pub(crate) fn published(&self) -> Arc<JwkSet> {
        self.published.clone()
    }
}

/// What has to be done to a set of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plan {
    create_active_from: Option<Timestamp>,
    forget: Vec<TokenKeyId>,
}

fn plan(kernel: &Kernel, keys: &[TokenKey], now: Timestamp) -> Plan {
    let settings = &kernel.settings;
    let create_active_from = match keys.first() {
        None => Some(now),
        Some(newest) if now.since(newest.active_from) >= settings.token_key_rotation => {
            Some(now.plus(settings.token_key_notice))
        }
        Some(_) => None,
    };
    // A key is done with once its successor has been in use for longer than any token lives, whatever the lifetime was
    // when it signed.
    let longest = settings.token_lifetime.max(LONGEST_TOKEN_LIFETIME);
    let successors = keys.iter().zip(keys.iter().skip(1));
    let done = successors.filter(|(newer, _)| now.since(newer.active_from) > longest + SLACK);
    Plan { create_active_from, forget: done.map(|(_, older)| older.id).collect() }
}

async fn renew(kernel: &Arc<Kernel>) -> Result<Vec<TokenKey>, ServiceError> {
    let shared = kernel.clone();
    kernel
        .store
        .write(move |tx: &mut Tx<'_>| {
            // Every node notices at the same time that a key is due. One makes it; the others find it made.
            tx.claim_identity()?;
            let now = shared.now();
            let Plan { create_active_from, forget } = plan(&shared, &tx.token_keys()?, now);
            if let Some(active_from) = create_active_from {
                let key = SigningKey::generate().map_err(ServiceError::internal)?;
                let id = TokenKeyId::new(now, shared.entropy.as_ref());
                let der = key.to_pkcs8().map_err(ServiceError::internal)?;
                let sealed = shared.keyring.seal(&sealed_column("token_keys").context(id), &der);
                let public_key = key.public().to_canonical_json();
                tx.insert_token_key(&TokenKey { id, sealed, public_key, created_at: now, active_from })?;
            }
            for id in forget {
                tx.delete_token_key(id)?;
            }
            Ok(tx.token_keys()?)
        })
        .await
}
