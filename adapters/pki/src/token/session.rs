//! A session with a token that is logged in, and the keys that were found in it.

use std::collections::HashMap;

use cryptoki::{
    error::Error,
    mechanism::Mechanism,
    object::{Attribute, ObjectClass, ObjectHandle},
    session::Session,
};

use super::{key::KeyReference, login::Login};
use crate::{error::KeyError, public_key::KeyAlgorithm};

pub(super) struct KeptSession {
    session: Session,
    keys: HashMap<KeyReference, ObjectHandle>,
}

impl KeptSession {
    /// Has a key sign, where the token has it. A session that was kept may have ended since, or be logged out so that it
    /// finds nothing any more: where it fails, a new one has the last word.
    pub(super) fn sign(
        kept: &mut Option<Self>,
        login: &Login,
        key: &KeyReference,
        algorithm: KeyAlgorithm,
        hashed: &[u8],
    ) -> Result<Option<Vec<u8>>, KeyError> {
        if let Some(mut before) = kept.take()
            && let Ok(Some(signature)) = before.have_signed(key, algorithm, hashed)
        {
            *kept = Some(before);
            return Ok(Some(signature));
        }
        let mut anew = Self { session: login.enter()?, keys: HashMap::new() };
        let signature = anew.have_signed(key, algorithm, hashed).map_err(|error| login.trouble(&error))?;
        *kept = Some(anew);
        Ok(signature)
    }

    fn have_signed(
        &mut self,
        key: &KeyReference,
        algorithm: KeyAlgorithm,
        hashed: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        let handle = match self.keys.get(key) {
            Some(handle) => *handle,
            None => {
                let wanted = [Attribute::Class(ObjectClass::PRIVATE_KEY), Attribute::Id(key.id().to_vec())];
                let Some(handle) = self.session.find_objects(&wanted)?.first().copied() else { return Ok(None) };
                self.keys.insert(key.clone(), handle);
                handle
            }
        };
        let mechanism = match algorithm {
            KeyAlgorithm::EcP256 | KeyAlgorithm::EcP384 => Mechanism::Ecdsa,
            KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => Mechanism::RsaPkcs,
        };
        self.session.sign(&mechanism, handle, hashed).map(Some)
    }
}
