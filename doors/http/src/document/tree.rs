//! A document in memory, and places in it.

use std::fmt;

use serde_json::Number;

/// Longest place that is told back to a client: the member names in it are the client's own.
const MAX_PATH_TEXT: usize = 256;

/// A document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    /// A query parameter's value: text that stands for a number or a boolean where one is asked for.
    Text(String),
    List(Vec<Tree>),
    /// Members in the order in which they came; no name comes twice.
    Object(Vec<(String, Tree)>),
    /// Stands where a problem was found and recorded: it passes for whatever is asked of it,
    /// so that reading goes on to the next problem.
    Recorded,
}

impl Tree {
    /// The part at a place, if the place exists.
    pub(crate) fn at(&self, path: &[Step]) -> Option<&Tree> {
        path.iter().try_fold(self, |tree, step| match (tree, step) {
            (Tree::Object(members), Step::Member(name)) => members.iter().find(|(n, _)| n == name).map(|(_, t)| t),
            (Tree::List(items), Step::Item(index)) => items.get(*index),
            _ => None,
        })
    }

    /// As [`Tree::at`], to change it.
    pub(crate) fn at_mut(&mut self, path: &[Step]) -> Option<&mut Tree> {
        path.iter().try_fold(self, |tree, step| match (tree, step) {
            (Tree::Object(members), Step::Member(name)) => members.iter_mut().find(|(n, _)| n == name).map(|(_, t)| t),
            (Tree::List(items), Step::Item(index)) => items.get_mut(*index),
            _ => None,
        })
    }
}

/// One step from a part of a document to a part of that part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Member(String),
    Item(usize),
}

/// A place in a document, as it is told to a client: `identifiers[2].value`.
pub(crate) struct Path<'a>(pub(crate) &'a [Step]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for step in self.0 {
            match step {
                Step::Member(name) if text.is_empty() => text.push_str(name),
                Step::Member(name) => text.extend([".", name]),
                Step::Item(index) => text.push_str(&format!("[{index}]")),
            }
        }
        match text.char_indices().nth(MAX_PATH_TEXT) {
            Some((end, _)) => write!(f, "{}…", &text[..end]),
            None => f.write_str(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_as_a_person_would_write_it() {
        let path = [Step::Member("identifiers".into()), Step::Item(2), Step::Member("value".into())];
        assert_eq!(Path(&path).to_string(), "identifiers[2].value");
        let long = [Step::Member("é".repeat(300))];
        assert_eq!(Path(&long).to_string(), format!("{}…", "é".repeat(256)));
    }
}
