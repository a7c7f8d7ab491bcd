//! Which build this is, in one string for all who ask: `--version`, `/v1/version`, metrics, traces, the list of nodes, the log.

/// The version, and the commit where the builder named it: `0.1.0 (1a2b3c4d5e6f)`.
pub const VERSION: &str = env!("CHANCERY_VERSION");

/// As the build script writes it.
#[cfg(test)]
#[path = "../build_version.rs"]
mod build_version;
