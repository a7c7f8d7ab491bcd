//! Certificate signing requests: every rule with a request that breaks it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]

mod build;
mod forms;
mod hostile;
mod keys;
mod names;
mod primes;
