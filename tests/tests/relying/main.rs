//! What relying parties fetch, and that it says what the store knows.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod customer;
mod door;
mod lists;
mod making;
mod moving;
mod nodes;
mod ocsp;
mod openssl;
mod over_http;
mod recovered;
mod revoked_issuers;
