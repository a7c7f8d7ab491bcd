//! Clients that mean ill, against a real listener with everything that the service puts around its router.
//! (Slow heads and bodies, idle connections, resets and handshakes have tests of their own in `doors/http`.)
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod bodies;
mod common;
mod crowds;
mod overload;
mod smuggling;
