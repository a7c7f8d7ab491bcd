//! What every parser of strangers' bytes must hold to, as functions that take any bytes.
//!
//! A [`Target`] panics where its property does not hold. The tests of this crate run every target from its kept corpus
//! and through many mutations of it; `fuzz/run` hands the same functions to libFuzzer. See `fuzz/README.md`.

pub mod fixed;
pub mod mutate;
mod targets;

pub use targets::{TARGETS, chain, target};

/// A parser, or a few that belong together, and what must hold for whatever they are given.
pub struct Target {
    /// Also the name of its folder of the corpus and of its libFuzzer program.
    pub name: &'static str,
    /// Panics if the property does not hold.
    pub run: fn(&[u8]),
    /// What its inputs are made of: mutations that keep to it get further.
    pub form: Form,
    /// Words that mean something to the parser, as libFuzzer writes them: see [`words`](Self::words).
    pub words: &'static str,
}

impl Target {
    /// The words of the target: each line is one, in quotes, with `\xNN` for what cannot be written.
    pub fn words(&self) -> Vec<Vec<u8>> {
        let lines = self.words.lines().filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
        lines.map(|line| word(line).unwrap_or_else(|| panic!("{}: the word {line:?} is broken", self.name))).collect()
    }
}

fn word(text: &str) -> Option<Vec<u8>> {
    let (mut word, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, more @ ..] = rest {
        (word, rest) = match (first, more) {
            (b'\\', [b'x', high, low, more @ ..]) => {
                word.push(data_encoding::HEXLOWER_PERMISSIVE.decode(&[*high, *low]).ok()?[0]);
                (word, more)
            }
            (b'\\', _) => return None,
            (plain, more) => {
                word.push(*plain);
                (word, more)
            }
        };
    }
    Some(word)
}

/// What inputs are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Bytes,
    Text,
    Json,
    Der,
}
