//! The reseller API, spoken to as a reseller does.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod account;
mod account_change;
mod account_input;
mod audit;
mod audit_operator;
mod audit_refused;
mod bodies;
mod common;
mod eab;
mod evaluate;
mod group;
mod idempotency;
mod limits;
mod lists;
mod member;
mod member_race;
mod policy;
mod precedence;
mod trail;
