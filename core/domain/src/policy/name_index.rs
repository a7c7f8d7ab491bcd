//! The DNS names of a request, indexed by all their suffixes.

use std::ops::Range;

use super::hash_index::{Entry, HashFilter, HashIndex, SuffixHasher};
use crate::identifier::{DnsName, Identifier};

/// A name of the request, or a name above one, and which names it concerns. The names are sorted from the right, so those
/// below a suffix are adjacent.
pub(super) struct Suffix<'a> {
    pub(super) text: &'a str,
    pub(super) hash: u32,
    start: u32,
    exact_end: u32,
    wildcards_end: u32,
    end: u32,
}

impl Suffix<'_> {
    /// The names that are this very name.
    pub(super) fn exact(&self) -> Range<u32> {
        self.start..self.exact_end
    }

    /// The wildcards directly below it.
    pub(super) fn wildcards(&self) -> Range<u32> {
        self.exact_end..self.wildcards_end
    }

    /// All names below it, wildcards included.
    pub(super) fn below(&self) -> Range<u32> {
        self.exact_end..self.end
    }
}

/// The DNS names of a request. Positions are those in sorted order; addresses have none.
pub(super) struct NameIndex<'a> {
    names: Vec<(&'a DnsName, usize)>,
    suffixes: Vec<Suffix<'a>>,
    by_hash: HashIndex,
    /// Rejects most hashes that no suffix has.
    filter: HashFilter,
}

impl<'a> NameIndex<'a> {
    pub(super) fn new(identifiers: &'a [Identifier]) -> Self {
        let mut names: Vec<_> = identifiers.iter().enumerate().filter_map(|(place, each)| dns(each, place)).collect();
        names.sort_by(|(one, _), (other, _)| from_the_right(one).cmp(from_the_right(other)));
        let suffixes = suffixes(&names);
        let entries = suffixes.iter().zip(0..).map(|(suffix, position)| Entry { hash: suffix.hash, position });
        let by_hash = HashIndex::new(entries.collect());
        let filter = HashFilter::new(suffixes.iter().map(|suffix| suffix.hash));
        Self { names, suffixes, by_hash, filter }
    }

    /// The number of names.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn suffixes(&self) -> &[Suffix<'a>] {
        &self.suffixes
    }

    /// The suffixes that may have this hash.
    #[inline]
    pub(super) fn find(&self, hash: u32) -> impl Iterator<Item = &Suffix<'a>> {
        let candidates = self.filter.may_have(hash).then(|| self.by_hash.find(hash));
        candidates.into_iter().flatten().map(|position| &self.suffixes[position as usize])
    }

    /// For each name the place in the request.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.names.iter().map(|(_, place)| *place)
    }
}

fn dns(identifier: &Identifier, place: usize) -> Option<(&DnsName, usize)> {
    match identifier {
        Identifier::Dns(name) => Some((name, place)),
        Identifier::Ip(_) => None,
    }
}

/// The sort key that keeps names below one name together: a dot comes before everything else, and `*` before other labels.
fn from_the_right(name: &DnsName) -> impl Iterator<Item = u8> {
    name.as_str().bytes().rev().map(|byte| if byte == b'.' { 0 } else { byte })
}

/// Every distinct suffix of the sorted names once.
fn suffixes<'a>(names: &[(&'a DnsName, usize)]) -> Vec<Suffix<'a>> {
    let mut suffixes: Vec<Suffix<'a>> = Vec::new();
    // The suffixes of the current name that are known so far, the longest last.
    let mut open: Vec<(usize, SuffixHasher)> = Vec::new();
    for ((name, _), position) in names.iter().zip(0..) {
        while let Some((last, _)) = open.last()
            && !is_suffix(suffixes[*last].text, name.as_str())
        {
            suffixes[*last].end = position;
            open.pop();
        }
        let base = name.base();
        let known = open.last().map_or(0, |(last, _)| suffixes[*last].text.len());
        let mut rest = &base[..base.len() - known];
        rest = rest.strip_suffix('.').unwrap_or(rest);
        while !rest.is_empty() {
            let (left, label) = rest.rsplit_once('.').unwrap_or(("", rest));
            let mut hasher = open.last().map_or_else(SuffixHasher::new, |(_, hasher)| hasher.clone());
            hasher.add_label(label);
            open.push((suffixes.len(), hasher.clone()));
            suffixes.push(Suffix {
                text: &base[rest.len() - label.len()..],
                hash: hasher.finish(),
                start: position,
                exact_end: position,
                wildcards_end: position,
                end: names.len() as u32,
            });
            rest = left;
        }
        if let Some((last, _)) = open.last() {
            let own = &mut suffixes[*last];
            own.wildcards_end = position + 1;
            if !name.is_wildcard() {
                own.exact_end = position + 1;
            }
        }
    }
    suffixes
}

/// Whether `name` is `suffix` or below it.
fn is_suffix(suffix: &str, name: &str) -> bool {
    name.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Some of the names of a request, by position.
pub(super) struct NameSet {
    words: Vec<u64>,
}

impl NameSet {
    /// No names, of so many.
    pub(super) fn new(names: usize) -> Self {
        Self { words: vec![0; names.div_ceil(64)] }
    }

    pub(super) fn insert(&mut self, range: Range<u32>) {
        let (mut start, end) = (range.start as usize, range.end as usize);
        while start < end {
            let stop = end.min((start / 64 + 1) * 64);
            self.words[start / 64] |= (u64::MAX >> (64 - (stop - start))) << (start % 64);
            start = stop;
        }
    }

    pub(super) fn contains(&self, position: usize) -> bool {
        self.words[position / 64] >> (position % 64) & 1 == 1
    }

    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexed(names: &[&str], look: impl FnOnce(&NameIndex<'_>)) {
        let names: Vec<_> = names.iter().map(|name| Identifier::parse(name).unwrap()).collect();
        look(&NameIndex::new(&names));
    }

    /// Of each suffix the names that are it, the wildcards directly below it, and all names below it.
    fn concerned(names: &NameIndex<'_>, suffix: &str) -> [Vec<String>; 3] {
        let found = names.suffixes().iter().find(|each| each.text == suffix).unwrap();
        let text = |range: Range<u32>| {
            names.names[range.start as usize..range.end as usize].iter().map(|(name, _)| name.to_string()).collect()
        };
        [text(found.exact()), text(found.wildcards()), text(found.below())]
    }

    #[test]
    fn each_suffix_has_the_names_that_it_concerns() {
        let all = ["a.b.test", "x-b.test", "192.0.2.1", "b.test", "*.b.test", "no.c", "z.a.b.test"];
        indexed(&all, |names| {
            assert_eq!(names.len(), 6);
            let sets = |lists: [&[&str]; 3]| lists.map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>());
            let below = ["*.b.test", "a.b.test", "z.a.b.test"];
            assert_eq!(concerned(names, "b.test"), sets([&["b.test"], &["*.b.test"], &below]));
            assert_eq!(concerned(names, "a.b.test"), sets([&["a.b.test"], &[], &["z.a.b.test"]]));
            assert_eq!(concerned(names, "x-b.test"), sets([&["x-b.test"], &[], &[]]));
            assert_eq!(concerned(names, "test")[2].len(), 5);
            assert_eq!(concerned(names, "no.c"), sets([&["no.c"], &[], &[]]));
            // test, b.test, a.b.test, z.a.b.test, x-b.test, c, no.c
            assert_eq!(names.suffixes().len(), 7);
            let mut places: Vec<_> = names.places().collect();
            places.sort_unstable();
            assert_eq!(places, [0, 1, 3, 4, 5, 6], "the address has no position");
        });
    }

    #[test]
    fn a_name_that_is_given_twice_is_one_suffix() {
        indexed(&["a.test", "a.test", "*.a.test", "*.a.test"], |names| {
            let [exact, wildcards, below] = concerned(names, "a.test");
            assert_eq!((exact.len(), wildcards.len(), below.len()), (2, 2, 2));
        });
    }

    #[test]
    fn suffixes_are_found_by_the_hash_of_their_text() {
        indexed(&["a.b.test", "*.c.test", "d.example"], |names| {
            for suffix in names.suffixes() {
                let hash = super::super::hash_index::hash_of(suffix.text);
                assert!(names.find(hash).any(|found| found.text == suffix.text), "{}", suffix.text);
            }
        });
    }

    #[test]
    fn ranges_of_names_cross_words() {
        for (start, end) in [(0, 0), (0, 1), (0, 64), (63, 65), (5, 200), (64, 128), (130, 130)] {
            let mut set = NameSet::new(200);
            set.insert(start..end);
            assert_eq!(set.len() as u32, end - start);
            assert!((0..200).all(|position| set.contains(position as usize) == (start..end).contains(&position)));
        }
    }
}
