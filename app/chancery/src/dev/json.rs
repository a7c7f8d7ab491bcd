//! `dev.json`: tells scripts that a `dev` is ready, where it is and how to get in.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::files::write;

pub const NAME: &str = "dev.json";

/// Its members. It holds secrets, so it has no `Debug`.
#[derive(Deserialize, Serialize)]
pub struct DevJson {
    pub base_url: String,
    pub acme_url: String,
    pub auth_url: String,
    pub audience: String,
    pub client_id: String,
    pub client_secret: String,
    pub api_key: String,
    /// Pages for people: sign in with the client, or with the operator's key.
    #[serde(default)]
    pub console_url: String,
    #[serde(default)]
    pub operator_key: String,
    /// Verifies the HTTPS listener.
    pub ca_bundle: PathBuf,
    /// Verifies issued certificates.
    pub issuer_bundle: PathBuf,
    /// Verifies them as well, with the alternate chain.
    pub alternate_issuer_bundle: PathBuf,
    pub admin_url: String,
    pub http_url: String,
    /// Where http-01 answers are looked for; 0 where nobody looks.
    pub http01_port: u16,
    /// Where tls-alpn-01 answers are looked for.
    pub tls_alpn01_port: u16,
    /// Where Pebble's place is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pebble: Option<PebbleJson>,
}

/// What suites that were written for Pebble are to be pointed at.
#[derive(Clone, Deserialize, Serialize)]
pub struct PebbleJson {
    pub directory_url: String,
    pub management_url: String,
    pub eab_required: bool,
    /// Whether other machines can reach it.
    #[serde(skip)]
    pub open: bool,
}

impl DevJson {
    /// What the `dev` that runs in a folder has written.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(NAME);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            Failure::usage(format!("no `chancery dev` is running in {}: {error}", folder.display()))
                .advise("start one in another terminal, or name its folder with --data-dir")
        })?;
        serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format!("{} is broken: {error}", path.display())).advise("start `chancery dev` again")
        })
    }

    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        write(path, &serde_json::to_string_pretty(self).map_err(Failure::failed)?, 0o600)
    }
}
