//! The client against a server on loopback that gives prepared answers and remembers what it was asked.
#![allow(clippy::unwrap_used)]

mod calls;
mod errors;
mod paging;
mod raw;
mod server;
mod tls;
mod token;
