//! Parties as they were read, and at which version: whoever finds the same version need not read them again.

use std::collections::HashMap;
use std::sync::Arc;

use chancery_domain::AcmeAccountId;
use parking_lot::Mutex;

use super::party::Party;

/// While the version stays the same, nothing that makes up a party has changed, whichever process changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// On SQLite: a number of the whole file, which triggers move on.
    Epoch(i64),
    /// On PostgreSQL: where the rows are, and who put them there.
    Rows { held: String, reseller: String },
}

#[derive(Default)]
pub(crate) struct KnownParties(Mutex<HashMap<AcmeAccountId, (Version, Arc<Party>)>>);

/// How many are remembered; when there are more, all are forgotten.
const MOST_KNOWN: usize = 4_000;
/// Whoever has more text than this noted about them is read each time: what is remembered stays small.
const MOST_TEXT: usize = 2_000;

impl KnownParties {
    pub(super) fn get(&self, id: AcmeAccountId, version: &Version) -> Option<Party> {
        let found = self.0.lock().get(&id).filter(|(at, _)| at == version).map(|(_, party)| party.clone());
        found.map(Arc::unwrap_or_clone)
    }

    pub(super) fn keep(&self, id: AcmeAccountId, version: &Version, party: &Party) {
        let noted = party.account.metadata.pairs().iter().map(|(key, value)| key.len() + value.len());
        if noted.sum::<usize>() + party.acme_account.jwk.len() > MOST_TEXT {
            return;
        }
        let mut all = self.0.lock();
        if all.len() >= MOST_KNOWN {
            all.clear();
        }
        all.insert(id, (version.clone(), Arc::new(party.clone())));
    }

    /// Forgets all: the next server may have given the same numbers to other rows.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}
