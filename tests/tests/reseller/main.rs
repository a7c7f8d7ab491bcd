//! The reseller API, spoken to as a reseller does.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]


mod account;
