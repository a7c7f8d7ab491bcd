//! Forms and queries of the console.
//!
//! What is linked to is read as it was, whatever it says; entries have no blanks and are never empty.

use chancery_console::parsers::{Form as ConsoleForm, link};

use crate::{Form, Target};

pub(super) const TARGET: Target =
    Target { name: "form", run, form: Form::Text, words: include_str!("../../words/form.dict") };

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let form = ConsoleForm::read(&text);
    for name in ["a", "names", "token", ""] {
        assert!(form.all(name).iter().all(|value| !value.is_empty()));
        assert!(form.entries(name).iter().all(|entry| !entry.is_empty() && !entry.contains([' ', ',', '\n'])));
        assert!(form.has(name) || form.text(name).is_empty());
    }
    // Lines end as browsers end them.
    let plain = text.replace('\r', "");
    let linked = link("/console/x", &[("first", "1"), ("a", &plain)]);
    assert!(linked.is_ascii() && !linked.contains([' ', '"', '<', '\'', '#']), "{linked}");
    let (path, query) = linked.split_once('?').expect("there is a query");
    let again = ConsoleForm::read(query);
    assert_eq!((path, again.text("first"), again.text("a")), ("/console/x", "1", plain.as_str()));
}
