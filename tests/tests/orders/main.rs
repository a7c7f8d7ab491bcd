//! From an order to a certificate, through the door.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod issuers;
mod life;
