//! What a client sent, as a document: parsed strictly, then read into a type with every problem found along the way.
//!
//! Bodies and query strings go the same way: text → [`Tree`] → the type that a handler asked for.

mod fault;
mod node;
mod parse;
mod read;
mod tree;

pub(crate) use parse::{Malformed, parse};
pub(crate) use read::{MAX_PROBLEMS, Unfit, read};
pub(crate) use tree::Tree;

/// Codes of the problems that are found while reading; the `code` of a `FieldProblem`.
pub(crate) mod code {
    pub(crate) const UNKNOWN_FIELD: &str = "unknown_field";
    pub(crate) const MISSING: &str = "missing";
    pub(crate) const WRONG_TYPE: &str = "wrong_type";
    pub(crate) const INVALID_VALUE: &str = "invalid_value";
    pub(crate) const DUPLICATE: &str = "duplicate_field";
    pub(crate) const NUL: &str = "nul_character";
}
