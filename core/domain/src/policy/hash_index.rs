//! A static hash table of domain names.
//!
//! Names are hashed label by label from the right, so the hashes of a name and of all its suffixes cost one pass over the
//! name. The hash is SipHash under a key that is drawn once per process: nobody who chooses names can make them collide.
//! A match of hashes is only a candidate; the caller compares the texts.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::LazyLock;

static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The hash state of a name suffix, which continues with the next label to the left.
#[derive(Clone)]
pub(super) struct SuffixHasher(DefaultHasher);

impl SuffixHasher {
    pub(super) fn new() -> Self {
        Self(KEY.build_hasher())
    }

    pub(super) fn add_label(&mut self, label: &str) {
        self.0.write(label.as_bytes());
        self.0.write_u8(b'.');
    }

    pub(super) fn finish(&self) -> u32 {
        (self.0.finish() >> 32) as u32
    }
}

pub(super) fn hash_of(name: &str) -> u32 {
    let mut hasher = SuffixHasher::new();
    name.rsplit('.').for_each(|label| hasher.add_label(label));
    hasher.finish()
}

/// A hash, and where the name that has it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) hash: u32,
    pub(super) position: u32,
}

/// Entries sorted by hash, with as many buckets as entries. It takes 12 bytes per entry.
#[derive(Clone, Debug, Default)]
pub(super) struct HashIndex {
    entries: Box<[Entry]>,
    /// The entries of bucket `n` are those from `buckets[n]` to `buckets[n + 1]`.
    buckets: Box<[u32]>,
}

impl HashIndex {
    pub(super) fn new(mut entries: Vec<Entry>) -> Self {
        if entries.is_empty() {
            return Self::default();
        }
        entries.sort_unstable();
        let mut buckets = vec![0; entries.len() + 1];
        for entry in &entries {
            buckets[bucket(entry.hash, entries.len()) + 1] += 1;
        }
        for number in 1..buckets.len() {
            buckets[number] += buckets[number - 1];
        }
        Self { entries: entries.into(), buckets: buckets.into() }
    }

    /// The positions of the names that may have this hash.
    #[inline]
    pub(super) fn find(&self, hash: u32) -> impl Iterator<Item = u32> {
        let entries = match self.entries.len() {
            0 => &[],
            length => {
                let bucket = bucket(hash, length);
                &self.entries[self.buckets[bucket] as usize..self.buckets[bucket + 1] as usize]
            }
        };
        entries.iter().filter(move |entry| entry.hash == hash).map(|entry| entry.position)
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Its size on the heap.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.entries.as_ref()) + size_of_val(self.buckets.as_ref())
    }
}

/// A set of hashes that errs on one side: it has every hash that was added, and about one of sixteen others.
pub(super) struct HashFilter {
    bits: Vec<u64>,
}

impl HashFilter {
    pub(super) fn new(hashes: impl ExactSizeIterator<Item = u32>) -> Self {
        let mut filter = Self { bits: vec![0; hashes.len().div_ceil(4)] };
        for hash in hashes {
            let bit = bucket(hash, filter.bits.len() * 64);
            filter.bits[bit / 64] |= 1 << (bit % 64);
        }
        filter
    }

    #[inline]
    pub(super) fn may_have(&self, hash: u32) -> bool {
        let bit = bucket(hash, self.bits.len() * 64);
        self.bits.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }
}

/// Hashes are distributed evenly, so buckets are ranges of hashes.
fn bucket(hash: u32, buckets: usize) -> usize {
    ((u64::from(hash) * buckets as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_entry_by_its_hash_and_no_other() {
        for length in [0, 1, 2, 7, 1000] {
            let names: Vec<_> = (0..length).map(|number| format!("n{number}.example")).collect();
            let entries = names.iter().zip(0..).map(|(name, position)| Entry { hash: hash_of(name), position });
            let index = HashIndex::new(entries.collect());
            for (name, position) in names.iter().zip(0..) {
                assert!(index.find(hash_of(name)).any(|found| found == position), "{name}");
            }
            // A false candidate among a thousand 32-bit hashes is possible, and compared by its caller.
            assert!(index.find(hash_of("another.example")).count() < 2);
        }
    }

    #[test]
    fn a_filter_passes_what_was_added_and_little_else() {
        let hashes =
            |kind: &str| (0..1000).map(|number| hash_of(&format!("{kind}{number}.example"))).collect::<Vec<_>>();
        let (added, others) = (hashes("n"), hashes("other"));
        let filter = HashFilter::new(added.iter().copied());
        assert!(added.iter().all(|hash| filter.may_have(*hash)));
        assert!(others.iter().filter(|hash| filter.may_have(**hash)).count() < 150);
        assert!(!HashFilter::new([].into_iter()).may_have(7));
    }

    #[test]
    fn entries_of_one_hash_are_all_found() {
        let entries = [(7, 1), (u32::MAX, 2), (7, 3), (0, 4)].map(|(hash, position)| Entry { hash, position });
        let index = HashIndex::new(entries.to_vec());
        assert_eq!(index.find(7).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(index.find(u32::MAX).collect::<Vec<_>>(), [2]);
        assert_eq!(index.find(0).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn a_suffix_hashes_like_the_name_that_it_is() {
        let mut hasher = SuffixHasher::new();
        hasher.add_label("example");
        assert_eq!(hasher.finish(), hash_of("example"));
        hasher.add_label("www");
        assert_eq!(hasher.finish(), hash_of("www.example"));
        assert_ne!(hash_of("a.bc"), hash_of("ab.c"));
    }
}
