//! JSON text into a [`Tree`], more strictly than RFC 8259 asks: no name twice in one object (section 4 leaves open what
//! that means), no U+0000 (PostgreSQL cannot store it), and no deep nesting.

use std::{cell::RefCell, collections::HashSet, fmt};

use chancery_wire::FieldProblem;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use super::{
    code,
    read::MAX_PROBLEMS,
    tree::{Path, Step, Tree},
};

/// A document, with the problems found while it was parsed; a part with a problem is [`Tree::Recorded`].
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) tree: Tree,
    pub(crate) problems: Vec<FieldProblem>,
}

/// Text that is not JSON, or is nested too deeply.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
}

/// Parses JSON text nested at most `max_depth` levels.
pub(crate) fn parse(text: &[u8], max_depth: usize) -> Result<Parsed, Malformed> {
    let found = RefCell::new(Found { path: Vec::new(), problems: Vec::new() });
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let tree = Strict { found: &found, levels_left: max_depth }
        .deserialize(&mut deserializer)
        .and_then(|tree| deserializer.end().map(|()| tree))
        .map_err(Malformed::from)?;
    Ok(Parsed { tree, problems: found.into_inner().problems })
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let mut message = error.to_string();
        // The library ends its message with the position; we give that in our own words.
        if let Some(end) = message.rfind(" at line ") {
            message.truncate(end);
        }
        Self { line, column, message }
    }
}

struct Found {
    path: Vec<Step>,
    problems: Vec<FieldProblem>,
}

impl Found {
    fn record(&mut self, code: &str, message: &str) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(FieldProblem::new(Path(&self.path).to_string(), code, message));
        }
    }
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    found: &'a RefCell<Found>,
    levels_left: usize,
}

impl<'a> Strict<'a> {
    fn deeper<E: serde::de::Error>(self) -> Result<Strict<'a>, E> {
        let levels_left = self.levels_left.checked_sub(1).ok_or_else(|| E::custom("nested too deeply"))?;
        Ok(Strict { levels_left, ..self })
    }

    fn string(self, text: &str) -> Tree {
        if text.contains('\0') {
            self.found.borrow_mut().record(code::NUL, "contains the character U+0000, which is not accepted");
            return Tree::Recorded;
        }
        Tree::String(text.to_owned())
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Tree;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Tree, E> {
        Number::from_f64(value).map(Tree::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(self.string(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        loop {
            self.found.borrow_mut().path.push(Step::Item(items.len()));
            let item = list.next_element_seed(inner)?;
            self.found.borrow_mut().path.pop();
            match item {
                Some(item) => items.push(item),
                None => return Ok(Tree::List(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Tree, A::Error> {
        let inner = self.deeper()?;
        let mut names = HashSet::new();
        let mut members = Vec::new();
        while let Some(name) = object.next_key::<String>()? {
            self.found.borrow_mut().path.push(Step::Member(name.replace('\0', "\u{fffd}")));
            let value = object.next_value_seed(inner)?;
            let mut found = self.found.borrow_mut();
            if name.contains('\0') {
                found.record(code::NUL, "the name contains the character U+0000, which is not accepted");
            } else if names.insert(name.clone()) {
                members.push((name, value));
            } else {
                found.record(code::DUPLICATE, "appears more than once in the same object");
            }
            found.path.pop();
        }
        Ok(Tree::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<(String, String)> {
        parse(text.as_bytes(), 8).unwrap().problems.into_iter().map(|p| (p.field, p.code)).collect()
    }

    #[test]
    fn a_document_is_kept_in_order() {
        let parsed = parse(br#"{"b": [1, -1, 1.5, null], "a": "x"}"#, 8).unwrap();
        assert!(parsed.problems.is_empty());
        let Tree::Object(members) = parsed.tree else { panic!("not an object") };
        assert_eq!(members[0].0, "b");
        assert_eq!(members[1], ("a".into(), Tree::String("x".into())));
    }

    #[test]
    fn text_that_is_not_json_is_refused_with_its_position() {
        let bad = parse(b"{\n  \"a\": 1,\n  oops\n}", 8).unwrap_err();
        assert_eq!((bad.line, bad.column), (3, 3));
        assert!(!bad.message.contains("at line"), "{}", bad.message);
        for text in ["{} x", "{\"a\":}", "[1,]", "\"\u{1}\"", "NaN", "1e999", "{'a': 1}", "", "\"\\ud800\""] {
            assert!(parse(text.as_bytes(), 8).is_err(), "{text:?}");
        }
        assert!(parse(b"\"\xff\"", 8).is_err());
    }

    #[test]
    fn a_name_that_comes_twice_is_found_at_any_depth() {
        assert_eq!(problems(r#"{"a": 1, "a": 1}"#), [("a".into(), "duplicate_field".into())]);
        assert_eq!(problems(r#"{"a": [{"b": {"c": 1, "c": 2}}]}"#), [("a[0].b.c".into(), "duplicate_field".into())]);
        assert_eq!(problems(r#"{"a": {"x": 1}, "b": {"x": 1}}"#), []);
        // The same name, written in two ways.
        assert_eq!(problems(r#"{"a": 1, "\u0061": 2}"#), [("a".into(), "duplicate_field".into())]);
    }

    #[test]
    fn the_nul_character_is_found_in_values_and_names() {
        let found = problems(r#"{"a": "x\u0000", "b": ["\u0000"], "c\u0000": 1}"#);
        assert_eq!(
            found,
            [
                ("a".into(), "nul_character".into()),
                ("b[0]".into(), "nul_character".into()),
                ("c\u{fffd}".into(), "nul_character".into())
            ]
        );
    }

    #[test]
    fn nesting_has_a_limit() {
        assert!(parse(format!("{}{}", "[".repeat(8), "]".repeat(8)).as_bytes(), 8).is_ok());
        let deep = parse(format!("{}{}", "[".repeat(9), "]".repeat(9)).as_bytes(), 8).unwrap_err();
        assert_eq!(deep.message, "nested too deeply");
        assert!(parse("[".repeat(100_000).as_bytes(), 8).is_err());
    }

    #[test]
    fn the_list_of_problems_has_a_limit() {
        let text = format!("[{}]", vec![r#""\u0000""#; 100].join(","));
        assert_eq!(problems(&text).len(), MAX_PROBLEMS);
    }
}
