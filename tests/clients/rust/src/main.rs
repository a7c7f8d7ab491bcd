//! Drives ACME clients from crates.io against a running service: `chancery-rust-clients instant|server`.
//!
//! The environment says where it is and who we are, as for every program in this folder; see `libraries.rs`.

mod instant;
mod server;

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

struct Setting {
    directory: String,
    ca_bundle: PathBuf,
    kid: String,
    hmac_key: Vec<u8>,
    /// Where answers to challenges are left.
    answers: PathBuf,
    tls_port: u16,
    /// Where chains are left.
    out: PathBuf,
}

impl Setting {
    fn from_environment() -> Self {
        let text = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
        Self {
            directory: text("CHANCERY_DIRECTORY"),
            ca_bundle: text("CHANCERY_CA").into(),
            kid: text("CHANCERY_KID"),
            hmac_key: BASE64_URL_SAFE_NO_PAD.decode(text("CHANCERY_HMAC")).unwrap(),
            answers: text("CHANCERY_ANSWERS").into(),
            tls_port: text("CHANCERY_TLS_PORT").parse().unwrap(),
            out: text("CHANCERY_OUT").into(),
        }
    }
}

#[tokio::main]
async fn main() {
    let setting = Setting::from_environment();
    match std::env::args().nth(1).as_deref() {
        Some("instant") => instant::run(&setting).await,
        Some("server") => server::run(&setting).await,
        other => panic!("unknown: {other:?}"),
    }
}
