//! ACME from outside: what a client of RFC 8555 is given, and what it is refused.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod hostile;
mod story;
