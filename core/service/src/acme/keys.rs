//! The keys of accounts as they were last seen: good to verify a signature with, before anything is asked of the store.
//! Whether an account still has that key is for admission to say.

use std::collections::HashMap;

use chancery_domain::{AcmeAccountId, ResellerId};
use chancery_jose::Jwk;
use parking_lot::Mutex;

/// How many are remembered; when there are more, all are forgotten.
const MOST: usize = 20_000;

#[derive(Default)]
pub(super) struct KnownKeys(Mutex<HashMap<AcmeAccountId, (Jwk, ResellerId)>>);

impl KnownKeys {
    pub(super) fn get(&self, id: AcmeAccountId) -> Option<(Jwk, ResellerId)> {
        self.0.lock().get(&id).cloned()
    }

    pub(super) fn keep(&self, id: AcmeAccountId, key: Jwk, of: ResellerId) {
        let mut all = self.0.lock();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(id, (key, of));
    }

    pub(super) fn forget(&self, id: AcmeAccountId) {
        self.0.lock().remove(&id);
    }
}
