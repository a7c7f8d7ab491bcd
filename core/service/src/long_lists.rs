//! Lists that are on their way as a whole. Each takes as long as its reader does, and a place among the requests that are under
//! way: a reseller who begins many and reads none must not leave others without.

use std::collections::HashMap;
use std::sync::Arc;

use chancery_domain::ResellerId;
use parking_lot::Mutex;

use crate::error::{Cap, ServiceError};

#[derive(Clone, Default)]
pub(crate) struct LongLists(Arc<Mutex<HashMap<ResellerId, u32>>>);

/// One of them, until dropped.
pub struct LongList {
    lists: LongLists,
    reseller: ResellerId,
}

impl LongLists {
    /// One more, where the reseller has not so many already; 0 for any number.
    pub(crate) fn begin(&self, reseller: ResellerId, most: u32) -> Result<LongList, ServiceError> {
        let mut lists = self.0.lock();
        let mine = lists.entry(reseller).or_default();
        if most > 0 && *mine >= most {
            return Err(ServiceError::TooMany(Cap::LongLists, most));
        }
        *mine += 1;
        Ok(LongList { lists: self.clone(), reseller })
    }
}

impl Drop for LongList {
    fn drop(&mut self) {
        let mut lists = self.lists.0.lock();
        match lists.get_mut(&self.reseller) {
            Some(mine) if *mine > 1 => *mine -= 1,
            Some(_) | None => drop(lists.remove(&self.reseller)),
        }
    }
}
