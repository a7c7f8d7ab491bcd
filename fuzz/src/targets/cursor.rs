//! The cursors of lists.
//!
//! One of ours leads back to its item, in its own list; changed or cut it leads nowhere. Nobody else can make one.

use std::sync::LazyLock;

use chancery_service::parsers::CursorsOfAList;

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "cursor", run, form: Form::Text, words: include_str!("../../words/cursor.dict") };

static MINE: LazyLock<[CursorsOfAList; 2]> = LazyLock::new(|| {
    let reseller = |number: u8| format!("rsl_{number:026}").parse().expect("it is an id");
    [CursorsOfAList::new(&[7; 32], "account", reseller(1)), CursorsOfAList::new(&[7; 32], "account", reseller(2))]
});

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let [mine, theirs] = &*MINE;
    if let Some(item) = mine.open(text) {
        assert_eq!(mine.after(&item).as_deref(), Some(text), "a cursor has one spelling");
    }
    let cursor = mine.after(text).expect("there is a next page");
    assert_eq!(mine.open(&cursor).as_deref(), Some(text));
    assert_eq!(theirs.open(&cursor), None, "it leads on in another's list");
    let at = input.iter().fold(0, |sum, byte| sum + usize::from(*byte)) % cursor.len();
    assert_eq!(mine.open(&cursor[..at]), None, "a part of it leads on");
    let other = if cursor.as_bytes()[at] == b'A' { "B" } else { "A" };
    assert_eq!(mine.open(&[&cursor[..at], other, &cursor[at + 1..]].concat()), None, "changed it leads on");
}
