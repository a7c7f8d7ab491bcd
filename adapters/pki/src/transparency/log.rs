//! Logs, and how many of them have to have a certificate.

use std::{collections::HashSet, fmt, ops::Range};

use aws_lc_rs::digest;
use data_encoding::BASE64;

use super::{embed::LogEntry, sct::Sct};
use crate::{
    error::KeyError,
    public_key::{KeyAlgorithm, verify},
    validity::Validity,
};

/// Certificates that last longer need one timestamp more.
const LONG: i64 = 180 * 86_400;
/// How signatures by ECDSA and by RSA, both with SHA-256, are called (RFC 5246 section 7.4.1.4.1).
const ECDSA: [u8; 2] = [4, 3];
const RSA: [u8; 2] = [4, 1];

/// How a log is called in timestamps: the hash of its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LogId([u8; 32]);

/// The key that a log signs with.
#[derive(Clone, PartialEq, Eq)]
pub struct LogKey {
    spki: Vec<u8>,
    /// How its signatures are called.
    algorithms: [u8; 2],
    id: LogId,
}

/// A log that certificates are shown to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// What we call it.
    pub name: String,
    /// Who runs it: what several logs of one operator promise is the promise of one.
    pub operator: String,
    pub key: LogKey,
    /// It takes certificates that end in this time, in Unix seconds.
    pub takes: Range<i64>,
}

/// How many timestamps a certificate needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SctNeeds {
    /// So many; none: two, and three for a certificate of more than 180 days, as browsers want it.
    pub scts: Option<usize>,
    /// From logs of so many operators.
    pub operators: usize,
}

/// The logs of a profile, and how many of them have to have its certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogList {
    logs: Vec<Log>,
    needs: SctNeeds,
}

/// What promises lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lacks {
    /// More logs.
    pub logs: bool,
    /// Logs of more operators.
    pub operators: bool,
}

impl Lacks {
    pub const NOTHING: Self = Self { logs: false, operators: false };
}

/// Why logs cannot be used together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogListError {
    #[error("{0:?} and {1:?} have the same key")]
    SameKey(String, String),
    #[error("{0:?} is the name of two")]
    SameName(String),
}

impl LogId {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// As log lists write it.
impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode(&self.0))
    }
}

impl fmt::Debug for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl LogKey {
    /// From a DER SubjectPublicKeyInfo: P-256, or RSA of 2048 bits or more (RFC 6962 section 2.1.4).
    pub fn from_spki(spki: &[u8]) -> Result<Self, KeyError> {
        let algorithms = match KeyAlgorithm::of(spki) {
            Some(KeyAlgorithm::EcP256) => ECDSA,
            Some(KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096) => RSA,
            Some(KeyAlgorithm::EcP384) | None => return Err(KeyError::Unsupported),
        };
        let hash = digest::digest(&digest::SHA256, spki);
        let id = LogId(hash.as_ref().try_into().expect("SHA-256 has 32 bytes"));
        Ok(Self { spki: spki.to_vec(), algorithms, id })
    }

    pub fn id(&self) -> LogId {
        self.id
    }

    /// Whether this log has promised to show this entry.
    pub fn has_promised(&self, sct: &Sct, entry: &LogEntry) -> bool {
        let Some((algorithms, signature)) = sct.signature_parts() else { return false };
        let Some(signed) = entry.signed_with(sct) else { return false };
        sct.log == self.id && algorithms == self.algorithms && verify(&self.spki, &signed, signature).is_ok()
    }
}

impl fmt::Debug for LogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.id, f)
    }
}

impl Log {
    /// Whether it takes certificates that end then.
    pub fn takes(&self, validity: Validity) -> bool {
        self.takes.contains(&validity.not_after())
    }
}

impl SctNeeds {
    /// What browsers want at least.
    pub const BROWSERS: Self = Self { scts: None, operators: 2 };

    /// How many timestamps a certificate of this length needs.
    pub fn scts(self, validity: Validity) -> usize {
        let seconds = validity.not_after() - validity.not_before() + 1;
        self.scts.unwrap_or(if seconds > LONG { 3 } else { 2 })
    }
}

impl LogList {
    pub fn new(logs: Vec<Log>, needs: SctNeeds) -> Result<Self, LogListError> {
        for (place, log) in logs.iter().enumerate() {
            for other in &logs[..place] {
                if other.name == log.name {
                    return Err(LogListError::SameName(log.name.clone()));
                }
                if other.key.id == log.key.id {
                    return Err(LogListError::SameKey(other.name.clone(), log.name.clone()));
                }
            }
        }
        Ok(Self { logs, needs })
    }

    pub fn logs(&self) -> &[Log] {
        &self.logs
    }

    pub fn find(&self, id: LogId) -> Option<&Log> {
        self.logs.iter().find(|log| log.key.id == id)
    }

    pub fn needs(&self) -> SctNeeds {
        self.needs
    }

    /// How many timestamps such a certificate needs.
    pub fn scts_needed(&self, validity: Validity) -> usize {
        self.needs.scts(validity)
    }

    /// What promises of these logs lack for a certificate. One counts once, and only where it takes such certificates.
    pub fn lacks(&self, validity: Validity, promised: impl IntoIterator<Item = LogId>) -> Lacks {
        let ids: HashSet<_> = promised.into_iter().collect();
        let logs: Vec<_> = self.logs.iter().filter(|log| ids.contains(&log.key.id) && log.takes(validity)).collect();
        let operators: HashSet<_> = logs.iter().map(|log| log.operator.as_str()).collect();
        Lacks { logs: logs.len() < self.needs.scts(validity), operators: operators.len() < self.needs.operators }
    }

    /// Whether promises of these logs are enough for a certificate.
    pub fn is_enough(&self, validity: Validity, promised: impl IntoIterator<Item = LogId>) -> bool {
        self.lacks(validity, promised) == Lacks::NOTHING
    }

    /// Whether there are enough that take such a certificate.
    pub fn could_be_enough(&self, validity: Validity) -> bool {
        self.is_enough(validity, self.logs.iter().map(|log| log.key.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyAlgorithm, PrivateKey, Signer};

    const DAY: i64 = 86_400;

    fn log(name: &str, operator: &str, takes: Range<i64>) -> Log {
        let key = PrivateKey::generate(KeyAlgorithm::EcP256).unwrap();
        let key = LogKey::from_spki(key.spki()).unwrap();
        Log { name: name.to_owned(), operator: operator.to_owned(), key, takes }
    }

    #[test]
    fn two_logs_of_two_operators_are_enough_and_three_for_long_certificates() {
        let always = 0..i64::MAX;
        let logs = vec![
            log("a1", "a", always.clone()),
            log("a2", "a", always.clone()),
            log("b1", "b", always.clone()),
            log("c", "c", 0..DAY),
        ];
        let [a1, a2, b1, c] = [0, 1, 2, 3].map(|place: usize| logs[place].key.id());
        let list = LogList::new(logs, SctNeeds::BROWSERS).unwrap();
        let (short, long) = (Validity::days(0, 180).unwrap(), Validity::lasting(0, 180 * DAY + 1).unwrap());
        assert!(list.is_enough(short, [a1, b1]));
        assert!(list.is_enough(long, [a1, a2, b1]));
        assert!(!list.is_enough(long, [a1, b1]), "two for more than 180 days");
        assert!(!list.is_enough(short, [a1, a2]), "one operator");
        assert!(!list.is_enough(short, [a1, a1]), "one log twice");
        assert!(!list.is_enough(short, [a1, c]), "one that does not take it");
        assert!(!list.is_enough(short, [a1, LogId::from_bytes([9; 32])]), "one that nobody knows");
        assert!(list.could_be_enough(long));
        let own = LogList::new(list.logs[..1].to_vec(), SctNeeds { scts: Some(1), operators: 1 }).unwrap();
        assert!(own.is_enough(long, [a1]));
        assert!(!own.is_enough(long, []));
    }

    #[test]
    fn logs_have_names_and_keys_of_their_own() {
        let (a, b) = (log("a", "x", 0..1), log("b", "x", 0..1));
        let same_name = Log { name: "a".to_owned(), ..b.clone() };
        let same_key = Log { key: a.key.clone(), ..b.clone() };
        let list = |logs: [&Log; 2]| LogList::new(logs.map(Clone::clone).to_vec(), SctNeeds::BROWSERS);
        assert!(list([&a, &b]).is_ok());
        assert_eq!(list([&a, &same_name]), Err(LogListError::SameName("a".to_owned())));
        assert_eq!(list([&a, &same_key]), Err(LogListError::SameKey("a".to_owned(), "b".to_owned())));
    }

    #[test]
    fn keys_that_logs_do_not_have_are_refused() {
        for good in [KeyAlgorithm::EcP256, KeyAlgorithm::Rsa2048] {
            assert!(LogKey::from_spki(PrivateKey::generate(good).unwrap().spki()).is_ok());
        }
        assert!(LogKey::from_spki(PrivateKey::generate(KeyAlgorithm::EcP384).unwrap().spki()).is_err());
        assert!(LogKey::from_spki(b"").is_err());
    }
}
