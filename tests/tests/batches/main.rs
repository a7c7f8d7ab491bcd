//! Changes that reach more rows than one transaction may: each transaction changes a hundred dependent rows at most, and the
//! change holds before the last of them is reached.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod common;
mod deactivation;
mod ending;
mod expiring;
mod groups;
mod members;
mod retention;
mod working;
