//! The certificates made here, seen by others.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod chains;
mod common;
mod contents;
mod verifiers;
