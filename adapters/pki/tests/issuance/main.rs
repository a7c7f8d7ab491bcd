//! Subscribers' certificates, revocation lists and OCSP responses, seen by others.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]

mod acme_identifier;
mod certificates;
mod common;
mod hostile;
mod ocsp;
mod ocsp_over_http;
mod revocation_lists;
mod slow;
