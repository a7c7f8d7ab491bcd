//! Where a reseller's own files are (XDG Base Directory Specification): for their owner alone.

use std::env;
use std::path::PathBuf;

use crate::failure::Failure;

/// Settings and credentials.
pub fn config() -> Result<PathBuf, Failure> {
    folder("XDG_CONFIG_HOME", ".config")
}

/// What can be had again: access tokens.
pub fn cache() -> Result<PathBuf, Failure> {
    folder("XDG_CACHE_HOME", ".cache")
}

/// What is under way: orders, and where their files go.
pub fn state() -> Result<PathBuf, Failure> {
    folder("XDG_STATE_HOME", ".local/state")
}

fn folder(variable: &str, usual: &str) -> Result<PathBuf, Failure> {
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = named(variable).or_else(|| named("HOME").map(|home| home.join(usual)));
    let base = base.ok_or_else(|| {
        Failure::usage("there is no home folder to keep anything in").advise(format!("set HOME, or {variable}"))
    })?;
    Ok(base.join("chancery"))
}
