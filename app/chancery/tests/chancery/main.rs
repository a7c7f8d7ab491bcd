//! The binary as a person or a script meets it.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]
#![allow(unreachable_pub, reason = "nothing of a test can be reached from outside")]

mod authorities;
mod command_line;
mod configuration;
mod dev;
mod doctor;
mod metrics;
mod my;
mod operator;
mod ordering;
mod packaging;
mod perspectives;
mod refusals;
mod relying;
mod restoring;
mod revoking_many;
mod roles;
mod serve;
mod service;
mod setup;
mod stopping;
mod support;
mod tokens;
mod traces;
mod transparency;
mod vouching;
