//! What resellers are told of: the feed of events, and webhooks.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod bounded;
mod common;
mod documented;
mod expiring;
mod failing;
mod feed;
mod following;
mod long;
mod lookups;
mod nodes;
mod receiver;
mod refusals;
mod repeated;
mod webhooks;
