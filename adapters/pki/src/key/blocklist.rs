//! Keys that are known to others than their owners.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use data_encoding::HEXLOWER_PERMISSIVE;

use super::{problem::KeyProblem, subscriber_key::SubscriberKey};

/// The longest line of a list; a comment may be long, a file without line ends must not fill the memory.
const MAX_LINE: usize = 4096;

/// Why a key that looks good is not to be certified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadKey {
    /// It is on a list of weak or published keys.
    Blocked,
    /// A certificate for it was revoked for keyCompromise.
    Compromised,
}

impl From<BadKey> for KeyProblem {
    fn from(bad: BadKey) -> Self {
        match bad {
            BadKey::Blocked => Self::Blocked,
            BadKey::Compromised => Self::Compromised,
        }
    }
}

/// Someone who knows keys that must not be certified.
pub trait KnownBadKeys {
    /// What is known against this key.
    fn verdict(&self, key: &SubscriberKey) -> Option<BadKey>;
}

/// Knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKnownBadKeys;

impl KnownBadKeys for NoKnownBadKeys {
    fn verdict(&self, _: &SubscriberKey) -> Option<BadKey> {
        None
    }
}

/// The first of several that knows something.
impl KnownBadKeys for [&dyn KnownBadKeys] {
    fn verdict(&self, key: &SubscriberKey) -> Option<BadKey> {
        self.iter().find_map(|known| known.verdict(key))
    }
}

/// The first of several that knows something.
impl<const N: usize> KnownBadKeys for [&dyn KnownBadKeys; N] {
    fn verdict(&self, key: &SubscriberKey) -> Option<BadKey> {
        self.as_slice().verdict(key)
    }
}

/// A list of key hashes in memory: 32 bytes an entry (10 for Debian's form) and nothing else.
#[derive(Default)]
pub struct KeyBlocklist {
    /// SHA-256 of the SubjectPublicKeyInfo, sorted.
    spki: Vec<[u8; 32]>,
    /// Debian's form, sorted; see [`SubscriberKey::debian_hash`].
    debian: Vec<[u8; 10]>,
}

/// Why a list was not read.
#[derive(Debug, thiserror::Error)]
pub enum BlocklistError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is neither empty, nor a comment, nor a hash.
    #[error(
        "line {0} is neither a SHA-256 of a SubjectPublicKeyInfo (64 hexadecimal digits), nor an entry of Debian's \
         list of weak keys (20), nor a comment (#)"
    )]
    Line(usize),
}

impl KeyBlocklist {
    /// Reads a text file, one hash a line, in any order; see [`read`](Self::read).
    pub fn load(path: &Path) -> Result<Self, BlocklistError> {
        Self::read(BufReader::new(File::open(path)?))
    }

    /// Reads lines: 64 hexadecimal digits are the SHA-256 of a SubjectPublicKeyInfo, 20 an entry of Debian's
    /// `openssl-blacklist`; `#` begins a comment, and empty lines do not count. The text is never in memory as a whole.
    pub fn read(mut text: impl BufRead) -> Result<Self, BlocklistError> {
        let mut list = Self::default();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if !read_line(&mut text, &mut line)? {
                break;
            }
            list.add(&line).ok_or(BlocklistError::Line(number))?;
        }
        list.spki.sort_unstable();
        list.spki.dedup();
        list.spki.shrink_to_fit();
        list.debian.sort_unstable();
        list.debian.dedup();
        list.debian.shrink_to_fit();
        Ok(list)
    }

    /// How many different hashes it holds.
    pub fn len(&self) -> usize {
        self.spki.len() + self.debian.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes of memory the hashes take.
    pub fn memory(&self) -> usize {
        self.spki.capacity() * size_of::<[u8; 32]>() + self.debian.capacity() * size_of::<[u8; 10]>()
    }

    fn add(&mut self, line: &[u8]) -> Option<()> {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
        let mut hash = [0; 32];
        match line.len() {
            0 => {}
            64 => {
                HEXLOWER_PERMISSIVE.decode_mut(line, &mut hash).ok()?;
                self.spki.push(hash);
            }
            20 => {
                HEXLOWER_PERMISSIVE.decode_mut(line, &mut hash[..10]).ok()?;
                self.debian.push(hash[..10].try_into().ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}

impl KnownBadKeys for KeyBlocklist {
    fn verdict(&self, key: &SubscriberKey) -> Option<BadKey> {
        let listed = self.spki.binary_search(key.sha256()).is_ok()
            || !self.debian.is_empty()
                && key.debian_hash().is_some_and(|hash| self.debian.binary_search(&hash).is_ok());
        listed.then_some(BadKey::Blocked)
    }
}

/// One line without its end, cut off after [`MAX_LINE`] bytes so that the rest shows up as a line of its own; false at
/// the end of the text.
fn read_line(text: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let mut limited = io::Read::take(text, MAX_LINE as u64);
    Ok(limited.read_until(b'\n', line)? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyAlgorithm, PrivateKey};
    use data_encoding::{HEXLOWER, HEXUPPER};

    fn key(algorithm: KeyAlgorithm) -> SubscriberKey {
        SubscriberKey::from_spki(PrivateKey::generate(algorithm).unwrap().public_key_info()).unwrap()
    }

    #[test]
    fn listed_keys_are_blocked_in_both_forms_and_others_are_not() {
        let (one, two, other) = (key(KeyAlgorithm::EcP256), key(KeyAlgorithm::Rsa2048), key(KeyAlgorithm::Rsa2048));
        let text = format!(
            "# published keys\n\n  {} # a comment\r\n{}\n{}\n",
            HEXUPPER.encode(one.sha256()),
            HEXLOWER.encode(&two.debian_hash().unwrap()),
            HEXLOWER.encode(one.sha256()),
        );
        let list = KeyBlocklist::read(text.as_bytes()).unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!(list.verdict(&one), Some(BadKey::Blocked));
        assert_eq!(list.verdict(&two), Some(BadKey::Blocked));
        assert_eq!(list.verdict(&other), None);
        let several: [&dyn KnownBadKeys; 2] = [&NoKnownBadKeys, &list];
        assert_eq!(several.verdict(&one), Some(BadKey::Blocked));
        assert_eq!(several.verdict(&other), None);
    }

    #[test]
    fn a_line_that_is_no_hash_is_named() {
        for (text, at) in [("x\n", 1), ("# ok\n\nabcd\n", 3), (&"g".repeat(64), 1), (&"a".repeat(10_000), 1)] {
            assert!(matches!(KeyBlocklist::read(text.as_bytes()), Err(BlocklistError::Line(line)) if line == at));
        }
        assert!(KeyBlocklist::read("".as_bytes()).unwrap().is_empty());
        assert!(matches!(KeyBlocklist::load(Path::new("no such file")), Err(BlocklistError::Io(_))));
    }

    mod slow {
        use super::*;
        use std::{io::Write, time::Instant};

        #[test]
        fn a_million_entries_load_into_less_than_100_mb() {
            const ENTRIES: usize = 1_000_000;
            let mut file = tempfile::NamedTempFile::new().unwrap();
            let mut text = io::BufWriter::new(&mut file);
            let mut state = 1_u64;
            for _ in 0..ENTRIES {
                let mut hash = [0; 32];
                for part in hash.chunks_mut(8) {
                    // Any generator without repetitions will do.
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    part.copy_from_slice(&state.to_be_bytes());
                }
                writeln!(text, "{}", HEXLOWER.encode(&hash)).unwrap();
            }
            let listed = key(KeyAlgorithm::EcP256);
            writeln!(text, "{}", HEXLOWER.encode(listed.sha256())).unwrap();
            text.flush().unwrap();
            drop(text);

            let started = Instant::now();
            let list = KeyBlocklist::load(file.path()).unwrap();
            let took = started.elapsed();
            println!("{} entries, {} bytes of memory, loaded in {took:?}", list.len(), list.memory());
            assert_eq!(list.len(), ENTRIES + 1);
            assert!(list.memory() < 100_000_000);
            assert_eq!(list.verdict(&listed), Some(BadKey::Blocked));
            assert_eq!(list.verdict(&key(KeyAlgorithm::EcP256)), None);
        }
    }
}
