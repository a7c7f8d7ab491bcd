//! Reads a document into a type and finds *every* problem, not the first.
//!
//! serde stops at the first fault. We record it, put [`Tree::Recorded`] in its place (or take an unknown member out), and
//! read again, until reading succeeds or finds nothing new.

use chancery_wire::FieldProblem;
use serde::de::DeserializeOwned;

use super::{
    fault::Fault,
    node::Node,
    tree::{Path, Step, Tree},
};

/// The most problems that are told in one answer. It also bounds how often a document is read.
pub(crate) const MAX_PROBLEMS: usize = 32;

/// A document that does not fit the type it was read as.
#[derive(Debug)]
pub(crate) struct Unfit<T> {
    pub(crate) problems: Vec<FieldProblem>,
    /// The rest of it, with stand-ins where there is a problem; none where even those do not fit.
    pub(crate) stand_in: Option<T>,
}

/// Reads the document, adding to the problems already found in it.
/// `whole` is what the whole document is called in a problem that is about nothing smaller.
pub(crate) fn read<T: DeserializeOwned>(
    mut tree: Tree,
    mut problems: Vec<FieldProblem>,
    whole: &str,
) -> Result<T, Unfit<T>> {
    while problems.len() < MAX_PROBLEMS {
        let error = match T::deserialize(Node(&tree)) {
            Ok(value) if problems.is_empty() => return Ok(value),
            Ok(value) => return Err(Unfit { problems, stand_in: Some(value) }),
            Err(error) => error,
        };
        let (mut place, fault) = error.into_parts();
        match &fault {
            // The member itself is one step on from the object that lacks it, or has it.
            Fault::MissingField(name) => place.push(Step::Member((*name).to_owned())),
            Fault::UnknownField { name, .. } => place.push(Step::Member(name.clone())),
            Fault::WrongType { .. } | Fault::InvalidValue { .. } | Fault::UnknownVariant { .. } | Fault::Other(_) => {}
        }
        if !set_aside(&mut tree, &place, &fault) {
            // The fault is in a stand-in: it follows from a problem that is already recorded.
            if problems.is_empty() {
                problems.push(problem(&place, &fault, whole));
            }
            break;
        }
        problems.push(problem(&place, &fault, whole));
    }
    Err(Unfit { problems, stand_in: None })
}

/// Changes the document so that the next reading gets past this fault; false if it would not.
fn set_aside(tree: &mut Tree, place: &[Step], fault: &Fault) -> bool {
    // An unknown member is at fault by its name, whatever its value is.
    let reach = place.len() - usize::from(matches!(fault, Fault::UnknownField { .. }));
    if (0..=reach).any(|end| tree.at(&place[..end]) == Some(&Tree::Recorded)) {
        return false;
    }
    match (fault, place.split_last()) {
        (Fault::MissingField(name), Some((_, parent))) => match tree.at_mut(parent) {
            Some(Tree::Object(members)) => {
                members.push(((*name).to_owned(), Tree::Recorded));
                true
            }
            _ => false,
        },
        (Fault::UnknownField { name, .. }, Some((_, parent))) => match tree.at_mut(parent) {
            Some(Tree::Object(members)) => {
                let before = members.len();
                members.retain(|(member, _)| member != name);
                members.len() < before
            }
            _ => false,
        },
        _ => tree.at_mut(place).map(|part| *part = Tree::Recorded).is_some(),
    }
}

fn problem(place: &[Step], fault: &Fault, whole: &str) -> FieldProblem {
    let field = if place.is_empty() { whole.to_owned() } else { Path(place).to_string() };
    FieldProblem::new(field, fault.code(), fault.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;
    use crate::document::parse;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Color {
        Red,
        Green,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        value: String,
        size: Option<u8>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        email: String,
        count: u32,
        color: Color,
        items: Vec<Inner>,
        #[serde(default)]
        metadata: BTreeMap<String, String>,
        inner: Option<Inner>,
    }

    fn read_text<T: DeserializeOwned>(text: &str) -> Result<T, Vec<String>> {
        let parsed = parse(text.as_bytes(), 16).unwrap();
        read(parsed.tree, parsed.problems, "body")
            .map_err(|found| found.problems.iter().map(|p| format!("{} {} {}", p.field, p.code, p.message)).collect())
    }

    #[test]
    fn a_good_document_is_read() {
        let read: Outer = read_text(
            r#"{"email": "a", "count": 3, "color": "green", "items": [{"value": "v", "size": null}],
                "metadata": {"k": "v"}, "inner": {"value": "w", "size": 7}}"#,
        )
        .unwrap();
        assert_eq!(read.items, [Inner { value: "v".into(), size: None }]);
        assert_eq!(read.inner, Some(Inner { value: "w".into(), size: Some(7) }));
        assert_eq!((read.count, read.color), (3, Color::Green));
    }

    #[test]
    fn every_problem_is_found_in_one_go() {
        let mut found = read_text::<Outer>(
            r#"{"emial": 1, "count": "three", "color": "blue", "extra": {},
                "items": [{"value": 1}, {"size": 300, "valve": 1}, 5], "metadata": {"k": 1}, "inner": []}"#,
        )
        .unwrap_err();
        found.sort();
        assert_eq!(
            found,
            [
                "color invalid_value must be one of red, green",
                "count wrong_type must be a whole number, 0 or more, not a string",
                "email missing is required",
                "emial unknown_field is not known here; known are email, count, color, items, metadata, inner",
                "extra unknown_field is not known here; known are email, count, color, items, metadata, inner",
                "inner wrong_type must be an object, not a list",
                "items[0].value wrong_type must be a string, not a whole number",
                "items[1].size invalid_value must be a smaller number",
                "items[1].value missing is required",
                "items[1].valve unknown_field is not known here; known are value, size",
                "items[2] wrong_type must be an object, not a whole number",
                "metadata.k wrong_type must be a string, not a whole number",
            ]
        );
    }

    #[test]
    fn a_number_that_does_not_fit_is_told_without_the_limits_of_our_types() {
        #[derive(Debug, Deserialize)]
        struct Counted {
            #[serde(rename = "count")]
            _count: u32,
            #[serde(rename = "shift", default)]
            _shift: i32,
        }
        let found = |text: &str| read_text::<Counted>(text).unwrap_err();
        assert_eq!(found(r#"{"count": -1}"#), ["count invalid_value must be a whole number, 0 or more"]);
        assert_eq!(found(r#"{"count": 4294967296}"#), ["count invalid_value must be a smaller number"]);
        assert_eq!(found(r#"{"count": 1, "shift": 4294967296}"#), ["shift invalid_value must be a smaller number"]);
        assert_eq!(
            found(r#"{"count": 1, "shift": 1.5}"#),
            ["shift wrong_type must be a whole number, not a number with a fraction"]
        );
        for (text, said) in [("1.0", "one with a point or an exponent"), ("1e30", "a number of that size")] {
            let wrong = format!("shift wrong_type must be a whole number, not {said}");
            assert_eq!(found(&format!(r#"{{"count": 1, "shift": {text}}}"#)), [wrong]);
        }
    }

    #[test]
    fn all_missing_members_are_found() {
        let found = read_text::<Outer>("{}").unwrap_err();
        assert_eq!(
            found,
            [
                "email missing is required",
                "count missing is required",
                "color missing is required",
                "items missing is required"
            ]
        );
    }

    #[test]
    fn an_unknown_member_named_as_its_parent_is_told_from_it() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Named {
            #[serde(rename = "a")]
            _a: BTreeMap<String, u8>,
        }
        let found = read_text::<Named>(r#"{"a": {"a": "x"}, "b": 1}"#).unwrap_err();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a.a wrong_type"), "{found:?}");
        let found = read_text::<Outer>(
            r#"{"email": "", "count": 0, "color": "red", "items": [], "inner": {"value": "", "inner": 1}}"#,
        );
        assert!(found.unwrap_err()[0].starts_with("inner.inner unknown_field"));
    }

    #[test]
    fn a_document_of_the_wrong_kind_is_one_problem() {
        for text in ["[]", "1", "null", "\"x\""] {
            let found = read_text::<Outer>(text).unwrap_err();
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with("body wrong_type must be an object"), "{found:?}");
        }
    }

    #[test]
    fn the_number_of_problems_is_bounded() {
        let members: Vec<String> = (0..1000).map(|n| format!("\"x{n}\": 1")).collect();
        assert_eq!(read_text::<Outer>(&format!("{{{}}}", members.join(","))).unwrap_err().len(), MAX_PROBLEMS);
    }

    #[test]
    fn a_type_that_checks_itself_ends_the_search_but_loses_nothing_found() {
        #[derive(Debug, Deserialize)]
        #[serde(try_from = "String")]
        struct Even;
        impl TryFrom<String> for Even {
            type Error = &'static str;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                if text.len().is_multiple_of(2) { Ok(Even) } else { Err("must have an even length") }
            }
        }
        #[derive(Debug, Deserialize)]
        struct Holder {
            #[serde(rename = "name")]
            _name: Even,
            #[serde(rename = "other")]
            _other: u8,
        }
        assert_eq!(
            read_text::<Holder>(r#"{"other": "x", "name": "odd"}"#).unwrap_err()[..2],
            [
                "other wrong_type must be a whole number, 0 or more, not a string",
                "name invalid_value must have an even length"
            ]
        );
        assert_eq!(read_text::<Holder>(r#"{"other": 1}"#).unwrap_err(), ["name missing is required"]);
        assert_eq!(read_text::<Vec<Even>>(r#"["ab", "abc", "ab", "a"]"#).unwrap_err().len(), 1);
    }

    #[test]
    fn tagged_and_untagged_types_are_read_and_their_problems_told() {
        #[derive(Debug, Deserialize, PartialEq)]
        #[serde(untagged, expecting = "must be a name or an object with type and value")]
        enum Name {
            Plain(String),
            Typed { r#type: String, value: String },
        }
        let good: Vec<Name> = read_text(r#"["a", {"type": "dns", "value": "b"}]"#).unwrap();
        assert_eq!(good[1], Name::Typed { r#type: "dns".into(), value: "b".into() });
        assert_eq!(good[0], Name::Plain("a".into()));
        let found = read_text::<Vec<Name>>(r#"["a", 7, {"type": "dns"}]"#).unwrap_err();
        assert_eq!(found[0], "[1] invalid_value must be a name or an object with type and value");
    }
}
