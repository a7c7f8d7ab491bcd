//! The certificates made here, seen by others.

mod common;
mod contents;
mod verifiers;
