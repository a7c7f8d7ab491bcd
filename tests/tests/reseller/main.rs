//! The reseller API, spoken to as a reseller does.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod account;
mod evaluate;
mod group;
mod member;
mod member_race;
mod policy;
