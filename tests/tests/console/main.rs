//! The console, as a browser meets it: pages, forms, cookies.

mod browser;
mod changes;
mod escaping;
mod operator;
mod pages;
mod rotation;
mod sessions;
mod sign_in;
mod sweep;
mod tenants;
