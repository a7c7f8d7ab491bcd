//! A list of domain patterns, indexed by hash.
//!
//! Matching names with a list is the intersection of two hash tables: the names of the patterns, and the names of the
//! request with all their suffixes. The smaller table is scanned and the larger one probed. A match thus costs at most one
//! probe per pattern, and at most one probe per label of the names, whichever is less.

use super::DomainPattern;
use super::hash_index::{Entry, HashIndex, SuffixHasher, hash_of};
use super::name_index::{NameIndex, NameSet, Suffix};
use crate::identifier::DnsName;

/// The patterns of `allowed_domains` or `denied_domains`.
#[derive(Clone, Debug, Default)]
pub struct PatternIndex {
    /// Whether `**` is among them.
    everything: bool,
    /// The names of the patterns, without their `*.`, each ended by a newline. Patterns below a wildcard of the same list are
    /// left out: they match nothing that it does not match.
    text: Box<str>,
    /// `example.com`, by its own name.
    exact: HashIndex,
    /// `*.example.com`, by the name without `*.`.
    below: HashIndex,
    /// `www.example.com`, by `example.com`, whose position in the text it has: denying a name denies the wildcard that would
    /// serve it.
    siblings: HashIndex,
}

impl PatternIndex {
    /// Patterns that match the names they cover.
    pub fn of_allowed(patterns: &[DomainPattern]) -> Self {
        Self::new(patterns, false)
    }

    /// Patterns that match the names they cover, and wildcards for names that they cover.
    pub fn of_denied(patterns: &[DomainPattern]) -> Self {
        Self::new(patterns, true)
    }

    fn new(patterns: &[DomainPattern], with_siblings: bool) -> Self {
        let wildcards = Wildcards::new(patterns);
        let mut text = String::new();
        let mut everything = false;
        let [mut exact, mut below, mut siblings] = [const { Vec::new() }; 3];
        for pattern in patterns {
            // Lists have at most 1,000 patterns of 255 bytes.
            let position = u32::try_from(text.len()).unwrap_or(u32::MAX);
            let name = match pattern {
                DomainPattern::Everything => {
                    everything = true;
                    continue;
                }
                DomainPattern::Exactly(name) if wildcards.cover(name.as_str()) => continue,
                DomainPattern::Below(parent) if wildcards.cover(parent) => continue,
                DomainPattern::Exactly(name) => {
                    exact.push(Entry { hash: hash_of(name.as_str()), position });
                    if with_siblings && let Some((label, parent)) = name.as_str().split_once('.') {
                        let position = position + label.len() as u32 + 1;
                        siblings.push(Entry { hash: hash_of(parent), position });
                    }
                    name.as_str()
                }
                DomainPattern::Below(parent) => {
                    below.push(Entry { hash: hash_of(parent), position });
                    parent
                }
            };
            text.push_str(name);
            text.push('\n');
        }
        Self {
            everything,
            text: text.into(),
            exact: HashIndex::new(exact),
            below: HashIndex::new(below),
            siblings: HashIndex::new(siblings),
        }
    }

    /// Whether it matches whatever is asked for.
    pub(super) fn is_everything(&self) -> bool {
        self.everything
    }

    /// Adds the names that one of the patterns matches.
    pub(super) fn add_matches(&self, names: &NameIndex<'_>, matched: &mut NameSet) {
        if self.everything {
            return matched.insert(0..names.len() as u32);
        }
        self.intersect(&self.exact, names, |suffix| matched.insert(suffix.exact()));
        self.intersect(&self.below, names, |suffix| matched.insert(suffix.below()));
        self.intersect(&self.siblings, names, |suffix| matched.insert(suffix.wildcards()));
    }

    /// Calls `on_match` for every suffix of the names that is in one of the tables.
    fn intersect(&self, table: &HashIndex, names: &NameIndex<'_>, mut on_match: impl FnMut(&Suffix<'_>)) {
        if table.entries().len() <= names.suffixes().len() {
            for Entry { hash, position } in table.entries() {
                names.find(*hash).filter(|suffix| self.has_at(*position, suffix.text)).for_each(&mut on_match);
            }
        } else {
            for suffix in names.suffixes() {
                if self.find(table, suffix.hash, suffix.text).is_some() {
                    on_match(suffix);
                }
            }
        }
    }

    /// The broadest pattern that matches a name.
    pub(super) fn broadest_match(&self, name: &DnsName) -> Option<String> {
        if self.everything {
            return Some(DomainPattern::Everything.to_string());
        }
        let suffixes = name.as_str().rmatch_indices('.').map(|(dot, _)| &name.as_str()[dot + 1..]);
        let position = |table: &HashIndex, text: &str| self.find(table, hash_of(text), text);
        if let Some(suffix) = suffixes.into_iter().find(|suffix| position(&self.below, suffix).is_some()) {
            return Some(format!("*.{suffix}"));
        }
        if position(&self.exact, name.as_str()).is_some() {
            return Some(name.to_string());
        }
        let base = Some(name.base()).filter(|_| name.is_wildcard())?;
        let (before, _) = self.text.split_at(position(&self.siblings, base)? as usize);
        let label = before.rsplit('\n').next().unwrap_or_default();
        Some(format!("{label}{base}"))
    }

    /// Its size on the heap.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + self.exact.bytes() + self.below.bytes() + self.siblings.bytes()
    }

    /// The first position of a text in a table.
    fn find(&self, table: &HashIndex, hash: u32, text: &str) -> Option<u32> {
        table.find(hash).find(|position| self.has_at(*position, text))
    }

    /// Whether a name, or the rest of one, is at a position.
    fn has_at(&self, position: u32, text: &str) -> bool {
        let rest = self.text.as_bytes()[position as usize..].strip_prefix(text.as_bytes());
        rest.is_some_and(|rest| rest.first() == Some(&b'\n'))
    }
}

/// The wildcards of a list.
struct Wildcards<'a> {
    parents: Vec<&'a str>,
    by_hash: HashIndex,
}

impl<'a> Wildcards<'a> {
    fn new(patterns: &'a [DomainPattern]) -> Self {
        let parent = |pattern: &'a DomainPattern| match pattern {
            DomainPattern::Below(parent) => Some(parent.as_str()),
            DomainPattern::Everything | DomainPattern::Exactly(_) => None,
        };
        let parents: Vec<_> = patterns.iter().filter_map(parent).collect();
        let entries = parents.iter().zip(0..).map(|(parent, position)| Entry { hash: hash_of(parent), position });
        let by_hash = HashIndex::new(entries.collect());
        Self { parents, by_hash }
    }

    /// Whether a name is below one of them.
    fn cover(&self, name: &str) -> bool {
        let mut hasher = SuffixHasher::new();
        let mut end = name.len();
        while let Some(dot) = name[..end].rfind('.') {
            hasher.add_label(&name[dot + 1..end]);
            let suffix = &name[dot + 1..];
            if self.by_hash.find(hasher.finish()).any(|position| self.parents[position as usize] == suffix) {
                return true;
            }
            end = dot;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identifier::Identifier;

    fn patterns(texts: &[&str]) -> Vec<DomainPattern> {
        texts.iter().map(|text| DomainPattern::parse(text).unwrap()).collect()
    }

    /// Which of the names match, by the index.
    fn matches(index: &PatternIndex, names: &[Identifier]) -> Vec<bool> {
        let by_suffix = NameIndex::new(names);
        let mut matched = NameSet::new(by_suffix.len());
        index.add_matches(&by_suffix, &mut matched);
        let mut found = vec![false; names.len()];
        for (position, place) in by_suffix.places().enumerate() {
            found[place] = matched.contains(position);
        }
        found
    }

    /// The index against the definition, for many lists of patterns and names from few labels.
    #[test]
    fn the_index_matches_what_the_patterns_match() {
        let labels = ["a", "b", "a-b", "x1"];
        let mut names: Vec<String> = labels.map(str::to_owned).to_vec();
        for _ in 0..3 {
            let longer = names.iter().flat_map(|name| labels.map(|label| format!("{label}.{name}")));
            names = names.iter().cloned().chain(longer).collect();
            names.sort();
            names.dedup();
        }
        let wildcards: Vec<_> = names.iter().map(|name| format!("*.{name}")).collect();
        let all: Vec<_> = names.iter().chain(&wildcards).map(String::as_str).collect();
        let identifiers: Vec<_> = all.iter().map(|name| Identifier::parse(name).unwrap()).collect();
        // Long lists against few names and short lists against many: either side is scanned.
        for (step, take, few) in [(1, 1, 1), (7, 3, 2), (13, 40, 5), (3, 200, 50), (1, 600, 700)] {
            for start in (0..all.len()).step_by(97) {
                let chosen: Vec<_> = all.iter().cycle().skip(start).step_by(step).take(take).copied().collect();
                let chosen = patterns(&chosen);
                let asked: Vec<_> = identifiers.iter().cycle().skip(start / 2).step_by(11).take(few).cloned().collect();
                let covers: Vec<_> =
                    asked.iter().map(|name| chosen.iter().any(|each| each.covers(dns(name)))).collect();
                assert_eq!(matches(&PatternIndex::of_allowed(&chosen), &asked), covers);
                let touches: Vec<_> =
                    asked.iter().map(|name| chosen.iter().any(|each| each.touches(dns(name)))).collect();
                let denied = PatternIndex::of_denied(&chosen);
                assert_eq!(matches(&denied, &asked), touches);
                for (name, touched) in asked.iter().zip(touches) {
                    let broadest = denied.broadest_match(dns(name));
                    assert_eq!(broadest.is_some(), touched, "{name}");
                    let pattern = broadest.map(|text| DomainPattern::parse(&text).unwrap());
                    assert!(pattern.is_none_or(|pattern| chosen.contains(&pattern) && pattern.touches(dns(name))));
                }
            }
        }
    }

    fn dns(identifier: &Identifier) -> &DnsName {
        match identifier {
            Identifier::Dns(name) => name,
            Identifier::Ip(_) => panic!("{identifier} is an address"),
        }
    }

    #[test]
    fn everything_matches_every_name() {
        let names = ["a.test", "192.0.2.1", "*.b.test"].map(|name| Identifier::parse(name).unwrap());
        let index = PatternIndex::of_denied(&patterns(&["x.test", "**"]));
        assert_eq!(matches(&index, &names), [true, false, true]);
        assert!(index.is_everything());
        assert_eq!(index.broadest_match(dns(&names[0])).as_deref(), Some("**"));
    }

    #[test]
    fn patterns_below_a_wildcard_of_their_list_are_left_out() {
        let texts = ["*.b.a.test", "x.a.test", "*.a.test", "a.test", "x.c.b.a.test", "*.ba.test"];
        let index = PatternIndex::of_denied(&patterns(&texts));
        assert_eq!(&*index.text, "a.test\na.test\nba.test\n");
        assert_eq!((index.exact.entries().len(), index.below.entries().len()), (1, 2));
    }

    #[test]
    fn the_broadest_pattern_is_named() {
        let index =
            PatternIndex::of_denied(&patterns(&["w.a.test", "*.a.test", "*.test", "x.b.example", "y.b.example"]));
        let broadest = |name: &str| index.broadest_match(&DnsName::parse(name).unwrap());
        assert_eq!(broadest("w.a.test").as_deref(), Some("*.test"));
        assert_eq!(broadest("*.b.example").as_deref(), Some("x.b.example"));
        assert_eq!(broadest("b.example"), None);
    }

    #[test]
    fn an_empty_list_matches_nothing() {
        let names = [Identifier::parse("a.test").unwrap()];
        assert_eq!(matches(&PatternIndex::of_allowed(&[]), &names), [false]);
        assert_eq!(matches(&PatternIndex::of_allowed(&patterns(&["a.test"])), &[]), [false; 0]);
    }
}
