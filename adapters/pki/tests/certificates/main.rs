//! The certificates made here, seen by others.

mod chains;
mod common;
mod contents;
mod verifiers;
