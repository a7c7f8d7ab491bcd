//! The program itself, started as a user starts it, and strangers' tools let loose on it.
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod acme;
mod answers;
mod caddy;
mod certbot;
mod console_page;
mod debian;
mod dehydrated;
mod dev_server;
mod docs_page;
mod hostile;
mod lego;
mod libraries;
mod pebble;
mod schemathesis;
mod served;
mod uacme;
mod wire;
