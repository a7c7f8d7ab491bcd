//! ACME from outside: what a client of RFC 8555 is given, and what it is refused.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod accounts;
mod at_once;
mod binding;
mod chains;
mod common;
mod hostile;
mod hung_up;
mod mounting;
mod orders;
mod renewal;
mod requests;
mod revocation;
mod standing;
mod story;
mod two_doors;
