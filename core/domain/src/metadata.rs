//! The reseller's own notes on a thing: a few pairs of texts that we keep and give back.

use std::collections::BTreeMap;

use crate::problem::Problems;
use crate::text::{check, cut};

/// At most 16 pairs; keys of 1..=64 characters, values of at most 512.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata(BTreeMap<String, String>);

impl Metadata {
    pub const MAX_PAIRS: usize = 16;

    /// Checks every pair and notes each one that is wrong under `field`.
    pub fn parse(field: &str, pairs: BTreeMap<String, String>, problems: &mut Problems) -> Self {
        if pairs.len() > Self::MAX_PAIRS {
            problems.add(field, "too_many", format!("must have at most {} pairs", Self::MAX_PAIRS));
        }
        // Of too many, only the first: what is told must not grow with what was sent.
        for (key, value) in pairs.iter().take(Self::MAX_PAIRS) {
            match check(key, 1, 64, false) {
                Err(error) => {
                    let shown = cut(key, 64);
                    problems.add(field, "invalid_key", format!("the key {shown:?} {error}"));
                }
                Ok(()) => drop(problems.take(&format!("{field}.{key}"), check(value, 0, 512, true))),
            }
        }
        Self(pairs)
    }

    pub fn pairs(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// For what was checked before it was stored.
    pub fn from_stored(pairs: BTreeMap<String, String>) -> Self {
        Self(pairs)
    }
}
