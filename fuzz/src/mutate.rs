//! Small, deterministic mutations for the tests. libFuzzer has its own, better ones, and sees what they reach.

mod der;
mod json;

use crate::Form;

/// Inputs do not grow past this.
const LONGEST: usize = 8 * 1024;

/// Numbers that look random and repeat: SplitMix64.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64, round: u64) -> Self {
        Self(seed.wrapping_add(round.wrapping_mul(0xd134_2543_de82_ef95)))
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`; 0 if there is nothing below it.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.number() % end as u64) as usize }
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// One of the seeds, changed in one to four places.
pub fn mutated(form: Form, words: &[Vec<u8>], seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut input = dice.pick(seeds).cloned().unwrap_or_default();
    for _ in 0..=dice.below(4) {
        let knowing = dice.below(3) > 0;
        let changed = match form {
            Form::Der if knowing => der::mutated(&input, seeds, dice),
            Form::Json if knowing => json::mutated(&input, words, dice),
            Form::Bytes | Form::Text | Form::Der | Form::Json => None,
        };
        input = changed.unwrap_or_else(|| blind(input, words, seeds, dice));
        input.truncate(LONGEST);
    }
    input
}

/// A change that knows nothing of what it changes.
fn blind(mut input: Vec<u8>, words: &[Vec<u8>], seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    const EDGES: [&[u8]; 12] = [
        b"\0",
        b"\x7f",
        b"\x80",
        b"\xff",
        b"\xff\xff",
        b"\x7f\xff\xff\xff",
        b"\x80\0\0\0",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
        b"-1",
        b"9223372036854775807",
        b"18446744073709551616",
        b"1e999",
    ];
    let at = dice.below(input.len() + 1);
    let end = at + dice.below((input.len() - at).min(32) + 1);
    match dice.below(9) {
        0 | 1 if !input.is_empty() => {
            let at = at % input.len();
            input[at] ^= 1 << dice.below(8);
        }
        2 if !input.is_empty() => {
            let at = at % input.len();
            input[at] = dice.number() as u8;
        }
        3 => drop(input.drain(at..end)),
        4 => {
            let copy = input[at..end].to_vec();
            input.splice(at..at, copy);
        }
        5 => drop(input.splice(at..end, dice.pick(&EDGES).copied().unwrap_or_default().iter().copied())),
        6 => drop(input.splice(at..end, dice.pick(words).cloned().unwrap_or_default())),
        7 => {
            let other = dice.pick(seeds).map(Vec::as_slice).unwrap_or_default();
            let from = dice.below(other.len() + 1);
            let to = from + dice.below(other.len() - from + 1);
            input.splice(at..end, other[from..to].iter().copied());
        }
        _ => {
            let more: Vec<u8> = (0..dice.below(8)).map(|_| dice.number() as u8).collect();
            input.splice(at..at, more);
        }
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_round_of_the_same_seed_is_the_same_input() {
        let seeds = [b"{\"a\":[1,\"b\"]}".to_vec(), b"0\x03\x02\x01\0".to_vec()];
        let words = [b"word".to_vec()];
        let one = |seed, round| mutated(Form::Json, &words, &seeds, &mut Dice::new(seed, round));
        let all = |seed| (0..50).map(|round| one(seed, round)).collect::<Vec<_>>();
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
    }

    #[test]
    fn nothing_to_begin_with_is_no_trouble() {
        for form in [Form::Bytes, Form::Text, Form::Json, Form::Der] {
            (0..1000).for_each(|round| drop(mutated(form, &[], &[], &mut Dice::new(0, round))));
        }
    }
}
