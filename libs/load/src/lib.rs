//! Load for an ACME server, any ACME server: accounts that order one certificate after the other, each for a new name
//! shown by http-01, and the times that it took.

mod account;
mod issuance;
mod responder;
mod run;
mod samples;
mod server;

pub use account::{Account, Credential};
pub use issuance::{Ordered, request};
pub use responder::Responder;
pub use run::{Load, Outcome, Until};
pub use samples::Samples;
pub use server::{LoadError, Server};
