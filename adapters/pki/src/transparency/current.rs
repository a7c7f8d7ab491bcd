//! The logs as they are now: lists of them are published anew while certificates are issued.

use std::{fmt, sync::Arc};

use super::LogList;
use parking_lot::RwLock;

/// The logs of a profile. Clones are the same: whoever replaces the list does so for all.
#[derive(Clone)]
pub struct CurrentLogs(Arc<RwLock<Arc<LogList>>>);

impl CurrentLogs {
    pub fn new(list: LogList) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(list))))
    }

    /// Those of this moment. What is decided together is decided by one list: the next may be another.
    pub fn now(&self) -> Arc<LogList> {
        self.0.read().clone()
    }

    pub fn replace(&self, list: LogList) {
        *self.0.write() = Arc::new(list);
    }
}

impl PartialEq for CurrentLogs {
    fn eq(&self, other: &Self) -> bool {
        self.now() == other.now()
    }
}

impl Eq for CurrentLogs {}

impl fmt::Debug for CurrentLogs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.now().fmt(f)
    }
}
