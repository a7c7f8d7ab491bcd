//! The console, as a browser meets it: pages, forms, cookies.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod api_clients;
mod browser;
mod changes;
mod escaping;
mod lists;
mod live;
mod long;
mod operator;
mod overview;
mod pages;
mod provider;
mod real_provider;
mod rotation;
mod sessions;
mod sign_in;
mod sweep;
mod tenants;
mod troubles;
mod with_provider;
