//! Every rule of domain validation, against responders on loopback.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]

mod caa;
mod dns01;
mod dns_of_accounts;
mod dnssec;
mod dnssec_forged;
mod hosts;
mod http01;
mod places;
mod redirects;
mod resolving;
mod retries;
mod signed_zone;
mod tls_alpn01;
mod world;
