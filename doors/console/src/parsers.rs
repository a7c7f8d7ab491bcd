//! The reader of forms and queries, without the pages behind it: for the fuzz targets.

use crate::form::Fields;

/// The names of a form, and the values that each has.
pub struct Form(Fields);

impl Form {
    pub fn read(text: &str) -> Self {
        Self(Fields::parse(text))
    }

    pub fn text(&self, name: &str) -> &str {
        self.0.text(name)
    }

    pub fn all(&self, name: &str) -> Vec<String> {
        self.0.all(name)
    }

    pub fn entries(&self, name: &str) -> Vec<String> {
        self.0.entries(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.has(name)
    }
}

/// A link with a query of those names that have a value.
pub fn link(path: &str, pairs: &[(&str, &str)]) -> String {
    crate::query::link(path, pairs)
}
