//! The networks from which this node has admitted accounts. An address that is beyond its anonymous rate is refused before
//! anything is verified, except for accounts that are known there: a client that floods does not lock out its neighbours.
//!
//! An account is forgotten with its first request that fails. So each exception costs at most one verification, and is
//! earned again only by a request that the account's reseller pays for.

use std::collections::HashSet;

use chancery_domain::AcmeAccountId;
use parking_lot::Mutex;

use super::Acme;

/// Pairs of an account and a network that are remembered. If there are more, all are forgotten.
const MAX: usize = 20_000;

#[derive(Default)]
pub(super) struct KnownAddresses(Mutex<HashSet<(AcmeAccountId, String)>>);

impl Acme {
    /// Whether the last request of this account from this network was admitted.
    pub fn is_known_at(&self, id: AcmeAccountId, network: &str) -> bool {
        self.addresses.0.lock().contains(&(id, network.to_owned()))
    }

    /// Remembers that a request of this account from this network was admitted.
    pub fn remember_at(&self, id: AcmeAccountId, network: String) {
        let mut known = self.addresses.0.lock();
        if known.len() >= MAX {
            known.clear();
        }
        known.insert((id, network));
    }

    /// Forgets that this account was admitted from this network.
    pub fn forget_at(&self, id: AcmeAccountId, network: String) {
        self.addresses.0.lock().remove(&(id, network));
    }
}
