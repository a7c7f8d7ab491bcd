//! The table and the document speak of the same operations, and ask for the same scopes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::table::{OPEN, operations};

/// `METHOD path`, and the operation as the document describes it.
pub(crate) fn documented() -> Vec<(String, Value)> {
    let document = serde_json::to_value(chancery_reseller::openapi()).unwrap();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods = item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters");
        found.extend(
            methods.map(|(method, operation)| (format!("{} {path}", method.to_uppercase()), operation.clone())),
        );
    }
    found
}

pub(crate) fn open() -> BTreeSet<String> {
    OPEN.iter().map(|(method, path)| format!("{method} {path}")).collect()
}

pub(crate) fn swept() -> BTreeSet<String> {
    operations().iter().map(ToString::to_string).collect()
}

#[test]
fn every_operation_of_the_document_is_swept_or_open_and_none_else() {
    let documented: BTreeSet<_> = documented().into_iter().map(|(name, _)| name).collect();
    let (swept, open) = (swept(), open());
    assert_eq!(swept.len(), operations().len(), "the table has an operation twice");
    assert!(swept.is_disjoint(&open));
    let closed: BTreeSet<_> = documented.difference(&open).cloned().collect();
    assert_eq!(closed, swept, "left: operations of the document that are not open; right: operations that are swept");
}

#[test]
fn the_document_asks_for_the_scopes_that_are_swept() {
    let documented = documented();
    for operation in operations() {
        let (_, described) = documented.iter().find(|(name, _)| *name == operation.to_string()).unwrap();
        let expected = json!([{"OAuth2Reseller": ["reseller", operation.scope.as_str()]}]);
        assert_eq!(described["security"], expected, "{operation}");
    }
    for (name, described) in documented.iter().filter(|(name, _)| open().contains(name)) {
        assert_eq!(described["security"], json!([{}]), "{name} is open, and the document must say so");
    }
}
