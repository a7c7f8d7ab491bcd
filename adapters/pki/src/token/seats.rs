//! Sessions with a token, one for each who is at it, kept for the next.

use std::{
    collections::HashMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use cryptoki::{
    error::Error,
    mechanism::Mechanism,
    object::{Attribute, ObjectClass, ObjectHandle},
    session::Session,
};

use super::key::KeyReference;
use crate::error::KeyError;

/// How many may be at it at a time; tokens allow a number of sessions, and sign one after the other anyway.
const MOST: usize = 16;

/// The sessions of this process.
#[derive(Default)]
pub(super) struct Seats {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Seat>,
    taken: usize,
}

impl Seats {
    /// Does something in a session. One that was kept may have ended since, or be logged out, so that it finds nothing
    /// any more: where it fails, all that are idle are left, and a new one has the last word.
    pub(super) fn with<T>(
        &self,
        sit_down: impl FnOnce() -> Result<Session, KeyError>,
        work: impl Fn(&mut Seat) -> Result<Option<T>, Error>,
        told: impl FnOnce(&Error) -> KeyError,
    ) -> Result<Option<T>, KeyError> {
        let _place = self.wait();
        let kept = self.lock().idle.pop();
        if let Some(mut seat) = kept {
            if let Ok(Some(done)) = work(&mut seat) {
                self.lock().idle.push(seat);
                return Ok(Some(done));
            }
            drop(seat);
            let stale = std::mem::take(&mut self.lock().idle);
            drop(stale);
        }
        let mut seat = Seat { session: sit_down()?, keys: HashMap::new() };
        let done = work(&mut seat).map_err(|error| told(&error))?;
        self.lock().idle.push(seat);
        Ok(done)
    }

    fn wait(&self) -> Place<'_> {
        let full = |state: &mut State| state.taken >= MOST;
        let mut state = self.freed.wait_while(self.lock(), full).unwrap_or_else(PoisonError::into_inner);
        state.taken += 1;
        Place(self)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// That one is at it.
struct Place<'a>(&'a Seats);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.lock().taken -= 1;
        self.0.freed.notify_one();
    }
}

/// A session, and the keys that it has found.
pub(super) struct Seat {
    session: Session,
    keys: HashMap<KeyReference, ObjectHandle>,
}

impl Seat {
    /// Has a key sign, where there is one.
    pub(super) fn sign(
        &mut self,
        key: &KeyReference,
        mechanism: &Mechanism<'_>,
        hashed: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        let handle = match self.keys.get(key) {
            Some(handle) => *handle,
            None => {
                let Some(handle) = find(&self.session, key)? else { return Ok(None) };
                self.keys.insert(key.clone(), handle);
                handle
            }
        };
        self.session.sign(mechanism, handle, hashed).map(Some)
    }
}

/// The private key with this id.
pub(super) fn find(session: &Session, key: &KeyReference) -> Result<Option<ObjectHandle>, Error> {
    let wanted = [Attribute::Class(ObjectClass::PRIVATE_KEY), Attribute::Id(key.id().to_vec())];
    Ok(session.find_objects(&wanted)?.first().copied())
}
