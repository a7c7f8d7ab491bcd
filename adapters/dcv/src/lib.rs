//! Reaches out to applicants: looks whether they control a name (http-01, dns-01 and its kin, tls-alpn-01) and whether
//! its CAA records let us issue.
//!
//! A [`Validator`] asks resolvers of its own, never the system's; it connects only to addresses that it has resolved
//! and checked itself, so that no name can point it at a private, loopback or metadata address outside of `dev`;
//! and it keeps what it saw of each look as an [`Attempt`](chancery_domain::Attempt), so that a person can see why
//! it failed. It holds no state between two calls: no cache, no connection, no store.
//!
//! A [`HostResolver`] looks up hosts that are not applicants' with the same DNS client, but as this machine does.

mod acme_certificate;
mod answer;
mod caa;
mod caa_rules;
mod caa_value;
mod check;
mod config;
mod dial;
mod dns01;
mod dns_persist01;
mod dnssec;
mod exchange;
mod fetch;
mod host_resolver;
mod http01;
mod lookup_error;
#[doc(hidden)]
pub mod parsers;
mod pertinent;
mod redirect;
mod refusal;
mod renamed;
mod resolver;
mod strictness;
mod system_files;
mod text;
mod tls;
mod tls_alpn01;
mod validator;
mod wildcard;

pub use check::{CaaCheck, Check, Looks, Verified};
pub use config::{ConfigError, Dnssec, Timeouts, ValidatorConfig};
pub use host_resolver::{HostResolver, HostResolverConfig};
pub use strictness::Strictness;
pub use system_files::ResolvConf;
pub use validator::Validator;
