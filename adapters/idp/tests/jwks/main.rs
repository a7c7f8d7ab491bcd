//! The fetcher against a provider on loopback that behaves well, badly, or not at all.

#![allow(clippy::unwrap_used)] // clippy sees tests only where #[test] stands, not what they call

mod fetching;
mod limits;
mod provider;
mod redeeming;
mod sharing;
mod tls;
