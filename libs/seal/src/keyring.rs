//! The handle a running process seals and opens with.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::RwLock;
use zeroize::Zeroizing;

use crate::{
    envelope::Envelope,
    error::{KeyringError, SealError},
    key::{self, Kek},
    keyfile::{KeyFile, Stamp},
};

/// The keys a process may use; cheap to clone, all clones see the same keys.
///
/// A keyring from a file follows it: a rotation by another process is noticed at the next
/// [`seal`](Keyring::seal), and by [`open`](Keyring::open) when it meets a key it does not know.
#[derive(Clone)]
pub struct Keyring {
    shared: Arc<Shared>,
}

/// What may be shown of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyInfo {
    /// Names the key in sealed values and in the keyring file.
    pub id: String,
    /// When it was made, in Unix seconds; `None` for a key given as text.
    pub created_at: Option<i64>,
    /// Whether new values are sealed with it.
    pub primary: bool,
}

struct Shared {
    path: Option<PathBuf>,
    loaded: RwLock<Arc<Loaded>>,
}

/// One state of the keyring; never changed, only replaced.
struct Loaded {
    stamp: Option<Stamp>,
    primary: usize,
    keys: Vec<(Kek, Option<i64>)>,
}

impl Keyring {
    /// Reads a keyring file.
    ///
    /// Refuses one that others than its owner can reach; the error says which `chmod` mends it.
    pub fn load(path: impl Into<PathBuf>) -> Result<Self, KeyringError> {
        let path = path.into();
        let loaded = Loaded::read(&path)?;
        Ok(Self { shared: Arc::new(Shared { path: Some(path), loaded: RwLock::new(Arc::new(loaded)) }) })
    }

    /// A keyring of one key, given as base64 of 32 bytes (from the environment or a configuration).
    ///
    /// Its id is derived from the key, as that of keys made for a file is: moved into a keyring file
    /// under that id, it opens what it sealed before.
    pub fn from_base64(text: &str) -> Result<Self, KeyringError> {
        let key = key::from_base64(text.trim()).ok_or(KeyringError::BadKey)?;
        let keys = vec![(Kek::new(key::derived_id(&key), &key), None)];
        let loaded = Loaded { stamp: None, primary: 0, keys };
        Ok(Self { shared: Arc::new(Shared { path: None, loaded: RwLock::new(Arc::new(loaded)) }) })
    }

    /// Seals a secret for one place, with the primary key.
    ///
    /// The context names the place and must be the same when it is opened, e.g.
    /// `eab_credentials.hmac_key:eab_…`. Sealing twice gives different bytes. If the keyring file has
    /// changed but cannot be read, the keys read before are used: see [`reload`](Keyring::reload).
    pub fn seal(&self, context: &str, plaintext: &[u8]) -> Vec<u8> {
        self.fresh().primary().seal(context, plaintext)
    }

    /// Opens what was sealed for this context, whichever key of the ring sealed it.
    pub fn open(&self, context: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let envelope = Envelope::parse(sealed)?;
        let loaded = self.loaded();
        if let Some(key) = loaded.key(envelope.key_id) {
            return key.open(context, &envelope);
        }
        if self.is_stale(&loaded) {
            self.reload()?;
        }
        match self.loaded().key(envelope.key_id) {
            Some(key) => key.open(context, &envelope),
            None => Err(SealError::UnknownKey(envelope.key_id.to_owned())),
        }
    }

    /// The id of the key that [`seal`](Keyring::seal) would use now.
    pub fn primary_id(&self) -> String {
        self.fresh().primary().id().to_owned()
    }

    /// Every key of the ring, in the order of the file.
    pub fn keys(&self) -> Vec<KeyInfo> {
        let loaded = self.fresh();
        let info = |(index, (key, created_at)): (usize, &(Kek, Option<i64>))| KeyInfo {
            id: key.id().to_owned(),
            created_at: *created_at,
            primary: index == loaded.primary,
        };
        loaded.keys.iter().enumerate().map(info).collect()
    }

    /// Reads the file again, or says why it cannot; the keys in use stay as they were then.
    ///
    /// Nobody needs to call this to see a rotation; it is for reporting a broken keyring early.
    pub fn reload(&self) -> Result<(), KeyringError> {
        if let Some(path) = &self.shared.path {
            let loaded = Arc::new(Loaded::read(path)?);
            *self.shared.loaded.write() = loaded;
        }
        Ok(())
    }

    fn loaded(&self) -> Arc<Loaded> {
        self.shared.loaded.read().clone()
    }

    /// The keys as the file has them now, or as it had them when it was last readable.
    fn fresh(&self) -> Arc<Loaded> {
        let loaded = self.loaded();
        // A broken file must not stop a running server from sealing: the old primary is still good.
        if self.is_stale(&loaded) && self.reload().is_ok() { self.loaded() } else { loaded }
    }

    fn is_stale(&self, loaded: &Loaded) -> bool {
        self.shared.path.as_ref().is_some_and(|path| Stamp::at(path).ok() != loaded.stamp)
    }
}

impl Loaded {
    fn read(path: &Path) -> Result<Self, KeyringError> {
        let (file, stamp) = KeyFile::read(path)?;
        let malformed = |reason: &str| KeyringError::Malformed { path: path.to_owned(), reason: reason.to_owned() };
        let mut keys = Vec::with_capacity(file.keys.len());
        for entry in &file.keys {
            let secret = entry.secret().ok_or_else(|| malformed("a key is not 32 bytes in base64"))?;
            keys.push((Kek::new(entry.id.clone(), &secret), Some(entry.created_at)));
        }
        let primary = keys.iter().position(|(key, _)| key.id() == file.primary);
        let primary = primary.ok_or_else(|| malformed("the primary is not among the keys"))?;
        Ok(Self { stamp: Some(stamp), primary, keys })
    }

    fn primary(&self) -> &Kek {
        &self.keys[self.primary].0
    }

    fn key(&self, id: &str) -> Option<&Kek> {
        self.keys.iter().map(|(key, _)| key).find(|key| key.id() == id)
    }
}
