//! What a node remembers of clients, keys, resellers and tokens, so that a request costs no query.
//!
//! All of it belongs to one epoch, a number in the database that every change to a client, key or reseller advances.
//! A node asks for the number every second; when it has changed, everything is forgotten. When the number could not be
//! asked for lately, the memory is not trusted: better slow than wrong.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chancery_domain::{ApiKey, ApiKeyId, Client, ClientId, Reseller, ResellerCode, ScopeSet};
use chancery_jose::JwkSet;
use chancery_store::Tx;
use parking_lot::Mutex;

use crate::error::ServiceError;
use crate::kernel::Kernel;

/// How long an answer to "has anything changed?" is trusted.
const TRUST: Duration = Duration::from_secs(4);
/// Verified tokens that are remembered; when there are more, all are forgotten and verified again.
const MOST_TOKENS: usize = 20_000;

#[derive(Default)]
pub(crate) struct Cache {
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    epoch: i64,
    confirmed: Option<Instant>,
    clients: HashMap<ClientId, (Client, Reseller)>,
    api_keys: HashMap<ApiKeyId, (ApiKey, Reseller)>,
    resellers: HashMap<ResellerCode, Reseller>,
    tokens: HashMap<[u8; 32], VerifiedToken>,
}

/// A token whose signature and claims were found good.
#[derive(Clone)]
pub(crate) struct VerifiedToken {
    pub(crate) holder: Holder,
    pub(crate) scopes: ScopeSet,
    /// The keys that its issuer published then.
    pub(crate) keys: Arc<JwkSet>,
    /// From when on it is refused, in seconds since 1970.
    pub(crate) ends: i64,
}

/// For whom a token speaks.
#[derive(Clone)]
pub(crate) enum Holder {
    Client(ClientId),
    /// By its place among the providers.
    External {
        provider: usize,
        subject: String,
        reseller: ResellerCode,
    },
}

impl Cache {
    /// Asks for the epoch, and forgets everything when it is another.
    pub(crate) async fn poll(&self, kernel: &Kernel) -> Result<(), ServiceError> {
        let asked = Instant::now();
        let epoch = kernel.store.peek(|tx| tx.identity_epoch()).await?;
        self.settle(epoch, asked);
        Ok(())
    }

    pub(crate) async fn client(
        &self,
        kernel: &Kernel,
        id: ClientId,
    ) -> Result<Option<(Client, Reseller)>, ServiceError> {
        self.recall(kernel, id, |memory| &mut memory.clients, move |tx| read_client(tx, id)).await
    }

    /// As the database has it now, whatever is remembered.
    pub(crate) async fn client_afresh(
        &self,
        kernel: &Kernel,
        id: ClientId,
    ) -> Result<Option<(Client, Reseller)>, ServiceError> {
        self.learn(kernel, id, |memory| &mut memory.clients, move |tx| read_client(tx, id)).await
    }

    pub(crate) async fn api_key(
        &self,
        kernel: &Kernel,
        id: ApiKeyId,
    ) -> Result<Option<(ApiKey, Reseller)>, ServiceError> {
        self.recall(
            kernel,
            id,
            |memory| &mut memory.api_keys,
            move |tx| {
                let Some(key) = tx.api_key(id)? else { return Ok(None) };
                Ok(tx.reseller(key.reseller)?.map(|reseller| (key, reseller)))
            },
        )
        .await
    }

    pub(crate) async fn reseller(
        &self,
        kernel: &Kernel,
        code: &ResellerCode,
    ) -> Result<Option<Reseller>, ServiceError> {
        let wanted = code.clone();
        self.recall(
            kernel,
            code.clone(),
            |memory| &mut memory.resellers,
            move |tx| Ok(tx.reseller_by_code(wanted.as_str())?),
        )
        .await
    }

    pub(crate) fn token(&self, hash: &[u8; 32]) -> Option<VerifiedToken> {
        self.memory.lock().tokens.get(hash).cloned()
    }

    pub(crate) fn remember_token(&self, hash: [u8; 32], token: VerifiedToken) {
        let mut memory = self.memory.lock();
        if memory.tokens.len() >= MOST_TOKENS {
            memory.tokens.clear();
        }
        memory.tokens.insert(hash, token);
    }

    /// From memory where that can be trusted, else from the database.
    async fn recall<K, V>(
        &self,
        kernel: &Kernel,
        key: K,
        shelf: fn(&mut Memory) -> &mut HashMap<K, V>,
        read: impl FnMut(&mut Tx<'_>) -> Result<Option<V>, ServiceError> + Send + 'static,
    ) -> Result<Option<V>, ServiceError>
    where
        K: Eq + Hash,
        V: Clone + Send + 'static,
    {
        {
            let mut memory = self.memory.lock();
            if memory.confirmed.is_some_and(|at| at.elapsed() < TRUST)
                && let Some(known) = shelf(&mut memory).get(&key)
            {
                return Ok(Some(known.clone()));
            }
        }
        self.learn(kernel, key, shelf, read).await
    }

    /// From the database, together with the epoch it belongs to. What is not there is not remembered, so a stranger
    /// cannot fill the memory with names of nothing.
    async fn learn<K, V>(
        &self,
        kernel: &Kernel,
        key: K,
        shelf: fn(&mut Memory) -> &mut HashMap<K, V>,
        mut read: impl FnMut(&mut Tx<'_>) -> Result<Option<V>, ServiceError> + Send + 'static,
    ) -> Result<Option<V>, ServiceError>
    where
        K: Eq + Hash,
        V: Clone + Send + 'static,
    {
        let asked = Instant::now();
        let (found, epoch) =
            kernel.store.read(move |tx| Ok::<_, ServiceError>((read(tx)?, tx.identity_epoch()?))).await?;
        self.settle(epoch, asked);
        if let Some(value) = &found {
            let mut memory = self.memory.lock();
            if memory.epoch == epoch {
                shelf(&mut memory).insert(key, value.clone());
            }
        }
        Ok(found)
    }

    /// Takes note of an epoch that was read at or after `asked`. An older number than the one we have is an answer
    /// that was overtaken on its way.
    fn settle(&self, epoch: i64, asked: Instant) {
        let mut memory = self.memory.lock();
        if epoch < memory.epoch {
            return;
        }
        if epoch > memory.epoch {
            *memory = Memory { epoch, ..Memory::default() };
        }
        if memory.confirmed.is_none_or(|before| before < asked) {
            memory.confirmed = Some(asked);
        }
    }
}

fn read_client(tx: &mut Tx<'_>, id: ClientId) -> Result<Option<(Client, Reseller)>, ServiceError> {
    let Some(client) = tx.client(id)? else { return Ok(None) };
    Ok(tx.reseller(client.reseller)?.map(|reseller| (client, reseller)))
}
