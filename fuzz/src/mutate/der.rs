//! Mutations of DER: an element is changed, and the lengths around it stay right.

use super::Dice;
use crate::fixed::tlv;

/// Deeper than any of our structures; below it everything is bytes.
const DEEPEST: usize = 12;

#[derive(Clone)]
struct Element {
    tag: u8,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Bytes(Vec<u8>),
    /// What stands before them (the unused bits of a BIT STRING), and the elements inside.
    Elements(Vec<u8>, Vec<Element>),
}

/// The input with one element changed; none if it is not DER.
pub(super) fn mutated(input: &[u8], seeds: &[Vec<u8>], dice: &mut Dice) -> Option<Vec<u8>> {
    let mut elements = elements(input, 0)?;
    let count = elements.iter().map(Element::count).sum();
    let mut chosen = dice.below(count);
    let other = dice.pick(seeds).and_then(|seed| self::elements(seed, 0)).unwrap_or_default();
    change(&mut elements, &mut chosen, &other, dice);
    Some(elements.iter().flat_map(Element::encoded).collect())
}

/// Changes the element of that number, counted from the front; true once it is found.
fn change(elements: &mut Vec<Element>, chosen: &mut usize, other: &[Element], dice: &mut Dice) -> bool {
    for place in 0..elements.len() {
        if *chosen > 0 {
            *chosen -= 1;
            let inside = &mut elements[place].content;
            if let Content::Elements(_, inner) = inside
                && change(inner, chosen, other, dice)
            {
                return true;
            }
            continue;
        }
        match dice.below(8) {
            0 => drop(elements.remove(place)),
            1 => elements.insert(place, elements[place].clone()),
            2 => {
                let to = dice.below(elements.len());
                elements.swap(place, to);
            }
            3 => elements[place].tag = dice.pick(TAGS).copied().unwrap_or(elements[place].tag),
            4 => {
                let all = other.iter().map(Element::count).sum();
                let mut from = dice.below(all);
                if let Some(found) = nth(other, &mut from) {
                    elements[place] = found.clone();
                }
            }
            5 => elements[place].content = Content::Bytes(Vec::new()),
            6 => {
                let long = vec![dice.number() as u8; dice.below(300)];
                elements[place].content = Content::Bytes(long);
            }
            _ => {
                let mut bytes = elements[place].content.encoded();
                let at = dice.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << dice.below(8);
                }
                elements[place].content = Content::Bytes(bytes);
            }
        }
        return true;
    }
    false
}

/// BOOLEAN, INTEGER, BIT STRING, OCTET STRING, NULL, OID, strings, times, SEQUENCE, SET, and some in context.
const TAGS: &[u8] = &[
    0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0c, 0x13, 0x16, 0x17, 0x18, 0x1e, 0x30, 0x31, 0x80, 0x81, 0x82, 0x86, 0x87,
    0xa0, 0xa1, 0xa3, 0x1f, 0xbf,
];

fn nth<'a>(elements: &'a [Element], place: &mut usize) -> Option<&'a Element> {
    for element in elements {
        if *place == 0 {
            return Some(element);
        }
        *place -= 1;
        if let Content::Elements(_, inner) = &element.content
            && let Some(found) = nth(inner, place)
        {
            return Some(found);
        }
    }
    None
}

fn elements(mut input: &[u8], depth: usize) -> Option<Vec<Element>> {
    let mut elements = Vec::new();
    while let [tag, length, rest @ ..] = input {
        let more = if *length >= 0x80 { usize::from(length & 0x7f) } else { 0 };
        let (digits, rest) = rest.split_at_checked(more).filter(|_| more <= 2)?;
        let length = digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit));
        let length = if more == 0 { usize::from(input[1]) } else { length };
        let (content, rest) = rest.split_at_checked(length)?;
        elements.push(Element { tag: *tag, content: content_of(*tag, content, depth) });
        input = rest;
    }
    (input.is_empty() && !elements.is_empty()).then_some(elements)
}

fn content_of(tag: u8, content: &[u8], depth: usize) -> Content {
    // Extensions and keys are DER inside of an OCTET STRING or a BIT STRING.
    let before = if tag == 0x03 { 1.min(content.len()) } else { 0 };
    let may_hold = tag & 0x20 != 0 || matches!(tag, 0x03 | 0x04);
    let inside = if may_hold && depth < DEEPEST { elements(&content[before..], depth + 1) } else { None };
    match inside {
        Some(inside) => Content::Elements(content[..before].to_vec(), inside),
        None => Content::Bytes(content.to_vec()),
    }
}

impl Element {
    fn count(&self) -> usize {
        match &self.content {
            Content::Bytes(_) => 1,
            Content::Elements(_, inner) => 1 + inner.iter().map(Self::count).sum::<usize>(),
        }
    }

    fn encoded(&self) -> Vec<u8> {
        tlv(self.tag, &[&self.content.encoded()])
    }
}

impl Content {
    fn encoded(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Elements(before, inner) => {
                before.iter().copied().chain(inner.iter().flat_map(Element::encoded)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed::pkcs8;

    #[test]
    fn what_is_taken_apart_is_put_together_again() {
        let long = tlv(0x30, &[&tlv(0x04, &[&[1; 200]]), &tlv(0x03, &[&[0], &tlv(0x02, &[&[7; 300]])])]);
        for whole in [pkcs8(), long] {
            let parts = elements(&whole, 0).unwrap();
            assert_eq!(parts.iter().flat_map(Element::encoded).collect::<Vec<_>>(), whole);
        }
    }

    #[test]
    fn what_comes_out_is_nearly_always_der_again() {
        let seeds = [pkcs8()];
        let good = (0..500).filter(|round| {
            let changed = mutated(&seeds[0], &seeds, &mut Dice::new(9, *round)).unwrap();
            changed.is_empty() || elements(&changed, 0).is_some()
        });
        assert!(good.count() > 450);
    }
}
