//! What an order under way will need to go on, kept until it is done.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::Files;
use crate::failure::Failure;
use crate::files::{private_folder, remove, write};
use crate::my::places;

#[derive(Clone, Serialize, Deserialize)]
pub struct Journal {
    /// The service that has the order.
    pub url: String,
    pub files: Files,
    /// The challenge that was asked for, for all names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<String>,
    /// Where pages are published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webroot: Option<PathBuf>,
}

impl Journal {
    /// What is known of an order; nothing where it was begun elsewhere.
    pub fn find(order: &str) -> Result<Option<Self>, Failure> {
        let Some(path) = path(order)? else { return Ok(None) };
        let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
        let read = serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format!("{} cannot be understood: {error}", path.display()))
                .advise("remove it, and name the folder for the certificate with --out")
        })?;
        Ok(Some(read))
    }

    pub fn save(&self, order: &str) -> Result<(), Failure> {
        let Some(path) = path(order)? else { return Ok(()) };
        private_folder(&folder()?)?;
        write(&path, &serde_json::to_string_pretty(self).map_err(Failure::failed)?, 0o600)
    }

    /// The order that has begun with this new key, if it is known.
    pub fn of_key(waiting: &Path) -> Option<String> {
        let orders = fs::read_dir(folder().ok()?).ok()?.filter_map(Result::ok);
        let mut orders = orders.filter_map(|entry| entry.path().file_stem()?.to_str().map(str::to_owned));
        orders.find(|order| {
            let journal = Self::find(order).ok().flatten();
            journal.and_then(|journal| journal.files.key).is_some_and(|key| key.waiting == waiting)
        })
    }

    /// The order has ended without a certificate: a key that was made for it is of no use to anybody.
    pub fn give_up(order: &str) -> Result<(), Failure> {
        if let Some(key) = Self::find(order)?.and_then(|journal| journal.files.key) {
            key.give_up()?;
        }
        Self::forget(order)
    }

    pub fn forget(order: &str) -> Result<(), Failure> {
        match path(order)? {
            Some(path) => remove(&path),
            None => Ok(()),
        }
    }
}

fn folder() -> Result<PathBuf, Failure> {
    Ok(places::state()?.join("orders"))
}

/// Nothing for what cannot be a lookup, and must not become a path.
fn path(order: &str) -> Result<Option<PathBuf>, Failure> {
    let plain = !order.is_empty() && order.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if plain { Ok(Some(folder()?.join(format!("{order}.json")))) } else { Ok(None) }
}
