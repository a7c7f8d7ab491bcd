//! The keyring as a file: JSON, readable by its owner only.
//!
//! ```json
//! {"primary": "k2", "keys": [{"id": "k1", "key": "base64 of 32 bytes", "created_at": 1767225600}, …]}
//! ```

use std::{
    collections::HashSet,
    fs::{File, Metadata},
    io::{self, Read},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::{
    error::KeyringError,
    key::{self, KEY_LEN},
};

/// Far more than any keyring needs; keeps a wrong path from being read into memory.
const MAX_LEN: u64 = 1 << 20;

/// A valid keyring file: ids are unique and well formed, every key is 32 bytes, the primary is present.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyFile {
    pub(crate) primary: String,
    pub(crate) keys: Vec<KeyEntry>,
}

/// One key as text.
#[derive(Deserialize, Serialize, Zeroize, ZeroizeOnDrop)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyEntry {
    #[zeroize(skip)]
    pub(crate) id: String,
    key: String,
    #[zeroize(skip)]
    pub(crate) created_at: i64,
}

impl KeyEntry {
    /// A new random key, made at this time (Unix seconds).
    pub(crate) fn random(created_at: i64) -> Self {
        let key = key::random();
        Self { id: key::derived_id(&key), key: std::mem::take(&mut *key::to_base64(&key)), created_at }
    }

    /// The key itself; `None` if the text is not 32 bytes in base64, which `KeyFile` rules out.
    pub(crate) fn secret(&self) -> Option<Zeroizing<[u8; KEY_LEN]>> {
        key::from_base64(&self.key)
    }
}

impl KeyFile {
    /// Reads and checks the file. The stamp is that of the very file that was read.
    pub(crate) fn read(path: &Path) -> Result<(Self, Stamp), KeyringError> {
        let failed = |action| move |source| KeyringError::Io { action, path: path.to_owned(), source };
        let malformed = |reason| KeyringError::Malformed { path: path.to_owned(), reason };

        let file = File::open(path).map_err(failed("open"))?;
        let metadata = file.metadata().map_err(failed("read"))?;
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeyringError::Exposed { path: path.to_owned(), mode });
        }
        if !metadata.is_file() || metadata.len() > MAX_LEN {
            return Err(malformed("not a keyring file".to_owned()));
        }
        // The whole size at once: growing the buffer would leave copies of keys behind.
        let mut text = Zeroizing::new(Vec::with_capacity(metadata.len() as usize + 1));
        file.take(MAX_LEN).read_to_end(&mut text).map_err(failed("read"))?;
        let keys = Self::parse(&text).map_err(malformed)?;
        Ok((keys, Stamp::of(&metadata)))
    }

    pub(crate) fn to_json(&self) -> Zeroizing<Vec<u8>> {
        let mut text = Zeroizing::new(Vec::with_capacity(256 * (self.keys.len() + 1)));
        serde_json::to_writer_pretty(&mut *text, self).expect("strings and numbers are JSON");
        text.push(b'\n');
        text
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        // serde_json's own message may quote what it found, and that may be a key.
        let file: Self = serde_json::from_slice(text)
            .map_err(|e| format!("not a keyring, see line {} column {}", e.line(), e.column()))?;
        let mut seen = HashSet::new();
        for (index, entry) in file.keys.iter().enumerate() {
            if !key::valid_id(&entry.id) {
                return Err(format!("the id of key number {} is not 1 to 64 of A-Z a-z 0-9 - _ .", index + 1));
            }
            if !seen.insert(entry.id.as_str()) {
                return Err(format!("two keys have the id {:?}", entry.id));
            }
            if entry.secret().is_none() {
                return Err(format!("key {:?} is not 32 bytes in base64", entry.id));
            }
        }
        if !seen.contains(file.primary.as_str()) {
            return Err("the primary is not among the keys".to_owned());
        }
        Ok(file)
    }
}

/// What tells one state of a file from another without reading it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
}

impl Stamp {
    /// Of the file now at this path.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&std::fs::metadata(path)?))
    }

    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    #[test]
    fn a_file_that_is_not_a_keyring_is_refused_without_quoting_it() {
        for (text, reason) in [
            (format!(r#"{{"primary":"k1","keys":[{{"id":"k1","key":"{KEY}","created_at":"{KEY}"}}]}}"#), "line 1"),
            (format!(r#"{{"primary":"k1","keys":[{{"id":"k1","key":"{KEY}","{KEY}":1}}]}}"#), "line 1"),
            (format!(r#"{{"primary":"{KEY}","keys":[{{"id":"k1","key":"{KEY}","created_at":1}}]}}"#), "primary"),
            (format!(r#"{{"primary":"k1","keys":[{{"id":"{KEY}","key":"k1","created_at":1}}]}}"#), "key number 1"),
            (r#"{"primary":"k1","keys":[{"id":"k1","key":"AAECAw==","created_at":1}]}"#.to_owned(), "32 bytes"),
            (
                format!(
                    r#"{{"primary":"k1","keys":[{{"id":"k1","key":"{KEY}","created_at":1}},{{"id":"k1","key":"{KEY}","created_at":1}}]}}"#
                ),
                "two keys",
            ),
        ] {
            let refused = KeyFile::parse(text.as_bytes()).err().unwrap();
            assert!(refused.contains(reason), "{refused}");
            assert!(!refused.contains(KEY) && !refused.contains("AAECAw"), "{refused}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let file = KeyFile { primary: "k1".to_owned(), keys: vec![KeyEntry::random(5), KeyEntry::random(6)] };
        let file = KeyFile { primary: file.keys[1].id.clone(), ..file };
        let again = KeyFile::parse(&file.to_json()).unwrap();
        assert_eq!(again.primary, file.keys[1].id);
        assert_eq!(again.keys[0].secret(), file.keys[0].secret());
        assert_eq!(again.keys[1].created_at, 6);
    }
}
