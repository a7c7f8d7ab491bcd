//! ACME from outside: what a client of RFC 8555 is given, and what it is refused.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod accounts;
mod binding;
mod challenges;
mod common;
mod finalizing;
mod identifiers;
mod key_change;
mod nodes;
mod nonces;
mod orders;
mod renewal;
mod requests;
mod reseller_side;
mod revoking;
mod standing;
mod story;
mod surroundings;
