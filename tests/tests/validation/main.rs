//! Orders through the reseller's door, with names that are really shown, on loopback.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod acme_accounts;
mod caa;
mod crowded;
mod disclosure;
mod failing;
mod holding;
mod reuse;
mod shown;
mod site;
mod subdomains;
